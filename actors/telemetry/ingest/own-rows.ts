/** Rows of a request that its sender may report: those of VMs whose source it is. */
import type { NotRegistered, VmRegistry } from '../../vms/vm-registry.ts';
import type { SourceVerdict } from '../../vms/vm-sources.ts';
import { type CheckedRows, checkedRows, type PlacedRow } from './checked-rows.ts';
import type { WriteRequest } from './ingest-port.ts';

/** Leaves out the rows of other sources; a promise if a take-over is committed first. */
export function ownRows(
  registry: VmRegistry,
  request: WriteRequest,
  sound: CheckedRows,
): CheckedRows | Promise<CheckedRows> {
  const { project, source } = request;
  if (source === undefined) registry.recordOthers(project, sound.rows);
  const verdict = registry.sources.judge(project, sound.rows, request);
  if (verdict === undefined) return sound;
  if (!(verdict instanceof Promise)) return ofSource(sound, verdict);
  const unreached = (error: unknown): never => {
    registry.sources.isolated();
    throw error;
  };
  return verdict.then((each) => ofSource(sound, each), unreached);
}

/** Leaves out the rows of other sources; rows of VMs that changed their source name it. */
function ofSource(checked: CheckedRows, { refused, boots }: SourceVerdict): CheckedRows {
  if (refused.size + boots.size === 0) return checked;
  const rejected = [...checked.rejected];
  const kept: PlacedRow[] = [];
  for (const [i, row] of checked.rows.entries()) {
    const index = checked.indexes?.[i] ?? i;
    const boot = boots.get(i);
    if (refused.has(i)) rejected.push({ row: index, series: '', reason: 'REPORTED_ELSEWHERE' });
    else kept.push({ row: boot === undefined ? row : { ...row, boot }, index });
  }
  return checkedRows(kept, rejected);
}

/** Removes the rows of VMs that turned out during registration to be another sender's. */
export function withoutVms(
  checked: CheckedRows,
  vms: ReadonlyMap<string, NotRegistered>,
): CheckedRows {
  const rejected = [...checked.rejected];
  const kept: PlacedRow[] = [];
  for (const [i, row] of checked.rows.entries()) {
    const index = checked.indexes?.[i] ?? i;
    const reason = vms.get(row.vm);
    if (reason) rejected.push({ row: index, series: '', reason });
    else kept.push({ row, index });
  }
  return checkedRows(kept, rejected);
}
