/**
 * The projects and machines that a credential may write to. Both ways in use it: the RPC framework
 * and the binary handler before it.
 */
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { SenderReach } from '../../../actors/vms/sent-row.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import type { CredentialPrincipal } from '../../platform/access/principal.ts';

/** The machines that a credential reports. */
export function reachOf({ name, kind, datacenter, vm }: CredentialPrincipal): SenderReach {
  // An agent's key without a VM would be a fault of ours: it reports none, rather than any.
  return { name, datacenter, vm: kind === 'vm' ? (vm ?? '') : null };
}

/** Is it a collector for all projects, which names the one it writes into? */
export function writesAnywhere({ kind, project }: CredentialPrincipal): boolean {
  return kind === 'col' && project === SYSTEM_PROJECT;
}

/** Counts bytes of a body against the project's rate. Throws a `Refusal` TOO_MANY_REQUESTS, counting nothing. */
export function takeBodyBytes(
  ingestRates: Pick<IngestRates, 'checkBytes' | 'spendBytes'>,
  project: string,
  bytes: number,
): void {
  ingestRates.checkBytes(project, bytes);
  ingestRates.spendBytes(project, bytes);
}

/** Has somebody made this project? A collector for all projects must not make one by writing. */
export function projectExists(host: Pick<Host, 'view'>, project: string): boolean {
  return host.view(project).record('project', project) !== undefined;
}
