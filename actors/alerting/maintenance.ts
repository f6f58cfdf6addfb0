/**
 * Maintenance windows: users create and end them, each recheck reads them, and their end is
 * announced. The alert instances decide who is notified of incidents that still fire then, like at
 * the end of a snooze.
 */
import type { MaintenanceScope } from '../../machines/alerting/maintenance-window.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { pageToken } from '../../streams/platform/commit/page.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause, Sleep } from '../../streams/platform/pause.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type {
  Committed,
  Draft,
  Host,
  Instance,
  ProjectView,
  RequestKey,
} from '../platform/host/host-port.ts';
import { isPlainText } from '../platform/plain-text.ts';
import { isRetryable } from '../platform/retryable.ts';

/** Maximum windows of a project that have not ended, because each recheck reads all of them. */
export const WINDOWS_MAX = 50;
/** Longest window, and longest time until its start, ms. */
const LENGTH_MS_MAX = 30 * 86_400_000;
const AHEAD_MS_MAX = 365 * 86_400_000;
const NOTE_CHARACTERS_MAX = 1_000;

/** True while a window covers the rule and the VM; '' = a condition of a data center. */
export function isInMaintenance(view: ProjectView, rule: string, vm: string): boolean {
  return activeWindows(view).some(({ context }) => covers(context, rule, vm));
}

function activeWindows(view: ProjectView): readonly Instance<'maintenanceWindow'>[] {
  const options = { limit: WINDOWS_MAX, final: false };
  return view
    .instances('maintenanceWindow', options)
    .items.filter(({ value }) => value === 'active');
}

function covers(scope: MaintenanceScope, rule: string, vm: string): boolean {
  return (scope.rule ?? rule) === rule && (scope.vm ?? vm) === vm;
}

interface Caller {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

/** A new window. A start in the past means now. Times are Unix ms. */
export interface CreateWindow extends Caller, MaintenanceScope {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly note: string;
}

/** Ends the window now, or cancels it before its start. */
export interface EndWindow extends Caller {
  readonly id: string;
}

/** Acts of users. Each returns the window's id. */
export interface MaintenanceWindows {
  /**
   * Throws a `Refusal`: INVALID_FIELD (times, note, a rule or VM that does not exist),
   * LIMIT_EXCEEDED.
   */
  create(creation: CreateWindow): Promise<Committed<{ readonly id: string }>>;
  /** Throws a `Refusal`: NOT_FOUND, INVALID_STATE (it has ended). */
  end(act: EndWindow): Promise<Committed<{ readonly id: string }>>;
}

/** Wraps the host. It has no state. */
export function createMaintenanceWindows(deps: {
  readonly host: Pick<Host, 'submit'>;
  readonly clock: Clock;
  readonly random: Random;
}): MaintenanceWindows {
  const { host, clock, random } = deps;
  return {
    create({ project, by, request, ...window }) {
      const id = `mnt_${ulid(clock.now(), random)}`;
      const decide = (draft: Draft) => createInDraft(draft, id, { ...window, by: by.name });
      return host.submit({ project, by, request, decide });
    },
    end: ({ project, by, request, id }) =>
      host.submit({
        project,
        by,
        request,
        decide(draft) {
          const row = draft.instance('maintenanceWindow', id);
          if (!row) throw new Refusal('NOT_FOUND', `There is no maintenance window ${id}`);
          const event = { type: 'ended', at: draft.at, by: by.name } as const;
          const { changed } = draft.send('maintenanceWindow', id, event);
          if (!changed)
            throw new Refusal('INVALID_STATE', 'The maintenance window has already ended');
          return { id };
        },
      }),
  };
}

type NewWindow = MaintenanceScope &
  Pick<CreateWindow, 'fromMs' | 'untilMs' | 'note'> & { readonly by: string };

function createInDraft(draft: Draft, id: string, window: NewWindow) {
  checkTimes(window, draft.at);
  checkNote(window.note);
  checkScope(draft, window);
  const current = draft.countInstances('maintenanceWindow', { final: false });
  if (current >= WINDOWS_MAX) {
    const message = `The project has ${WINDOWS_MAX} maintenance windows that have not ended. End one first`;
    const facts = { of: 'maintenanceWindows', limit: WINDOWS_MAX, current };
    const metadata = Object.entries(facts).map(([name, value]) => [name, String(value)]);
    throw new Refusal('LIMIT_EXCEEDED', message, Object.fromEntries(metadata));
  }
  const { at, project } = draft;
  const fromMs = Math.max(at, window.fromMs);
  draft.start('maintenanceWindow', id, { ...window, at, project, fromMs });
  draft.send('maintenanceWindow', id, { type: 'begun', at });
  return { id };
}

function checkTimes({ fromMs, untilMs }: NewWindow, at: number): void {
  if (untilMs <= Math.max(at, fromMs)) {
    throw invalidField('untilUnix', 'untilUnix is not after the start, or is in the past');
  }
  if (untilMs - Math.max(at, fromMs) > LENGTH_MS_MAX) {
    throw invalidField('untilUnix', 'untilUnix is more than 30 days after the start');
  }
  if (fromMs > at + AHEAD_MS_MAX) {
    throw invalidField('fromUnix', 'fromUnix is more than a year in the future');
  }
}

function checkNote(note: string): void {
  const isFitting = isPlainText(note) && [...note].length <= NOTE_CHARACTERS_MAX;
  if (isFitting) return;
  throw invalidField(
    'note',
    `note must be plain text of at most ${NOTE_CHARACTERS_MAX} characters`,
  );
}

function checkScope(draft: Draft, { rule, vm }: MaintenanceScope): void {
  const row = rule === null ? undefined : draft.instance('alertRule', rule);
  if (rule !== null && (!row || row.final)) {
    throw invalidField('ruleName', `There is no alert rule ${rule} in the project`);
  }
  const record = vm === null ? undefined : draft.record('vm', vm);
  if (vm !== null && (!record || record.body.retiredMs !== undefined)) {
    throw invalidField('vmName', `There is no VM ${vm} in the project`);
  }
}

/** The source of rows, and the projects that this member acts for. */
export interface AnnouncerDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Ownership;
}

/** Maximum instances announced by one commit. A rule with many recipients takes one at a time. */
const BATCH = 20;
/** Maximum instances read before a commit records the progress. */
const PAGE = 500;
/** Wait after the stream has not answered, ms. */
const RETRY_MS = 500;

const announcer: Actor = { kind: 'service', name: 'maintenance' };

/**
 * Announces instances that still fire when a window has ended, until `signal`. Everything is
 * derived from rows: at the start, when this member starts to act for more projects, and after a
 * commit that ends a window.
 */
export async function announceMaintenance(deps: AnnouncerDeps, signal: AbortSignal): Promise<void> {
  const { host, ownership, clock } = deps;
  const idle = new Sleep(clock);
  let isWaiting = true;
  const wake = (): void => {
    isWaiting = true;
    idle.wake();
  };
  const undo = [
    host.onApplied(({ commit: { decisions } }) => {
      const isOver = decisions.some(({ steps }) =>
        steps.some(({ machine, to }) => machine === 'maintenanceWindow' && to === 'announcing'),
      );
      if (isOver) wake();
    }),
    ownership.onChange(wake),
  ];
  try {
    while (!signal.aborted) {
      if (!isWaiting) await idle.pause(Number.POSITIVE_INFINITY, signal);
      isWaiting = false;
      try {
        for (const project of host.projects().filter(ownership.owns)) {
          await announceProject(deps, project, signal);
        }
      } catch (error) {
        if (!isRetryable(error)) throw error;
        isWaiting = true;
        await pause(clock, RETRY_MS, signal);
      }
    }
  } finally {
    for (const end of undo) end();
  }
}

async function announceProject(
  { host, ownership }: AnnouncerDeps,
  project: string,
  signal: AbortSignal,
): Promise<void> {
  const view = host.view(project);
  const windows = view.instances('maintenanceWindow', { limit: WINDOWS_MAX, final: false }).items;
  for (const { instance: id } of windows.filter(({ value }) => value === 'announcing')) {
    let isDone = false;
    while (!isDone && !signal.aborted && ownership.owns(project)) {
      isDone = await announceSome(host, project, id);
    }
  }
}

/** Announces as many as fit into one commit. True when no part of the window is left. */
async function announceSome(host: Host, project: string, id: string): Promise<boolean> {
  const submit = async (count: number) => {
    const decide = (draft: Draft) => announceInDraft(draft, id, count);
    return (await host.submit({ project, by: announcer, decide })).answer;
  };
  try {
    return await submit(BATCH);
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== 'REQUEST_TOO_LARGE') throw error;
    return await submit(1);
  }
}

/** Announces the next few instances. True when no part of the window is left. */
function announceInDraft(draft: Draft, id: string, count: number): boolean {
  const row = draft.instance('maintenanceWindow', id);
  if (row?.value !== 'announcing') return true;
  const { context } = row;
  const after = context.announcedThrough ?? undefined;
  const { at } = draft;
  const page = draft.instances('alertInstance', {
    limit: PAGE,
    final: false,
    ...(after !== undefined && { after }),
  });
  const firing = page.items.filter(
    ({ context: { rule, vm, incident } }) =>
      incident !== null &&
      incident.recoveredMs === null &&
      incident.retiredMs === null &&
      covers(context, rule, vm) &&
      // Another window continues; its end announces the instance.
      !isInMaintenance(draft, rule, vm),
  );
  const few = firing.slice(0, count);
  const isAll = few.length === firing.length;
  for (const { instance } of few) {
    draft.send('alertInstance', instance, { type: 'maintenanceEnded', at });
  }
  const last = few.at(-1);
  const through = isAll ? page.next : last && pageToken([last.createdMs, last.instance]);
  if (through === undefined) {
    draft.send('maintenanceWindow', id, { type: 'completed', at });
    return true;
  }
  draft.send('maintenanceWindow', id, { type: 'announced', at, through });
  return false;
}
