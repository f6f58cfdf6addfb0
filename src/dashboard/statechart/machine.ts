/** A machine as defined by the service: it changes only with the version of the service. */
import { read } from '../data/call.ts';
import { type Loader, useLoaded } from '../data/loaded.ts';
import type { ResponseOf } from '../data/rpc-types.ts';

export type Machine = ResponseOf<'AuditService', 'getMachine'>;

/** Loaded while the component is mounted. @param projectName `projects/p` */
export function useMachine(projectName: string, machine: string): Loader<Machine> {
  return useLoaded(`machine ${projectName} ${machine}`, (options) =>
    read('AuditService', 'getMachine', { projectName, machine }, options),
  );
}
