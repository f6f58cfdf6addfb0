/**
 * Checks what a sender may report, row by row: a collector the baseline series of its data center's
 * VMs, an agent the expanded series of its one VM. Expanded monitoring is opted into for each VM,
 * so only an enrolled agent sends its series. What exceeds the reach is named and refused; the rest
 * is kept. The VM directory has each VM's data center.
 */
import { EXPANDED_SERIES } from '../../../streams/telemetry/metrics/catalogue.ts';
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import type { IngestRow, SenderReach } from '../../vms/sent-row.ts';
import type { RegisteredVm } from '../../vms/vm-registry.ts';
import { type CheckedRows, checkedRows, type PlacedRow, withoutSeries } from './checked-rows.ts';
import type { RejectedSample, RejectReason } from './ingest-port.ts';

/** Registration of a VM; undefined = it is not known yet. */
export type FindVm = (vm: string) => RegisteredVm | undefined;

/** The part of a request that the sender may report, usually all of it. */
export function withinReach(
  rows: readonly IngestRow[],
  reach: SenderReach | undefined,
  find: FindVm,
): CheckedRows {
  const isAgents = reach !== undefined && reach.vm !== null;
  let samples = 0;
  for (const row of rows) {
    // Each row of an agent is checked closely; of a collector only those that may exceed its reach.
    const isBeyond = isAgents || rowBeyond(row, reach, find) || expandedOf(row.series).size > 0;
    if (isBeyond) return keepWithin(rows, reach, find);
    samples += row.values.length;
  }
  return { rows, rejected: [], samples };
}

function keepWithin(
  rows: readonly IngestRow[],
  reach: SenderReach | undefined,
  find: FindVm,
): CheckedRows {
  const rejected: RejectedSample[] = [];
  const kept: PlacedRow[] = [];
  for (const [index, row] of rows.entries()) {
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

/** Removes the rows of VMs that, during registration, proved to be in another data center. */
export function withoutVms(checked: CheckedRows, vms: ReadonlySet<string>): CheckedRows {
  const rejected = [...checked.rejected];
  const kept: PlacedRow[] = [];
  for (const [i, row] of checked.rows.entries()) {
    const index = checked.indexes?.[i] ?? i;
    if (vms.has(row.vm)) rejected.push({ row: index, series: '', reason: 'OTHER_DATACENTER' });
    else kept.push({ row, index });
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
  // A VM that no collector has reported yet belongs where the first one that does is.
  if (!known || (known.isExpected && reach.vm === null)) return undefined;
  return known.datacenter === reach.datacenter ? undefined : 'OTHER_DATACENTER';
}

/**
 * Removes what a guest may not report because the hypervisor does; undefined when nothing is left.
 * The boot id is removed too: where both observe the same millisecond it would replace the
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
  const surplus = new Set(row.series.filter((series) => !EXPANDED_SERIES.has(series)));
  for (const series of surplus) refuse(series);
  if (surplus.size === row.series.length) {
    if (row.series.length === 0) refuse('');
    return undefined;
  }
  const untold = { vcpus: Number.NaN, state: 0, stateReason: '', displayName: '', boot: '' };
  return { ...withoutSeries(row, surplus), ...untold };
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
/** By list of series: senders come with few, each the same object row after row. */
const looked = new WeakMap<readonly SeriesKey[], ReadonlySet<SeriesKey>>();

/** Those of expanded monitoring, whatever their labels. */
function expandedOf(series: readonly SeriesKey[]): ReadonlySet<SeriesKey> {
  let found = looked.get(series);
  if (found === undefined) {
    const expanded = series.filter((key) => EXPANDED_SERIES.has(key.split('{', 1)[0] ?? ''));
    found = expanded.length > 0 ? new Set(expanded) : NONE;
    looked.set(series, found);
  }
  return found;
}
