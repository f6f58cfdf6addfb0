/**
 * Source of one VM: which of several collectors reports it. Two that know one UUID (a failover, a live
 * migration, a clone, a collector that was replaced) would overwrite each other's rows, so one speaks at a
 * time and the rows of the others are refused. A take-over follows from what both say of the VM; `takeOver`
 * is the whole rule. One instance for each VM.
 */
import { assertEvent, assign, setup } from 'xstate';

/**
 * Copy of the VM that a source sees, by its worth. RUNNING: it runs, or its state is not reported and there
 * are readings. PAUSED: its process is there. DOWN: it is off or has crashed, or it is paused as a migration
 * needs it, which may come to nothing.
 */
export type Copy = 'RUNNING' | 'PAUSED' | 'DOWN';

const WORTH: Readonly<Record<Copy, number>> = { RUNNING: 2, PAUSED: 1, DOWN: 0 };

/** Silence of three sampling intervals, by which a source is gone, ms. */
export const SOURCE_SILENT_MS = 90_000;
/** The same where the VM has meanwhile been started elsewhere: one interval and what a row is late, ms. */
const SOURCE_MISSED_MS = 45_000;
/** A source that was replaced for its copy comes back by its copy no sooner than this, ms. */
const SOURCE_SETTLED_MS = 90_000;

/** What is known of both sides when another source reports the VM. */
export interface SourceClaim {
  /** The other source. */
  readonly source: string;
  /** Its copy of the VM. */
  readonly copy: Copy;
  /** Observation of this row, Unix ms. */
  readonly observedMs: number;
  /** Its copy was first seen to run after the last row of the present source. */
  readonly isFresh: boolean;
  /** Copy in the newest row of the present source. */
  readonly presentCopy: Copy;
  /** Time for which the present source was not heard, while others were, ms. */
  readonly presentSilentMs: number;
  /** The key of the present source has ended: it can send nothing. */
  readonly isPresentEnded: boolean;
}

/**
 * Why a source took a VM over. RUNS_ELSEWHERE: its copy is worth more. STARTED_ELSEWHERE: it was started
 * there, and the source before has missed a round since. SILENT: the source before has been silent for three
 * intervals. KEY_ENDED: its key has ended. LEFT: it said that the VM has left it.
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
  /** Resource name of a collector's key, or name of a source of this service; the last one while none speaks. */
  readonly source: string;
  /** The one before; '' = none. */
  readonly sourceBefore: string;
  /** Why it took over; null: it was the first, or the VM had been retired. */
  readonly reason: TakeOver | null;
  /** How many sources have reported the VM in turn, from 1: counters of each begin anew. */
  readonly turn: number;
  /** Observation of the first row of this turn, or of the last word of a source that the VM has left, Unix ms. */
  readonly sinceMs: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type VmSourceEvent =
  | ({ readonly type: 'claimed'; readonly at: number } & SourceClaim)
  | { readonly type: 'departed'; readonly at: number; readonly sinceMs: number }
  | { readonly type: 'vmRetired'; readonly at: number };

/** The present source, as far as a take-over depends on it. */
type Present = Pick<VmSourceContext, 'sourceBefore' | 'sinceMs' | 'reason'> & {
  readonly hasLeft: boolean;
};

/** Why the claim is granted; undefined: the present source goes on, and the row is refused. */
export function takeOver(present: Present, claim: SourceClaim): TakeOver | undefined {
  const { copy, presentCopy, presentSilentMs } = claim;
  if (present.hasLeft) {
    // A definition that stayed behind says nothing, unless nobody else does.
    const isAlone = claim.observedMs - present.sinceMs > SOURCE_SILENT_MS;
    return copy !== 'DOWN' || isAlone ? 'LEFT' : undefined;
  }
  if (claim.isPresentEnded) return 'KEY_ENDED';
  if (WORTH[copy] > WORTH[presentCopy] && !isTooSoon(present, claim)) return 'RUNS_ELSEWHERE';
  if (presentSilentMs > SOURCE_SILENT_MS) return 'SILENT';
  const isStarted = claim.isFresh && copy === 'RUNNING';
  return isStarted && presentSilentMs > SOURCE_MISSED_MS ? 'STARTED_ELSEWHERE' : undefined;
}

/** Two sources whose copies run in turn do not take the VM from each other in every round. */
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
    noteTime: assign(({ event }) => ({ updatedMs: event.at })),
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
  actions: 'noteTime',
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
          description: 'The source said that the VM has left it.',
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
      description: 'The VM is gone; whoever reports it next makes it a new one.',
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
