/** The machines' definitions, read once: they change only with the service. */

import { read } from '../../data/call.ts';
import { type Load, type Loader, useLoaded } from '../../data/loaded.ts';
import { projectName } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';

export type Machine = ResponseOf<'AuditService', 'getMachine'>;

/** Of the open project, for as long as the component is on the page. */
export function useMachine(machine: string): Loader<Machine> {
  const project = projectName.value ?? '';
  const load: Load<Machine> = ({ signal, onRetry }) =>
    read('AuditService', 'getMachine', { projectName: project, machine }, { signal, onRetry });
  return useLoaded(`machine ${project} ${machine}`, load);
}
