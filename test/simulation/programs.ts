/**
 * The program versions that members run during a rolling upgrade: the present one, and one in which
 * each machine is one version newer. The older program cannot move rows of the newer one.
 */
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';

export interface Program {
  readonly version: string;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
}

export const OLDER: Program = { version: '1', machines: machineDefinitions };

export const NEWER: Program = {
  version: '2',
  machines: new Map([...machineDefinitions].map(([name, machine]) => [name, raised(machine)])),
};

/** Only the version numbers differ, since only they are compared. */
function raised(definition: MachineDefinition): MachineDefinition {
  const { version, upcasters } = definition;
  return {
    ...definition,
    version: version + 1,
    upcasters: { ...upcasters, [version]: (row) => row },
  };
}
