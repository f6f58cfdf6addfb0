/**
 * The versions of the program that members run while they are upgraded one after another: the present
 * one, and one in which each machine has one version more. A row of the newer one cannot be moved by
 * the older.
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

/** Nothing else is new: what the versions say is what is judged. */
function raised(definition: MachineDefinition): MachineDefinition {
  const { version, upcasters } = definition;
  return {
    ...definition,
    version: version + 1,
    upcasters: { ...upcasters, [version]: (row) => row },
  };
}
