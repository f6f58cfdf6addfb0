/** Pausing, resuming and deleting a rule. Each dialog first says what it retires. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../../components/action-button.tsx';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { toast } from '../../../components/toasts.tsx';
import { read } from '../../../data/call.ts';
import type { Rule } from '../../../data/catalogue.ts';
import { type Listing, loadPages } from '../../../data/listing.ts';
import { type Load, useLoaded } from '../../../data/loaded.ts';
import { type Mutation, type MutationState, useMutation } from '../../../data/mutation.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { formatCount } from '../../../messages/format.ts';
import { navigate } from '../../../router/location.ts';
import { pathOf } from '../../../router/match.ts';
import type { RuleSpec } from './rule-fields.ts';
import { texts } from './rule-texts.ts';

export type SavedRule = ResponseOf<'AlertService', 'saveAlertRule'>;

export interface RuleActionsProps {
  readonly project: string;
  readonly rule: Rule;
  readonly spec: RuleSpec;
  readonly onSaved: (saved: SavedRule, spec: RuleSpec) => void;
  readonly onDeleted: () => void;
  /** Called if another member saved first: the rule must be reloaded. */
  readonly onStale: () => void;
}

export function RuleActions(props: RuleActionsProps): VNode {
  return (
    <div class="buttons acts">
      <PauseOrResume {...props} />
      <Delete {...props} />
    </div>
  );
}

function PauseOrResume({ project, rule, spec, onSaved, onStale }: RuleActionsProps): VNode {
  const isOpen = useSignal(false);
  const save = useMutation('AlertService', 'saveAlertRule');
  useStale(save, onStale);
  const isPaused = spec.enabled === false;
  const changed: RuleSpec = { ...spec, enabled: isPaused };
  const { actions } = texts;
  return (
    <>
      <ActionButton look="quiet" needs="EDITOR" onPress={() => (isOpen.value = true)}>
        {isPaused ? actions.resume : actions.pause}
      </ActionButton>
      <ConfirmDialog
        title={isPaused ? actions.resumeTitle : actions.pauseTitle}
        isOpen={isOpen.value}
        onClose={() => {
          isOpen.value = false;
        }}
        action={isPaused ? actions.resume : actions.pause}
        look="main"
        needs="EDITOR"
        mutation={save}
        request={() => ({
          projectName: `projects/${project}`,
          id: idOf(rule.name),
          expectedVersion: rule.version,
          spec: changed,
        })}
        onSaved={(saved) => {
          toast(isPaused ? actions.resumed : actions.paused);
          onSaved(saved, changed);
        }}
      >
        <p>{isPaused ? actions.resumeEffect : actions.pauseEffect}</p>
        {!isPaused && <Retired project={project} rule={rule} />}
        <p class="weak">{actions.unsavedStay}</p>
      </ConfirmDialog>
    </>
  );
}

function Delete({ project, rule, spec, onDeleted, onStale }: RuleActionsProps): VNode {
  const isOpen = useSignal(false);
  const remove = useMutation('AlertService', 'deleteAlertRule');
  useStale(remove, onStale);
  const { actions } = texts;
  return (
    <>
      <ActionButton look="quiet" needs="EDITOR" onPress={() => (isOpen.value = true)}>
        {actions.remove}
      </ActionButton>
      <ConfirmDialog
        title={actions.removeTitle}
        isOpen={isOpen.value}
        onClose={() => {
          isOpen.value = false;
        }}
        action={actions.remove}
        needs="EDITOR"
        mutation={remove}
        request={() => ({ name: rule.name, expectedVersion: rule.version })}
        onSaved={() => {
          onDeleted();
          toast(actions.removed(spec.displayName));
          navigate(pathOf('alertRules', { project }));
        }}
      >
        <p>
          <strong>{spec.displayName}</strong>
        </p>
        <Retired project={project} rule={rule} />
        <p>{actions.removeEffect}</p>
      </ConfirmDialog>
    </>
  );
}

/** True if a change was rejected because a newer version had been saved. */
export function isStale(state: MutationState<unknown>): boolean {
  return state.kind === 'refused' && state.error.reason === 'STALE_VERSION';
}

/** Calls `onStale` if the service rejected a change because a newer version had been saved. */
export function useStale(mutation: Mutation<never, unknown>, onStale: () => void): void {
  const state = mutation.state.value;
  useEffect(() => {
    if (isStale(state)) onStale();
    // Once per rejection.
  }, [state]);
}

/** At most ten pages are read; beyond that the count says `at least`. */
const ROWS = 10_000;
const PAGE_ROWS = 1_000;

/** Number of incidents and instances that end with the current rule. */
function Retired({ project, rule }: { readonly project: string; readonly rule: Rule }): VNode {
  const own = { projectName: `projects/${project}`, ruleName: rule.name, pageSize: PAGE_ROWS };
  const load: Load<readonly [Listing<unknown>, Listing<unknown>]> = (options) =>
    Promise.all([
      loadPages<unknown>(async (pageToken) => {
        const request = { ...own, pageToken, state: 'FIRING' as const };
        const answer = await read('AlertService', 'listIncidents', request, options);
        return { items: answer.incidents, nextPageToken: answer.nextPageToken };
      }, ROWS),
      loadPages<unknown>(async (pageToken) => {
        const answer = await read(
          'AlertService',
          'listAlertInstances',
          { ...own, pageToken },
          options,
        );
        return { items: answer.instances, nextPageToken: answer.nextPageToken };
      }, ROWS),
    ]);
  const { value, error } = useLoaded(`retired ${rule.name} ${rule.version}`, load).state.value;
  const { actions } = texts;
  if (value === undefined) {
    return <p class="weak">{error === undefined ? actions.counting : actions.notCounted}</p>;
  }
  const [incidents, instances] = value;
  return (
    <p>
      {actions.retires(
        countText(incidents, actions.firing),
        countText(instances, actions.instances),
      )}{' '}
      {actions.noRecovery}
    </p>
  );
}

function countText(
  { items, nextPageToken }: Listing<unknown>,
  words: (count: number, text: string) => string,
): string {
  const text = words(items.length, formatCount(items.length, format.value));
  return nextPageToken === '' ? text : texts.actions.atLeast(text);
}
