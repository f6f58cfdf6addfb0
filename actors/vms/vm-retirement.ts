/**
 * Retirement of VMs, in one decision: the record has the time, the agent's key ends, and evaluation
 * of the VM ends. The consequences (marker in the log, instances, deliveries) follow from the
 * record. History stays readable. Silence never retires a VM; only a complete listing without it,
 * or a request, does.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Committed, Draft, Host, RequestKey } from '../platform/host/host-port.ts';
import { endAgentOf } from './enrolments.ts';
import type { VmBody } from './vm-directory.ts';
import { leaveToOthers, retireVmSource } from './vm-source-decisions.ts';
import type { VmSources } from './vm-sources.ts';

/** The VMs to retire, and on whose authority. */
export interface RetireVms {
  readonly project: string;
  readonly by: Actor;
  readonly request?: RequestKey;
  /** Ids; at most `RETIRE_MAX`. */
  readonly vms: readonly string[];
  /** Only VMs of this data center; absent: of any data center. */
  readonly datacenter?: string;
  /** Only VMs that this source of the node reports; absent: of any sender. */
  readonly source?: string;
  /** Only VMs that this sender reports and no other sender has; absent: of any sender. */
  readonly sender?: RetiringSender;
}

/** A collector that no longer has some VMs. */
export interface RetiringSender {
  /** As `VmSources.nameOf`. */
  readonly name: string;
  readonly sources: Pick<VmSources, 'isOthers'>;
}

/** The result for each named VM. */
export interface RetiredVms {
  /** Retired by this call, without those that had already been retired. */
  readonly retired: readonly string[];
  readonly refused: readonly { readonly vm: string; readonly reason: RetireRefusal }[];
}

/** UNKNOWN_VM: never reported in this project. OTHER_SOURCE: another sender reports it. */
export type RetireRefusal = 'UNKNOWN_VM' | 'OTHER_DATACENTER' | 'OTHER_SOURCE';

/** Maximum VMs of one request, which fit into one commit. */
export const RETIRE_MAX = 200;

/** Retires VMs; each one may be refused separately. Throws the errors of the host's submit. */
export function retireVms(
  host: Pick<Host, 'submit'>,
  request: RetireVms,
): Promise<Committed<RetiredVms>> {
  const { vms, datacenter, source, sender, ...submission } = request;
  return host.submit({
    ...submission,
    decide(draft): RetiredVms {
      const retired: string[] = [];
      const refused: { vm: string; reason: RetireRefusal }[] = [];
      for (const vm of new Set(vms)) {
        // Records of this kind are always written as `VmBody`.
        const body = draft.record('vm', vm)?.body;
        if (!body) refused.push({ vm, reason: 'UNKNOWN_VM' });
        else if (datacenter !== undefined && body.datacenter !== datacenter) {
          refused.push({ vm, reason: 'OTHER_DATACENTER' });
        } else if (source !== undefined && body.source !== source) {
          refused.push({ vm, reason: 'OTHER_SOURCE' });
        } else if (sender?.sources.isOthers(request.project, vm, sender.name)) {
          // Only this sender has lost the VM, as after a migration.
          leaveToOthers(draft, vm, sender.name);
          refused.push({ vm, reason: 'OTHER_SOURCE' });
        } else if (body.retiredMs === undefined) {
          retire(draft, vm, body, request.by.name);
          retired.push(vm);
        }
      }
      return { retired, refused };
    },
  });
}

function retire(draft: Draft, vm: string, body: VmBody, by: string): void {
  endAgentOf(draft, vm, by);
  retireVmSource(draft, vm);
  const { hasAgent: _, isExpected: __, reportedBy: ___, ...rest } = body;
  const after: VmBody = {
    ...rest,
    expandedMonitoring: false,
    retiredMs: draft.at,
    generation: (body.generation ?? 0) + 1,
    generationMs: draft.at,
  };
  draft.putRecord({ kind: 'vm', id: vm, body: { ...after } });
}
