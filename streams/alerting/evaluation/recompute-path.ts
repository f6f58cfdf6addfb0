/**
 * The path of one instance over a period of stored samples, whether or not it fired. It uses the
 * same pipeline and the same machine as live evaluation. The rule counts as applied at the start of
 * the period, as in a preview (`preview.ts`).
 *
 *     rows -> pipeline -> edges, and edges below firing -> machine -> segments of one state
 *     gaps between values   -> data is missing, whatever the state; no recovery
 */
import { type Condition, conditionOf } from '../../../machines/alerting/alert-instance.ts';
import {
  type ObservedEvent,
  type PathStep,
  pathOf,
} from '../../../machines/alerting/alert-instance-path.ts';
import { type Edge, GAP_TOLERANCE_MS, type ObservedValue } from '../../telemetry/entry.ts';
import { type Instance, isAgeBuffer } from './instance.ts';
import { eventsOf, pastEvents } from './run-events.ts';
import type { EvaluationState } from './state.ts';
import { evaluateStored, type StoredSamples } from './stored-samples.ts';

/**
 * `columns` from `previewFromMs` on to the end of the stretch; for a rule on the age of telemetry,
 * from `telemetryFromMs`.
 */
export interface RecomputePathOptions extends StoredSamples {
  /** Canonical label part of the instance; '' for the VM itself. */
  readonly labels: string;
  /** The stretch (fromMs, toMs], Unix ms. Time passes until its end even without an observation. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** The path of an instance over a stretch of time, according to stored samples. */
export interface RecomputedPath {
  /** Within the stretch. None for a rule on telemetry, which concerns their absence. */
  readonly samples: readonly ObservedValue[];
  /**
   * Longer than the tolerance between two values, or from the last one to the end of the stretch.
   */
  readonly gaps: readonly RecomputedGap[];
  /** May begin before the stretch, because a rule saved at its start would have looked back. */
  readonly steps: readonly PathStep[];
  /** Cover the stretch without a break. */
  readonly segments: readonly PathSegment[];
}

/** Times are Unix ms. */
export interface RecomputedGap {
  /** The last value before it, or the start of the stretch if none is known. */
  readonly startMs: number;
  /** Time when the tolerance ends. */
  readonly missingMs: number;
  readonly endMs: number;
}

/** A span without a change of condition or data state. Times are Unix ms. */
export interface PathSegment {
  readonly condition: Condition;
  readonly isMissing: boolean;
  readonly startMs: number;
  readonly endMs: number;
  /** Event that started it; undefined if the stretch starts with it. */
  readonly cause: string | undefined;
}

/** Throws the errors of `checkpoint`. */
export function recomputePath(options: RecomputePathOptions): RecomputedPath {
  const { rule, vm, labels, columns, fromMs, toMs } = options;
  const recorder = new PathRecorder({ fromMs, toMs });
  const firstRow = columns.timesMs.findLastIndex((timeMs) => timeMs <= fromMs) + 1;
  const log = { markerMs: fromMs, firstRow, untilMs: toMs };
  // A rule on all VMs, or on others, is evaluated for this one.
  const stored = { ...options, rule: { ...rule, vms: [vm] } };
  let instance: Instance | undefined;
  evaluateStored(stored, log, ({ state, edges }) => {
    for (const edge of edges) if (edge.key.labels === labels) recorder.takeEdge(edge);
    instance = instanceIn(state, options);
    if (instance) recorder.observe(instance);
  });
  return recorder.end(instance);
}

/** Records events and values of one instance while the fold runs. */
export class PathRecorder {
  readonly #stretch: Stretch;
  readonly #events: ObservedEvent[] = [];
  readonly #samples: ObservedValue[] = [];
  /** Times of observed values, oldest first: the last one before the stretch, and those in it. */
  readonly #valueTimes: number[] = [];

  constructor(stretch: Stretch) {
    this.#stretch = stretch;
  }

  /** Takes an edge of the instance, before `observe` of the same entry. */
  takeEdge(edge: Edge): void {
    observedEvents(edge).forEach(this.#add);
  }

  /** Takes the instance as of an entry. */
  observe(instance: Instance): void {
    if (instance.pastRuns) pastEvents(instance, this.#lastMs).forEach(this.#add);
    this.#takeValue(instance);
  }

  /** @param instance as of the last entry; undefined if it is no longer evaluated, or never was */
  end(instance: Instance | undefined): RecomputedPath {
    const { fromMs, toMs } = this.#stretch;
    // Events that time has caused and no observation has ended.
    if (instance) eventsOf(instance, toMs).forEach(this.#add);
    const gaps = gapsOf(this.#valueTimes, { fromMs, toMs });
    // For telemetry, silence is the condition itself.
    const isSilence = instance !== undefined && isAgeBuffer(instance.buffer);
    const { steps } = pathOf(isSilence ? this.#events : withGaps(this.#events, gaps, toMs));
    const segments = segmentsOf(steps, gaps, { fromMs, toMs });
    return { samples: this.#samples, gaps, steps, segments };
  }

  /**
   * Times of events increase. An event that is not later was taken before, except for a run that
   * fires at once.
   */
  readonly #add = (event: ObservedEvent): void => {
    const lastMs = this.#lastMs;
    const firesAtOnce = event.type === 'sustained' && event.eventMs === lastMs;
    if (event.eventMs > lastMs || firesAtOnce) this.#events.push(event);
  };

  /** Time of the newest event taken, Unix ms. */
  get #lastMs(): number {
    return this.#events.at(-1)?.eventMs ?? Number.NEGATIVE_INFINITY;
  }

  #takeValue({ buffer }: Instance): void {
    const { newestValueMs, values } = buffer;
    if (newestValueMs <= (this.#valueTimes.at(-1) ?? Number.NEGATIVE_INFINITY)) return;
    this.#valueTimes.push(newestValueMs);
    if (newestValueMs <= this.#stretch.fromMs || isAgeBuffer(buffer)) return;
    this.#samples.push({ observedMs: newestValueMs, value: values.at(-1) ?? Number.NaN });
  }
}

function instanceIn(
  { projects }: EvaluationState,
  { rule, vm, labels }: RecomputePathOptions,
): Instance | undefined {
  const buffers = projects.get(rule.project)?.vms.get(vm)?.buffers.values() ?? [];
  return [...buffers].find((buffer) => buffer.labels === labels)?.instances[0];
}

/** The machine's event for an edge; for a firing, also the events that led to it. */
function observedEvents(edge: Edge): readonly ObservedEvent[] {
  const { atMs, observedMs: eventMs = atMs, value = null } = edge;
  if (edge.kind === 'recovered') return [{ type: 'recovered', eventMs, value }];
  if (edge.kind !== 'fired') return [];
  const { startedMs, run } = edge;
  const fired = { eventMs, startedMs, value, incidentId: '', notify: false, repeatIntervalMs: 0 };
  return [...run, { type: 'sustained', ...fired }];
}

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** If nothing is known before the period, it starts with a gap. */
function gapsOf(valueTimes: readonly number[], { fromMs, toMs }: Stretch): RecomputedGap[] {
  const isKnown = (valueTimes[0] ?? toMs) <= fromMs;
  const times = [isKnown ? [] : fromMs - GAP_TOLERANCE_MS, valueTimes, toMs].flat();
  return times.slice(1).flatMap((endMs, i) => {
    const lastMs = times[i] ?? endMs;
    const missingMs = lastMs + GAP_TOLERANCE_MS;
    if (endMs <= missingMs) return [];
    return [{ startMs: Math.max(lastMs, isKnown ? lastMs : fromMs), missingMs, endMs }];
  });
}

/** The events, with those of gaps, which the machine takes while the instance fires. */
function withGaps(
  events: readonly ObservedEvent[],
  gaps: readonly RecomputedGap[],
  toMs: number,
): ObservedEvent[] {
  const known = new Set(events.map(({ type, eventMs }) => `${type} ${eventMs}`));
  const ofGaps = gaps.flatMap(({ startMs: sinceMs, missingMs, endMs }): ObservedEvent[] => {
    const missing = { eventMs: missingMs, sinceMs, reason: 'NO_DATA' } as const;
    const isNoted = known.has(`dataMissing ${missingMs}`);
    return [
      ...(isNoted ? [] : [{ type: 'dataMissing' as const, ...missing }]),
      ...(endMs < toMs ? [{ type: 'dataObserved' as const, eventMs: endMs }] : []),
    ];
  });
  return [...ofGaps, ...events].sort((a, b) => a.eventMs - b.eventMs);
}

interface Change {
  readonly atMs: number;
  readonly condition?: Condition;
  readonly isMissing?: boolean;
  readonly cause: string;
}

function segmentsOf(
  steps: readonly PathStep[],
  gaps: readonly RecomputedGap[],
  { fromMs, toMs }: Stretch,
): PathSegment[] {
  const changes: Change[] = [
    ...gaps.flatMap(({ missingMs, endMs }) => [
      { atMs: missingMs, isMissing: true, cause: 'dataMissing' },
      { atMs: endMs, isMissing: false, cause: 'dataObserved' },
    ]),
    ...steps.map(({ eventMs, event, to }) => ({
      atMs: eventMs,
      condition: conditionOf(to),
      cause: event,
    })),
  ];
  const segments: PathSegment[] = [];
  let state = { condition: 'idle' as Condition, isMissing: false };
  let since: { startMs: number; cause: string | undefined } = { startMs: fromMs, cause: undefined };
  for (const { atMs, cause, ...change } of changes.sort((a, b) => a.atMs - b.atMs)) {
    const next = { ...state, ...change };
    const isSame = next.condition === state.condition && next.isMissing === state.isMissing;
    if (isSame || atMs >= toMs) continue;
    if (atMs > since.startMs) segments.push({ ...state, ...since, endMs: atMs });
    if (atMs > fromMs) since = { startMs: atMs, cause };
    state = next;
  }
  return [...segments, { ...state, ...since, endMs: toMs }];
}
