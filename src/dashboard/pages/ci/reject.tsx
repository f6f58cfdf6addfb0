/** Rejects a verification; with `again`, to observe another run in a new one. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { toast } from '../../components/toasts.tsx';
import { useMutation } from '../../data/mutation.ts';
import { navigate } from '../../router/location.ts';
import { startPath } from './queries.ts';
import { texts as all } from './texts.ts';

const texts = all.reject;

interface RejectProps {
  readonly projectName: string;
  /** Name of the verification. */
  readonly name: string;
  readonly onRejected: () => void;
  /** If true, leads to the first step, prefilled from this verification. */
  readonly isAgain?: boolean;
}

export function Reject({ projectName, name, onRejected, isAgain = false }: RejectProps): VNode {
  const isAsking = useSignal(false);
  const reason = useSignal('');
  const reject = useMutation('AutomationService', 'rejectCiVerification');
  return (
    <>
      <ActionButton
        needs="OWNER"
        look="quiet"
        onPress={() => {
          isAsking.value = true;
        }}
      >
        {isAgain ? texts.again : texts.action}
      </ActionButton>
      <ConfirmDialog
        title={texts.ask}
        isOpen={isAsking.value}
        onClose={() => {
          isAsking.value = false;
        }}
        action={texts.action}
        needs="OWNER"
        mutation={reject}
        request={() => ({ name, reason: reason.value.trim() })}
        onSaved={() => {
          toast(texts.done);
          if (isAgain) navigate(startPath(projectName, name));
          else onRejected();
        }}
      >
        <p>{isAgain ? texts.againHelp : texts.help}</p>
        <TextField
          label={texts.reason}
          help={texts.reasonHelp}
          value={reason.value}
          maxLength={200}
          onInput={(value) => {
            reason.value = value;
          }}
        />
      </ConfirmDialog>
    </>
  );
}
