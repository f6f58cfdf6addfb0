/** A machine as the service defines it: it changes only with the service. */
import { read } from '../data/call.ts';
import { type Loader, useLoaded } from '../data/loaded.ts';
import type { ResponseOf } from '../data/rpc-types.ts';

export type Machine = ResponseOf<'AuditService', 'getMachine'>;

/** Loaded for as long as the component is on the page. @param projectName `projects/p` */
export function useMachine(projectName: string, machine: string): Loader<Machine> {
  return useLoaded(`machine ${projectName} ${machine}`, (options) =>
    read('AuditService', 'getMachine', { projectName, machine }, options),
  );
}
