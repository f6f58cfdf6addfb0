/**
 * Actions on a destination: send a test, edit, pause and resume, rotate the secret, delete. Each
 * describes its effect.
 */
import type { VNode } from 'preact';
import { ActDialog, useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { toast } from '../../components/toasts.tsx';
import type { Destination, Rule } from '../../data/catalogue.ts';
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
  const { name } = destination;
  const { open, frame } = useDialogs<'edit' | 'pause' | 'rotate' | 'delete'>();
  const dialog = (which: 'edit' | 'rotate') => ({ destination, ...frame(which) });
  return (
    <section aria-label={texts.actions}>
      <div class="buttons acts">
        <SendTest project={project} destination={destination} />
        <ActionButton needs="EDITOR" look="quiet" onPress={open('edit')}>
          {texts.edit}
        </ActionButton>
        {destination.state === 'PAUSED' ? (
          <Resume destination={destination} onChanged={onChanged} />
        ) : (
          <ActionButton needs="EDITOR" look="quiet" onPress={open('pause')}>
            {texts.pause}
          </ActionButton>
        )}
        {kindOf(destination) === 'webhook' && (
          <ActionButton needs="EDITOR" look="quiet" onPress={open('rotate')}>
            {texts.rotate}
          </ActionButton>
        )}
        <ActionButton needs="EDITOR" look="danger" onPress={open('delete')}>
          {texts.delete}
        </ActionButton>
      </div>
      <EditDestination {...dialog('edit')} onRestored={open('edit')} onSaved={onChanged} />
      <ActDialog
        {...frame('pause')}
        method={['AlertService', 'pauseDestination']}
        title={all.pause.title(titleOf(destination))}
        action={texts.pause}
        needs="EDITOR"
        look="main"
        reason={{
          of: name,
          label: all.pause.reason,
          help: all.pause.reasonHelp,
          maxLength: REASON_CHARS_MAX,
        }}
        request={(reason) => ({ name, reason })}
        done={texts.paused}
        onSaved={onChanged}
      >
        <p>{all.pause.effect}</p>
      </ActDialog>
      <RotateDialog {...dialog('rotate')} onRotated={onRotated} />
      <ActDialog
        {...frame('delete')}
        method={['AlertService', 'deleteDestination']}
        title={all.delete.title(titleOf(destination))}
        action={texts.delete}
        needs="EDITOR"
        request={() => ({ name })}
        done={texts.deleted(titleOf(destination))}
        onSaved={() => navigate(pathOf('destinations', { project }), { replace: true })}
      >
        <DeleteEffect rules={rules} />
      </ActDialog>
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

function DeleteEffect({ rules }: Pick<DestinationActionsProps, 'rules'>): VNode {
  return (
    <>
      <p>{all.delete.effect}</p>
      {rules?.length === 0 && <p>{all.delete.noRules}</p>}
      {rules !== undefined && rules.length > 0 && (
        <>
          <p>{all.delete.rules}</p>
          <RuleNames rules={rules} />
          <p>{all.delete.rulesLater}</p>
        </>
      )}
    </>
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
