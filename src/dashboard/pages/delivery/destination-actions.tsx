/**
 * Actions on a destination: send a test, edit, pause and resume, rotate the secret, delete. Each
 * describes its effect.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { toast } from '../../components/toasts.tsx';
import type { Destination, Rule } from '../../data/catalogue.ts';
import { useDraft } from '../../data/draft.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import { idOf } from '../../data/names.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { texts as all } from './destination-texts.ts';
import { isReached, kindOf, titleOf } from './destination-words.ts';
import { EditDestination } from './edit-destination.tsx';
import { RotateDialog, type Rotated } from './webhook-secret.tsx';

const texts = all.one;
const REASON_CHARS_MAX = 200;

type Action = 'edit' | 'pause' | 'rotate' | 'delete';

export interface DestinationActionsProps {
  readonly project: string;
  readonly destination: Destination;
  /** Rules that name it; undefined until they are loaded. */
  readonly rules: readonly Rule[] | undefined;
  /** Called with the updated destination from the service's response. */
  readonly onChanged: (destination: Destination) => void;
  readonly onRotated: (rotated: Rotated) => void;
}

export function DestinationActions(props: DestinationActionsProps): VNode {
  const { project, destination, rules, onChanged, onRotated } = props;
  const open = useSignal<Action | undefined>(undefined);
  const close = (): void => {
    open.value = undefined;
  };
  const dialog = (act: Action) => ({ destination, isOpen: open.value === act, onClose: close });
  const openAction = (act: Action) => () => {
    open.value = act;
  };
  return (
    <section aria-label={texts.actions}>
      <div class="buttons acts">
        <SendTest project={project} destination={destination} />
        <ActionButton needs="EDITOR" look="quiet" onPress={openAction('edit')}>
          {texts.edit}
        </ActionButton>
        {destination.state === 'PAUSED' ? (
          <Resume destination={destination} onChanged={onChanged} />
        ) : (
          <ActionButton needs="EDITOR" look="quiet" onPress={openAction('pause')}>
            {texts.pause}
          </ActionButton>
        )}
        {kindOf(destination) === 'webhook' && (
          <ActionButton needs="EDITOR" look="quiet" onPress={openAction('rotate')}>
            {texts.rotate}
          </ActionButton>
        )}
        <ActionButton needs="EDITOR" look="danger" onPress={openAction('delete')}>
          {texts.delete}
        </ActionButton>
      </div>
      <EditDestination {...dialog('edit')} onRestored={openAction('edit')} onSaved={onChanged} />
      <PauseDialog {...dialog('pause')} onChanged={onChanged} />
      <RotateDialog {...dialog('rotate')} onRotated={onRotated} />
      <DeleteDialog {...dialog('delete')} project={project} rules={rules} />
    </section>
  );
}

/**
 * Sends a test and opens the delivery that it created, or the list of deliveries if there are
 * several recipients.
 */
function SendTest(props: { readonly project: string; readonly destination: Destination }): VNode {
  const { project, destination } = props;
  const { name, state, email } = destination;
  const test = useMutation('AlertService', 'sendTestNotification');
  useSaved(test, ({ deliveryNames: [first, ...others] }) => {
    if (first !== undefined && others.length === 0) navigate(`/${first}`);
    else navigate(`${pathOf('deliveries', { project })}?destination=${idOf(name)}&event=TEST`);
  });
  const nobody = email && !email.recipients.some(isReached) ? texts.testNobody : undefined;
  return (
    <>
      <ActionButton
        needs="EDITOR"
        blocked={state === 'PAUSED' ? texts.testPaused : nobody}
        effect={texts.testEffect}
        isBusy={isUnsettled(test.state.value)}
        onPress={() => void test.send({ name })}
      >
        {texts.test}
      </ActionButton>
      <MutationStatus of={test} refusedTitle={texts.refused} />
    </>
  );
}

interface ChangeProps {
  readonly destination: Destination;
  readonly onChanged: (destination: Destination) => void;
}

function Resume({ destination, onChanged }: ChangeProps): VNode {
  const resume = useMutation('AlertService', 'resumeDestination');
  useSaved(resume, (saved) => {
    toast(texts.resumed);
    onChanged(saved);
  });
  return (
    <>
      <ActionButton
        needs="EDITOR"
        look="quiet"
        effect={texts.resumeEffect}
        isBusy={isUnsettled(resume.state.value)}
        onPress={() => void resume.send({ name: destination.name })}
      >
        {texts.resume}
      </ActionButton>
      <MutationStatus of={resume} refusedTitle={texts.refused} />
    </>
  );
}

interface DialogProps {
  readonly destination: Destination;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function PauseDialog({
  destination,
  isOpen,
  onClose,
  onChanged,
}: DialogProps & ChangeProps): VNode {
  const { name } = destination;
  const draft = useDraft(`pauseDestination ${name}`, { reason: '' });
  const pause = useMutation('AlertService', 'pauseDestination');
  return (
    <ConfirmDialog
      title={all.pause.title(titleOf(destination))}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.pause}
      needs="EDITOR"
      look="main"
      mutation={pause}
      request={() => ({ name, reason: draft.value.peek().reason })}
      onSaved={(saved) => {
        draft.discard();
        toast(texts.paused);
        onChanged(saved);
      }}
    >
      <p>{all.pause.effect}</p>
      <TextField
        label={all.pause.reason}
        help={all.pause.reasonHelp}
        value={draft.value.value.reason}
        maxLength={REASON_CHARS_MAX}
        onInput={(reason) => {
          draft.value.value = { reason };
          pause.reset();
        }}
      />
    </ConfirmDialog>
  );
}

interface DeleteProps extends DialogProps {
  readonly project: string;
  readonly rules: readonly Rule[] | undefined;
}

function DeleteDialog({ destination, isOpen, onClose, project, rules }: DeleteProps): VNode {
  const remove = useMutation('AlertService', 'deleteDestination');
  return (
    <ConfirmDialog
      title={all.delete.title(titleOf(destination))}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.delete}
      needs="EDITOR"
      mutation={remove}
      request={() => ({ name: destination.name })}
      onSaved={() => {
        toast(texts.deleted(titleOf(destination)));
        navigate(pathOf('destinations', { project }), { replace: true });
      }}
    >
      <p>{all.delete.effect}</p>
      {rules?.length === 0 && <p>{all.delete.noRules}</p>}
      {rules !== undefined && rules.length > 0 && (
        <>
          <p>{all.delete.rules}</p>
          <RuleNames rules={rules} />
          <p>{all.delete.rulesLater}</p>
        </>
      )}
    </ConfirmDialog>
  );
}

/** Rules by name, as links if this version has their page. */
export function RuleNames({ rules }: { readonly rules: readonly Rule[] }): VNode {
  return (
    <ul class="plain-list">
      {rules.map(({ name, spec }) => (
        <li key={name}>
          <ResourceLink name={name}>{spec?.displayName || idOf(name)}</ResourceLink>
        </li>
      ))}
    </ul>
  );
}
