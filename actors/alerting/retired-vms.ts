/**
 * From the record of a retired VM to what follows from it: the log entry after which the evaluator
 * knows it no more. Its instances are retired with those of rules (`retire.ts`).
 */
import type { LogEntry, RetiredVm } from '../../streams/telemetry/entry.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import { nextTurn } from '../platform/time-slices.ts';
import type { VmBody } from '../vms/vm-body.ts';

/** Records read in one turn of the event loop. */
const PAGE = 200;

/** Every VM of the project that was ever retired, with its last time; it may be back since. */
export async function retiredVms(view: ProjectView): Promise<RetiredVm[]> {
  const found: RetiredVm[] = [];
  let after: string | undefined;
  do {
    await nextTurn();
    const page = view.records('vm', { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { id, body } of page.items) {
      // Records of this kind are written as `VmBody` alone.
      const retired = retiredVmOf(view.project, id, body);
      if (retired) found.push(retired);
    }
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** undefined: it never was retired. */
export function retiredVmOf(
  project: string,
  vm: string,
  { generation, generationMs }: Pick<VmBody, 'generation' | 'generationMs'>,
): RetiredVm | undefined {
  if (generation === undefined || generationMs === undefined) return undefined;
  return { project, vm, generation, atMs: generationMs };
}

/** The entry that ends the evaluation of these VMs, all of one partition's projects. */
export function retirementMarker(retired: readonly RetiredVm[], atMs: number): LogEntry {
  return { kind: 'rules', atMs, upserts: [], removals: [], retired };
}
