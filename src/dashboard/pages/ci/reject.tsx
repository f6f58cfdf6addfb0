/** Rejects a verification; with `again`, to observe another run in a new one. */
import type { VNode } from 'preact';
import { ActDialog, useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
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
  const { open, frame } = useDialogs<'reject'>();
  const reason = { of: name, label: texts.reason, help: texts.reasonHelp, maxLength: 200 };
  return (
    <>
      <ActionButton needs="OWNER" look="quiet" onPress={open('reject')}>
        {isAgain ? texts.again : texts.action}
      </ActionButton>
      <ActDialog
        {...frame('reject')}
        method={['AutomationService', 'rejectCiVerification']}
        title={texts.ask}
        action={texts.action}
        needs="OWNER"
        reason={reason}
        request={(reason) => ({ name, reason })}
        done={texts.done}
        onSaved={() => {
          if (isAgain) navigate(startPath(projectName, name));
          else onRejected();
        }}
      >
        <p>{isAgain ? texts.againHelp : texts.help}</p>
      </ActDialog>
    </>
  );
}
