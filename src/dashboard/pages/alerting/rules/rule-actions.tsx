/** Pausing, resuming and deleting a rule. Each dialog first lists the incidents that it retires. */
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActDialog, useDialogs } from '../../../components/act-dialog.tsx';
import { ActionButton } from '../../../components/action-button.tsx';
import { read } from '../../../data/call.ts';
import type { Rule } from '../../../data/catalogue.ts';
import { type Listing, loadPages } from '../../../data/listing.ts';
import { type Load, useLoaded } from '../../../data/loaded.ts';
import type { Mutation, MutationState } from '../../../data/mutation.ts';
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
  const { open, frame } = useDialogs<'pause'>();
  const isPaused = spec.enabled === false;
  const changed: RuleSpec = { ...spec, enabled: isPaused };
  const { actions } = texts;
  return (
    <>
      <ActionButton look="quiet" needs="EDITOR" onPress={open('pause')}>
        {isPaused ? actions.resume : actions.pause}
      </ActionButton>
      <ActDialog
        {...frame('pause')}
        method={['AlertService', 'saveAlertRule']}
        title={isPaused ? actions.resumeTitle : actions.pauseTitle}
        action={isPaused ? actions.resume : actions.pause}
        look="main"
        needs="EDITOR"
        request={() => ({
          projectName: `projects/${project}`,
          id: idOf(rule.name),
          expectedVersion: rule.version,
          spec: changed,
        })}
        done={isPaused ? actions.resumed : actions.paused}
        onSaved={(saved) => onSaved(saved, changed)}
        onRefused={({ reason }) => reason === STALE && onStale()}
      >
        <p>{isPaused ? actions.resumeEffect : actions.pauseEffect}</p>
        {!isPaused && <Retired project={project} rule={rule} />}
        <p class="weak">{actions.unsavedStay}</p>
      </ActDialog>
    </>
  );
}

function Delete({ project, rule, spec, onDeleted, onStale }: RuleActionsProps): VNode {
  const { open, frame } = useDialogs<'delete'>();
  const { actions } = texts;
  return (
    <>
      <ActionButton look="quiet" needs="EDITOR" onPress={open('delete')}>
        {actions.remove}
      </ActionButton>
      <ActDialog
        {...frame('delete')}
        method={['AlertService', 'deleteAlertRule']}
        title={actions.removeTitle}
        action={actions.remove}
        needs="EDITOR"
        request={() => ({ name: rule.name, expectedVersion: rule.version })}
        done={actions.removed(spec.displayName)}
        onSaved={() => {
          onDeleted();
          navigate(pathOf('alertRules', { project }));
        }}
        onRefused={({ reason }) => reason === STALE && onStale()}
      >
        <p>
          <strong>{spec.displayName}</strong>
        </p>
        <Retired project={project} rule={rule} />
        <p>{actions.removeEffect}</p>
      </ActDialog>
    </>
  );
}

const STALE = 'STALE_VERSION';

/** True if a change was rejected because a newer version had been saved. */
export function isStale(state: MutationState<unknown>): boolean {
  return state.kind === 'refused' && state.error.reason === STALE;
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
