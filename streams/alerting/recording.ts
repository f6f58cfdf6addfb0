/**
 * Recordings: a stretch of a SAMPLES log as text that people can read, shorten and write by hand.
 *
 *     svc-recording 1
 *     # a comment
 *     {"rules": {"atMs": 0, "upserts": [...], "removals": []}}
 *     {"tick": 30000, "census": {...}}
 *     {"batch": {"receivedMs": 30000, "rows": [{"project": "demo", "vm": "vm-1", "observedMs":
 *     30000,
 *       "values": {"svc_vm_load1": 1.5}}]}}
 *
 * One entry per line. A row may also have `sequence`, `boot`, `vcpus`, `state` and `stateReason`.
 */
import type { LivenessReport, LogEntry } from '../telemetry/entry.ts';
import {
  BatchBuilder,
  type SampleBatch,
  VM_STATES,
  type VmState,
} from '../telemetry/samples/batch.ts';

/** First line of a recording. */
export const RECORDING_HEADER = 'svc-recording 1';

/** A recording that cannot be read. The message names the line. */
export class MalformedRecording extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'MalformedRecording';
  }
}

/** Entries of a recording. Throws `MalformedRecording`. */
export function parseRecording(text: string): LogEntry[] {
  const lines = text.split('\n');
  if (lines[0]?.trimEnd() !== RECORDING_HEADER) {
    throw new MalformedRecording(`Line 1 must be "${RECORDING_HEADER}", but is "${lines[0]}"`);
  }
  return lines.flatMap((line, i) => {
    if (i === 0 || line.trim() === '' || line.startsWith('#')) return [];
    try {
      return [parseEntry(JSON.parse(line))];
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new MalformedRecording(`Line ${i + 1}: ${reason}`, { cause });
    }
  });
}

/** A recording of these entries, which `parseRecording` can read. */
export function formatRecording(entries: readonly LogEntry[]): string {
  const lines = entries.map((entry) => JSON.stringify(formatEntry(entry)));
  return `${[RECORDING_HEADER, ...lines].join('\n')}\n`;
}

/** The line of an entry, reduced to one project; undefined if none of it belongs to the project. */
export function recordingLine(entry: LogEntry, project: string): string | undefined {
  const { batch, rules, tick, census } = formatEntry(entry);
  const own = <T extends { readonly project: string }>(all: readonly T[] = []): readonly T[] =>
    all.filter((one) => one.project === project);
  if (batch) {
    const rows = own(batch.rows);
    return rows.length > 0 ? JSON.stringify({ batch: { ...batch, rows } }) : undefined;
  }
  if (!rules) {
    const { placed, clockAhead } = census ?? {};
    const ownReport = census && { ...census, placed: own(placed), clockAhead: own(clockAhead) };
    return JSON.stringify({ tick, ...(ownReport && { census: ownReport }) });
  }
  const lists = {
    upserts: own(rules.upserts),
    removals: own(rules.removals),
    ...(rules.limits && { limits: own(rules.limits) }),
    ...(rules.retired && { retired: own(rules.retired) }),
  };
  if (Object.values(lists).every((list) => list.length === 0)) return undefined;
  return JSON.stringify({ rules: { atMs: rules.atMs, ...lists } });
}

/** A row of a recording; absent fields were not recorded. */
interface RecordedRow {
  readonly project: string;
  readonly vm: string;
  readonly observedMs: number;
  readonly sequence?: number;
  readonly boot?: string;
  readonly vcpus?: number;
  readonly state?: VmState;
  readonly stateReason?: string;
  readonly values: Readonly<Record<string, number>>;
}

type RulesBody = Omit<Extract<LogEntry, { kind: 'rules' }>, 'kind'>;

interface RecordedEntry {
  readonly tick?: number;
  /** `livenessReport` of a tick; this is its name in the file format. */
  readonly census?: LivenessReport;
  readonly rules?: RulesBody;
  readonly batch?: { readonly receivedMs: number; readonly rows: readonly RecordedRow[] };
}

function parseEntry(parsed: RecordedEntry): LogEntry {
  const { tick, census, rules, batch } = parsed;
  if (typeof tick === 'number')
    return { kind: 'tick', atMs: tick, ...(census && { livenessReport: census }) };
  if (rules && Array.isArray(rules.upserts) && Array.isArray(rules.removals)) {
    return { kind: 'rules', ...rules };
  }
  if (batch && Array.isArray(batch.rows)) return { kind: 'batch', batch: parseBatch(batch) };
  throw new MalformedRecording('An entry must be a tick, rules or a batch');
}

function formatEntry(entry: LogEntry): RecordedEntry {
  switch (entry.kind) {
    case 'batch':
      return { batch: formatBatch(entry.batch) };
    case 'tick':
      return {
        tick: entry.atMs,
        ...(entry.livenessReport && { census: entry.livenessReport }),
      };
    case 'rules': {
      const { kind: _, ...rules } = entry;
      return { rules };
    }
  }
}

function parseBatch({ receivedMs, rows }: NonNullable<RecordedEntry['batch']>): SampleBatch {
  const builder = new BatchBuilder();
  for (const row of rows) {
    const { project, vm, observedMs, values } = row;
    builder.add({
      project,
      vm,
      observedMs,
      sequence: row.sequence ?? 0,
      boot: row.boot ?? '',
      vcpus: row.vcpus ?? Number.NaN,
      state: VM_STATES.indexOf(row.state ?? 'UNKNOWN'),
      stateReason: row.stateReason ?? '',
      series: Object.keys(values),
      values: Object.values(values),
    });
  }
  return builder.build(receivedMs);
}

function formatBatch(batch: SampleBatch): NonNullable<RecordedEntry['batch']> {
  const rows = Array.from({ length: batch.count }, (_, i) => formatRow(batch, i));
  return { receivedMs: batch.receivedMs, rows };
}

function formatRow(batch: SampleBatch, i: number): RecordedRow {
  const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? { project: '', vm: '' };
  const series = batch.layouts[batch.layout[i] ?? 0]?.series ?? [];
  const values = [...batch.values.subarray(batch.valueOffset[i], batch.valueOffset[i + 1])];
  const vcpus = batch.vcpus[i] ?? Number.NaN;
  const [boot, stateReason] = [batch.boot, batch.stateReason].map(
    (column) => batch.strings[column[i] ?? 0] ?? '',
  );
  return {
    project,
    vm,
    observedMs: batch.observedMs[i] ?? 0,
    sequence: batch.sequence[i] ?? 0,
    ...(boot ? { boot } : {}),
    ...(Number.isNaN(vcpus) ? {} : { vcpus }),
    state: VM_STATES[batch.state[i] ?? 0] ?? 'UNKNOWN',
    ...(stateReason ? { stateReason } : {}),
    values: Object.fromEntries(series.map((key, at) => [key, values[at] ?? Number.NaN])),
  };
}
