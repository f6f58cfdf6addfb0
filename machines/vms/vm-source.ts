/**
 * Source of one VM: which of several collectors reports it. Two that know one UUID (a failover, a
 * live migration, a clone, a replaced collector) would overwrite each other's rows, so one reports
 * at a time and the rows of the others are refused. A take-over follows from the reports of both;
 * `takeOver` is the whole rule. One instance per VM.
 */
import { assertEvent, assign, setup } from 'xstate';

/**
 * Copy of the VM that a source sees, by its rank. RUNNING: it runs, or its state is not reported
 * but there are readings. PAUSED: its process exists. DOWN: it is off or has crashed, or it is
 * paused for a migration, which may fail.
 */
export type Copy = 'RUNNING' | 'PAUSED' | 'DOWN';

const WORTH: Readonly<Record<Copy, number>> = { RUNNING: 2, PAUSED: 1, DOWN: 0 };

/** Silence of three sampling intervals, after which a source counts as gone, ms. */
export const SOURCE_SILENT_MS = 90_000;
/** The same if the VM was started elsewhere: one interval and the delay of a row, ms. */
const SOURCE_MISSED_MS = 45_000;
/**
 * Minimum time before a source that was replaced because of its copy can return because of its
 * copy, ms.
 */
const SOURCE_SETTLED_MS = 90_000;

/** Facts about both sides when another source reports the VM. */
export interface SourceClaim {
  /** The other source. */
  readonly source: string;
  /** Its copy of the VM. */
  readonly copy: Copy;
  /** Observation time of this row, Unix ms. */
  readonly observedMs: number;
  /** true: its copy was first seen running after the last row of the current source. */
  readonly isFresh: boolean;
  /** Copy in the newest row of the current source. */
  readonly presentCopy: Copy;
  /** Time for which the current source was silent while others were heard, ms. */
  readonly presentSilentMs: number;
  /** true: the key of the current source has ended, so it can send nothing. */
  readonly isPresentEnded: boolean;
}

/**
 * Why a source took a VM over. RUNS_ELSEWHERE: its copy ranks higher. STARTED_ELSEWHERE: the VM was
 * started there, and the previous source has missed a round since. SILENT: the previous source has
 * been silent for three intervals. KEY_ENDED: its key has ended. LEFT: it reported that the VM has
 * left it.
 */
export type TakeOver = 'RUNS_ELSEWHERE' | 'STARTED_ELSEWHERE' | 'SILENT' | 'KEY_ENDED' | 'LEFT';

export interface VmSourceInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the VM. */
  readonly vm: string;
  /** Resource name of a collector's key, or name of a source of this service. */
  readonly source: string;
}

export interface VmSourceContext {
  readonly project: string;
  readonly vm: string;
  /**
   * Resource name of a collector's key, or name of a source of this service; the last one if none
   * reports.
   */
  readonly source: string;
  /** The previous one; '' = none. */
  readonly sourceBefore: string;
  /** Why it took over; null: it was the first, or the VM had been retired. */
  readonly reason: TakeOver | null;
  /** Number of sources that have reported the VM in turn, from 1: counters restart with each. */
  readonly turn: number;
  /**
   * Observation time of the first row of this turn, or of the last report of a source that the VM
   * has left, Unix ms.
   */
  readonly sinceMs: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type VmSourceEvent =
  | ({ readonly type: 'claimed'; readonly at: number } & SourceClaim)
  | { readonly type: 'departed'; readonly at: number; readonly sinceMs: number }
  | { readonly type: 'vmRetired'; readonly at: number };

/** Facts about the current source that a take-over depends on. */
type Present = Pick<VmSourceContext, 'sourceBefore' | 'sinceMs' | 'reason'> & {
  readonly hasLeft: boolean;
};

/** Why the claim is granted; undefined: the current source stays, and the row is refused. */
export function takeOver(present: Present, claim: SourceClaim): TakeOver | undefined {
  const { copy, presentCopy, presentSilentMs } = claim;
  if (present.hasLeft) {
    // A definition left behind does not count, unless no other source reports the VM.
    const isAlone = claim.observedMs - present.sinceMs > SOURCE_SILENT_MS;
    return copy !== 'DOWN' || isAlone ? 'LEFT' : undefined;
  }
  if (claim.isPresentEnded) return 'KEY_ENDED';
  if (WORTH[copy] > WORTH[presentCopy] && !isTooSoon(present, claim)) return 'RUNS_ELSEWHERE';
  if (presentSilentMs > SOURCE_SILENT_MS) return 'SILENT';
  const isStarted = claim.isFresh && copy === 'RUNNING';
  return isStarted && presentSilentMs > SOURCE_MISSED_MS ? 'STARTED_ELSEWHERE' : undefined;
}

/**
 * Two sources whose copies run in turn must not take the VM from each other in every sampling
 * interval.
 */
function isTooSoon({ sourceBefore, sinceMs, reason }: Present, claim: SourceClaim): boolean {
  const isBack = claim.source === sourceBefore && reason === 'RUNS_ELSEWHERE';
  return isBack && claim.observedMs - sinceMs < SOURCE_SETTLED_MS;
}

const chart = setup({
  types: {
    context: {} as VmSourceContext,
    events: {} as VmSourceEvent,
    input: {} as VmSourceInput,
  },
  actions: {
    takeOver: assign(({ context, event }) => {
      assertEvent(event, 'claimed');
      const { source, observedMs, at } = event;
      const present = { ...context, hasLeft: false };
      return {
        ...turnOf(context, source, observedMs, at),
        reason: takeOver(present, event) ?? null,
      };
    }),
    takeLeft: assign(({ context, event }) => {
      assertEvent(event, 'claimed');
      const { source, observedMs, at } = event;
      return { ...turnOf(context, source, observedMs, at), reason: 'LEFT' as const };
    }),
    begin: assign(({ context, event }) => {
      assertEvent(event, 'claimed');
      const { source, observedMs, at } = event;
      return { ...turnOf(context, source, observedMs, at), sourceBefore: '', reason: null };
    }),
    depart: assign(({ event }) => {
      assertEvent(event, 'departed');
      return { sinceMs: event.sinceMs, updatedMs: event.at };
    }),
    recordTime: assign(({ event }) => ({ updatedMs: event.at })),
  },
  guards: {
    isGranted: ({ context, event }) => {
      assertEvent(event, 'claimed');
      return takeOver({ ...context, hasLeft: false }, event) !== undefined;
    },
    isGrantedOfLeft: ({ context, event }) => {
      assertEvent(event, 'claimed');
      return takeOver({ ...context, hasLeft: true }, event) !== undefined;
    },
  },
});

function turnOf(
  { source: sourceBefore, turn }: VmSourceContext,
  source: string,
  sinceMs: number,
  updatedMs: number,
) {
  return { source, sourceBefore, turn: turn + 1, sinceMs, updatedMs };
}

const vmRetired = {
  description: 'The VM was retired: a later row makes it a new one.',
  target: 'retired',
  actions: 'recordTime',
} as const;

export const vmSourceMachine = chart.createMachine({
  id: 'vmSource',
  description: 'Which of several collectors reports a VM.',
  context: ({ input }) => ({
    project: input?.project ?? '',
    vm: input?.vm ?? '',
    source: input?.source ?? '',
    sourceBefore: '',
    reason: null,
    turn: 1,
    sinceMs: input?.at ?? 0,
    createdMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
  }),
  initial: 'reported',
  states: {
    reported: {
      description: 'One source reports the VM; rows of every other one are refused.',
      on: {
        claimed: {
          description: 'Another source takes it over: the VM runs there, or this one is silent.',
          guard: 'isGranted',
          target: 'reported',
          actions: 'takeOver',
        },
        departed: {
          description: 'The source reported that the VM has left it.',
          target: 'left',
          actions: 'depart',
        },
        vmRetired,
      },
    },
    left: {
      description: 'The VM has left its source; the next one that has it reports it.',
      on: {
        claimed: {
          description: 'Another source has the VM, or none has had it for three intervals.',
          guard: 'isGrantedOfLeft',
          target: 'reported',
          actions: 'takeLeft',
        },
        vmRetired,
      },
    },
    retired: {
      description: 'The VM is gone; the next report makes it a new one.',
      on: {
        claimed: {
          description: 'The first source of the new VM.',
          target: 'reported',
          actions: 'begin',
        },
      },
    },
  },
});
