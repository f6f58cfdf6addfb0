/**
 * Forms of instances and series buffers, apart from their rows (`row-form.ts`) and their places in
 * the state (`vm-form.ts`).
 */
import { malformed } from '../../../telemetry/samples/byte-reader.ts';
import type {
  DecidedIncident,
  Instance,
  Reported,
  ReportedIncident,
  SeriesBuffer,
  Stretch,
  TimelineEvent,
} from '../instance.ts';
import { PastRuns, type PastStretch } from '../past-runs.ts';
import {
  BREACH,
  emptyTimeline,
  GOOD,
  NONE,
  RunWindow,
  STOPPED,
  type Timeline,
  WINDOW_VALUES_MAX,
} from '../timeline.ts';
import { missingReason, observedValue } from './edge-form.ts';
import {
  type Fields,
  type Form,
  flag,
  list,
  maybe,
  number,
  oneOf,
  optional,
  record,
  text,
  time,
  word,
} from './forms.ts';

const timelineFields = record<Timeline>({
  phase: oneOf([NONE, BREACH, GOOD, STOPPED]),
  startMs: time,
  lastMs: time,
  firing: flag,
  firedMs: time,
  startedMs: time,
  graceMs: time,
  isDown: flag,
});

const timeline: Form<Timeline> = {
  write: timelineFields.write,
  read: (from) => timelineFields.readInto(from, emptyTimeline()),
};

const everything = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
const observedValues = list(observedValue, 2);

const runWindow: Form<RunWindow> = {
  write(to, window) {
    const values: { observedMs: number; value: number }[] = [];
    window.copy(everything, values);
    observedValues.write(to, values);
  },
  read(from) {
    const values = observedValues.read(from);
    if (values.length > WINDOW_VALUES_MAX) throw malformed('a window is too long');
    const window = new RunWindow();
    for (const { observedMs, value } of values) window.add(observedMs, value);
    return window;
  },
};

const pastStretches = list(
  record<PastStretch>({ startMs: time, gapSinceMs: time, overMs: time, isEnd: flag }),
  4,
);

const pastRuns: Form<PastRuns> = {
  write: (to, runs) => pastStretches.write(to, runs.stretches()),
  read(from) {
    const runs = new PastRuns();
    for (const stretch of pastStretches.read(from)) runs.add(stretch);
    return runs;
  },
};

const event = record<TimelineEvent>({
  kind: word<TimelineEvent['kind']>(['fired', 'recoverable']),
  observedMs: time,
  startedMs: time,
  value: number,
  window: list(observedValue, 2),
});

const reported = record<Reported>({
  incidents: list(
    record<ReportedIncident>({
      firedMs: time,
      startedMs: time,
      recoveredMs: time,
      corrected: flag,
    }),
    4,
  ),
  lastAtMs: time,
  missing: maybe(record({ reason: missingReason, sinceMs: time })),
  failed: flag,
});

/** Fields of an incident from its row. */
export const decidedFields = {
  startedMs: time,
  firedMs: optional(time),
  recoveredMs: optional(time),
  dataMissing: flag,
  missingReason: optional(missingReason),
  missingSinceMs: optional(time),
  // Readers take an absent flag for false, but a stored false stays a stored false.
  evaluatorFailed: optional(yesOrNo()),
  corrected: optional(yesOrNo()),
  heldVms: optional(list(text)),
  decidedThrough: optional(time),
} as const;

function yesOrNo(): Form<boolean> {
  const { write, read } = flag;
  return { write, read };
}

/** The VMs that it holds follow in pieces of their own; see `heldPieces`. */
const heldElsewhere: Form<Map<string, number>> = { write: () => {}, read: () => new Map() };

/** Fields of an instance that belong to its place, or are not set between two entries. */
type InstanceElsewhere = 'rule' | 'buffer' | 'touched';

/** An instance without its rule and buffer. */
export const instanceFields = record<Omit<Instance, InstanceElsewhere>>({
  sinceMs: time,
  settled: timeline,
  current: timeline,
  window: maybe(runWindow),
  reported: maybe(reported),
  decided: maybe(record<DecidedIncident>(decidedFields)),
  held: maybe(heldElsewhere),
  unreported: maybe(event),
  pastRuns: maybe(pastRuns),
  // The last observation added for a silent VM leaves events here until the next change.
  events: list(event, 5),
  before: maybe(record({ firedMs: time, startedMs: time })),
  failure: maybe(text),
  recomputedFromMs: maybe(time),
});

/** Fields of a span of time. */
export const stretchFields: Fields<Stretch> = { fromMs: time, untilMs: time };

/** Fields of a buffer that belong to its place or its rows, or are not set between two entries. */
type BufferElsewhere =
  | 'vm'
  | 'metricId'
  | 'labels'
  | 'generation'
  | 'derivation'
  | 'rows'
  | 'values'
  | 'instances'
  | 'stale'
  | 'suppressed';

/** A buffer without its rows and instances. */
export const bufferFields = record<Omit<SeriesBuffer, BufferElsewhere>>({
  settledRows: oneOf([0, 1]),
  newestMs: time,
  newestValueMs: time,
  receivedMs: time,
});
