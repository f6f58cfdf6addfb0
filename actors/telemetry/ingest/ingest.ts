/**
 * Ingest: checks rows, registers new VMs, merges rows that arrive together into one log entry per
 * partition, and responds once that entry is durable. A rejected sample is named by its row and
 * series; the rest of the batch is kept. Duplicate, conflicting and late samples within retention
 * go into the log, where history and evaluator treat them alike.
 */
import { type Clock, isAhead } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { partitionOf } from '../../../streams/platform/stream.ts';
import { FUTURE_MS, RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import { isOfAgents } from '../../../streams/telemetry/metrics/absence-causes.ts';
import { EXPANDED_SERIES } from '../../../streams/telemetry/metrics/catalogue.ts';
import { READING_MAX } from '../../../streams/telemetry/metrics/series-catalogue.ts';
import { hasPlainValues, type SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import { oneLine } from '../../platform/plain-text.ts';
import type { IngestRow, SenderReach } from '../../vms/sent-row.ts';
import type { RegisteredVm, VmRegistry } from '../../vms/vm-registry.ts';
import type { PartitionWriter } from '../sample-log.ts';
import { BatchAnswers } from './batch-answers.ts';
import { type CheckedRows, checkedRows, type PlacedRow, withoutSeries } from './checked-rows.ts';
import type { ClockNotes } from './clock-notes.ts';
import { IngestLimits, type IngestRates } from './ingest-limits.ts';
import type { Ingest, WriteAnswer, WriteRequest } from './ingest-port.ts';
import { ownRows, withoutVms } from './own-rows.ts';
import type { RejectedSample, RejectReason } from './rejections.ts';
import { valueProblem } from './series-form.ts';

export interface IngestDeps {
  readonly clock: Clock;
  readonly writer: PartitionWriter;
  readonly registry: VmRegistry;
  /**
   * Why this member may store nothing now: after a pause it may not know that a VM has another
   * source. Absent: it always may.
   */
  readonly refusal?: () => string | undefined;
  /** Default: a new instance. */
  readonly limits?: IngestLimits;
  /** Write rates of a project; absent: unbounded. */
  readonly rates?: Pick<IngestRates, 'takeSamples'>;
  /** Records wrong clocks of sources; absent: they are not recorded. */
  readonly clocks?: Pick<ClockNotes, 'record'>;
  /**
   * Called when rows of a collector were stored, even if only for their VM's state: they keep a
   * data center live; undefined = the data center of this node. An agent's rows say nothing about
   * its data center.
   */
  readonly onRows: (datacenter: string | undefined) => void;
  /** Called for each answered request, with the number of stored samples and the rejections. */
  readonly onSamples: (accepted: number, rejected: readonly RejectedSample[]) => void;
}

/** Observation times kept for each VM, to recognise a repeated row. */
const TIMES_KEPT = 16;
/** Interval at which silent VMs and senders are dropped, one project or collector at a time, ms. */
const SWEEP_MS = 60_000;

export function createIngest(deps: IngestDeps): Ingest {
  const answers = new BatchAnswers();
  const { limits = new IngestLimits(deps.registry) } = deps;
  const { clocks } = deps;
  const seen = new RecentTimes((project, vm) =>
    clocks?.record('CLOCK_BACKWARDS', project, vm, deps.clock.now()),
  );
  // Clocks of guests, which say nothing about the hypervisor's readings of the VM.
  const seenOfAgents = new RecentTimes(() => {});
  const partitions = new Map<string, number>();

  function knownPartition(project: string): number {
    let partition = partitions.get(project);
    if (partition === undefined) {
      partition = partitionOf(project);
      partitions.set(project, partition);
    }
    return partition;
  }

  /** The accepted part of a request, with its VMs registered. */
  async function admit(request: WriteRequest): Promise<CheckedRows> {
    const { project, reach, source } = request;
    const nowMs = deps.clock.now();
    const find = deps.registry.finder(project);
    const own = ownRows(deps.registry, request, checkRows(withinReach(request, find), nowMs));
    const sound = own instanceof Promise ? await own : own;
    const checked = limits.keepWithin(project, sound, nowMs);
    for (const { row, reason } of reach?.vm ? [] : checked.rejected) {
      const vm = reason === 'CLOCK_AHEAD' ? vmOfRow(request, row) : undefined;
      if (vm !== undefined) clocks?.record('CLOCK_AHEAD', project, vm, nowMs);
    }
    const registering = deps.registry.register(project, checked.rows, reach, source);
    const elsewhere = registering ? await registering : undefined;
    return elsewhere ? withoutVms(checked, elsewhere) : checked;
  }

  async function store(request: WriteRequest): Promise<WriteAnswer> {
    const { project, reach } = request;
    const refusal = deps.refusal?.();
    if (refusal !== undefined) throw new Refusal('NOT_READY', refusal);
    deps.rates?.takeSamples(project, sampleCount(request.rows));
    const checked = await admit(request);
    const times = reach?.vm ? seenOfAgents : seen;
    const duplicates = times.count(project, checked.rows);
    let sequence: number;
    try {
      sequence = await deps.writer.write(knownPartition(project), project, checked.rows);
    } catch (error) {
      deps.registry.sources.isolated();
      throw error;
    }
    times.record(project, checked.rows, deps.clock.now());
    if (checked.rows.length > 0 && !reach?.vm) deps.onRows(reach?.datacenter ?? undefined);
    deps.onSamples(checked.samples, checked.rejected);
    return { accepted: checked.samples, duplicates, rejected: checked.rejected, sequence };
  }

  return {
    write: (request) =>
      request.batchId === '' ? store(request) : answers.answer(request, () => store(request)),
  };
}

/** Id of the VM of a row, by the row's index in the request. */
export function vmOfRow(
  { rows, indexes }: Pick<WriteRequest, 'rows' | 'indexes'>,
  row: number,
): string | undefined {
  return rows[indexes ? indexes.indexOf(row) : row]?.vm;
}

/** A counter of the service's own metrics. */
interface Counter<L extends string> {
  inc(labels: Readonly<Record<L, string>>, by?: number): void;
}

/** Counts the samples of each request: stored, refused, and refused by reason. */
export function countSamples(counters: {
  readonly samples: Counter<'outcome'>;
  readonly refused: Counter<'reason'>;
}): IngestDeps['onSamples'] {
  const { samples, refused } = counters;
  return (accepted, rejected) => {
    samples.inc({ outcome: 'accepted' }, accepted);
    if (rejected.length > 0) samples.inc({ outcome: 'rejected' }, rejected.length);
    for (const { reason } of rejected) refused.inc({ reason });
  };
}

/** A row without values counts as one sample: its state is stored. */
function sampleCount(rows: readonly IngestRow[]): number {
  let count = 0;
  for (const { values } of rows) count += Math.max(1, values.length);
  return count;
}

/**
 * Keeps valid rows and values. A row too far in the future would spoil the watermark of its series;
 * one older than retention can be neither stored nor evaluated. A value that is not finite is
 * missing, and a label with line breaks would break every text that contains it.
 */
function checkRows(within: CheckedRows, nowMs: number): CheckedRows {
  const isAllSound = within.rows.every(
    (row) => isSound(row) && !timeProblem(row.observedMs, nowMs),
  );
  return isAllSound ? within : keepSound(within, nowMs);
}

function keepSound(within: CheckedRows, nowMs: number): CheckedRows {
  const rejected: RejectedSample[] = [...within.rejected];
  const kept: PlacedRow[] = [];
  for (const [i, content] of within.rows.entries()) {
    const index = within.indexes?.[i] ?? i;
    const reason = timeProblem(content.observedMs, nowMs);
    if (reason) {
      rejected.push({ row: index, series: '', reason });
      continue;
    }
    const fault = rowProblem(content);
    if (fault) rejected.push({ ...fault, row: index });
    else kept.push({ row: withoutBadSamples(content, index, rejected), index });
  }
  return checkedRows(kept, rejected);
}

/**
 * Reason why a row of one of our own sources is not stored: such a row is a fault of the source.
 */
function rowProblem({ series, values, vm }: IngestRow): Omit<RejectedSample, 'row'> | undefined {
  if (vm === '') return { series: '', reason: 'BAD_VM_NAME' };
  if (series.length === values.length) return undefined;
  const message = `The row has ${series.length} series and ${values.length} values. Send one value for each series.`;
  return { series: '', reason: 'UNREADABLE', message };
}

/** Reason why the row is not stored: older than the retention, or more than a minute ahead. */
function timeProblem(observedMs: number, nowMs: number): RejectedSample['reason'] | undefined {
  if (!Number.isFinite(observedMs)) return 'NOT_FINITE';
  if (observedMs > nowMs + FUTURE_MS) return 'CLOCK_AHEAD';
  return observedMs < nowMs - RETENTION_MS ? 'OLDER_THAN_RETENTION' : undefined;
}

function isSound(row: IngestRow): boolean {
  const { vm, series, values } = row;
  return vm !== '' && series.length === values.length && !hasBadValue(row) && hasPlainKeys(series);
}

/** Lists of series whose labels are valid: rows of one layout share one list. */
const plainLists = new WeakSet<readonly SeriesKey[]>();

function hasPlainKeys(series: readonly SeriesKey[]): boolean {
  if (plainLists.has(series)) return true;
  const isPlain = series.every(hasPlainValues);
  if (isPlain) plainLists.add(series);
  return isPlain;
}

/** True if a value may have to be refused. Only series of the catalogue have a bound. */
function hasBadValue({ values }: IngestRow): boolean {
  // Also true for NaN and absent values.
  for (let i = 0; i < values.length; i++) {
    if (!(Math.abs(values[i] ?? Number.NaN) <= READING_MAX)) return true;
  }
  return false;
}

function withoutBadSamples(content: IngestRow, row: number, rejected: RejectedSample[]): IngestRow {
  if (!hasBadValue(content) && hasPlainKeys(content.series)) return content;
  const { series, values } = content;
  const soundSeries: SeriesKey[] = [];
  const soundValues: number[] = [];
  for (const [i, key] of series.entries()) {
    const value = values[i];
    const reason = valueProblem(key, value);
    if (value === undefined || reason) {
      rejected.push({ row, series: key, reason: reason ?? 'NOT_FINITE' });
    } else if (!hasPlainValues(key)) {
      rejected.push({ row, series: oneLine(key, key.length), reason: 'BAD_LABEL' });
    } else {
      soundSeries.push(key);
      soundValues.push(value);
    }
  }
  return { ...content, series: soundSeries, values: soundValues };
}

/** The last observation times of a VM, in a ring. */
interface Times {
  readonly ring: Float64Array;
  next: number;
  /** Observation time of the newest row, and its position in its source's order. */
  newestMs: number;
  boot: string;
  sequence: number;
  /** Time at which its last row arrived, Unix ms. */
  heardMs: number;
}

/**
 * The last observation times of each VM that reported within retention. They reveal repeated rows,
 * as a courtesy to the sender, and clocks that go back: a later row of the same boot with an
 * earlier observation time.
 */
export class RecentTimes {
  readonly #projects = new Map<string, Map<string, Times>>();
  readonly #onClockBackwards: (project: string, vm: string) => void;
  #sweptMs = 0;

  constructor(onClockBackwards: (project: string, vm: string) => void) {
    this.#onClockBackwards = onClockBackwards;
  }

  /** Number of VMs of all projects. */
  get size(): number {
    let size = 0;
    for (const vms of this.#projects.values()) size += vms.size;
    return size;
  }

  count(project: string, rows: readonly IngestRow[]): number {
    const vms = this.#projects.get(project);
    if (vms === undefined) return 0;
    let repeated = 0;
    for (const { vm, observedMs } of rows) {
      const times = vms.get(vm);
      // Nearly every row is newer than all before it.
      if (times === undefined || observedMs > times.newestMs) continue;
      if (times.ring.includes(observedMs)) repeated++;
    }
    return repeated;
  }

  record(project: string, rows: readonly IngestRow[], nowMs: number): void {
    this.#sweep(nowMs);
    let vms = this.#projects.get(project);
    if (vms === undefined) {
      vms = new Map();
      this.#projects.set(project, vms);
    }
    for (const { vm, observedMs, boot, sequence } of rows) {
      let times = vms.get(vm);
      if (times === undefined) {
        const ring = new Float64Array(TIMES_KEPT).fill(Number.NaN);
        times = { ring, next: 0, newestMs: observedMs, boot, sequence, heardMs: nowMs };
        vms.set(vm, times);
      }
      times.heardMs = nowMs;
      times.ring[times.next] = observedMs;
      times.next = (times.next + 1) % TIMES_KEPT;
      // After the service's clock was set back, the source's clock is not at fault.
      if (observedMs > times.newestMs || isAhead(times.newestMs, nowMs)) {
        times.newestMs = observedMs;
        times.boot = boot;
        times.sequence = sequence;
      } else if (observedMs < times.newestMs && sequence > times.sequence && boot === times.boot) {
        this.#onClockBackwards(project, vm);
      }
    }
  }

  /** Sweeps one project at a time. */
  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptMs) < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    const [next] = this.#projects;
    if (next === undefined) return;
    const [project, vms] = next;
    for (const [vm, { heardMs }] of vms) if (heardMs < nowMs - RETENTION_MS) vms.delete(vm);
    this.#projects.delete(project);
    if (vms.size > 0) this.#projects.set(project, vms);
  }
}

// Checks each row against the rights of its sender: a collector the baseline series of its data
// center's VMs, an agent the expanded series of its one VM. Expanded monitoring is opt-in per VM,
// so only an enrolled agent sends its series. Anything beyond this reach is named and rejected; the
// rest is kept. The VM directory has each VM's data center.

/** Registration of a VM; undefined = it is not known yet. */
export type FindVm = (vm: string) => RegisteredVm | undefined;

/** The part of a request that the sender may report, usually all of it. */
function withinReach(request: WriteRequest, find: FindVm): CheckedRows {
  const { rows, reach, indexes, rejected = [] } = request;
  const isAgents = reach !== undefined && reach.vm !== null;
  let samples = 0;
  for (const row of rows) {
    // Each row of an agent is checked in detail; of a collector, only rows that may exceed its
    // reach.
    const isBeyond = isAgents || rowBeyond(row, reach, find) || expandedOf(row.series).size > 0;
    if (isBeyond) return keepWithin(request, find);
    samples += row.values.length;
  }
  return { rows, ...(indexes && { indexes }), rejected, samples };
}

function keepWithin(request: WriteRequest, find: FindVm): CheckedRows {
  const { rows, reach, indexes } = request;
  const rejected: RejectedSample[] = [...(request.rejected ?? [])];
  const kept: PlacedRow[] = [];
  for (const [i, row] of rows.entries()) {
    const index = indexes?.[i] ?? i;
    const beyond = rowBeyond(row, reach, find);
    if (beyond) {
      rejected.push({ row: index, series: '', reason: beyond });
      continue;
    }
    const own = reach?.vm
      ? expandedOnly(row, index, rejected)
      : collectorsOwn(row, index, find, rejected);
    if (own) kept.push({ row: own, index });
  }
  return checkedRows(kept, rejected);
}

function rowBeyond(
  { vm }: IngestRow,
  reach: SenderReach | undefined,
  find: FindVm,
): RejectReason | undefined {
  if (!reach) return undefined;
  if (reach.vm !== null && reach.vm !== vm) return 'OTHER_VM';
  if (reach.datacenter === null) return undefined;
  const known = find(vm);
  // A VM that no collector has reported yet belongs to the first one that reports it.
  if (!known || (known.isExpected && reach.vm === null)) return undefined;
  return known.datacenter === reach.datacenter ? undefined : 'OTHER_DATACENTER';
}

/**
 * Removes series that a guest may not report because the hypervisor does; undefined if no series is
 * left. The boot id is removed too: if both observe the same millisecond it would replace the
 * hypervisor's, and counters would lose their meaning.
 */
function expandedOnly(
  row: IngestRow,
  index: number,
  rejected: RejectedSample[],
): IngestRow | undefined {
  const refuse = (series: string): void => {
    rejected.push({ row: index, series, reason: 'NOT_EXPANDED' });
  };
  if (!Number.isNaN(row.vcpus)) refuse('vcpus');
  if (row.state !== 0 || row.stateReason !== '') refuse('state');
  if (row.displayName) refuse('displayName');
  const surplus = new Set(row.series.filter((series) => !isOfAgents(series)));
  for (const series of surplus) refuse(series);
  if (surplus.size === row.series.length) {
    if (row.series.length === 0) refuse('');
    return undefined;
  }
  const undescribed = { vcpus: Number.NaN, state: 0, stateReason: '', displayName: '', boot: '' };
  return { ...withoutSeries(row, surplus), ...undescribed };
}

function collectorsOwn(
  row: IngestRow,
  index: number,
  find: FindVm,
  rejected: RejectedSample[],
): IngestRow {
  const guests = expandedOf(row.series);
  if (guests.size === 0) return row;
  const reason = find(row.vm)?.hasAgent ? 'TOLD_BY_AGENT' : 'NOT_EXPANDED';
  for (const series of guests) rejected.push({ row: index, series, reason });
  return withoutSeries(row, guests);
}

const NONE: ReadonlySet<SeriesKey> = new Set();
/** By list of series: senders have few lists, each the same object in every row. */
const looked = new WeakMap<readonly SeriesKey[], ReadonlySet<SeriesKey>>();

/** Series of expanded monitoring, whatever their labels. */
function expandedOf(series: readonly SeriesKey[]): ReadonlySet<SeriesKey> {
  let found = looked.get(series);
  if (found === undefined) {
    const expanded = series.filter((key) => EXPANDED_SERIES.has(key.split('{', 1)[0] ?? ''));
    found = expanded.length > 0 ? new Set(expanded) : NONE;
    looked.set(series, found);
  }
  return found;
}
