/**
 * The projection as this program's machines see it: instances of older versions brought up to
 * date on reading. Rows of a newer program's version are shown as they are.
 */
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import type { Instance, ProjectView } from '../../../streams/platform/commit/projection.ts';
import { upcast } from './interpreter.ts';

/** The instance in its machine's current version. */
export function upcastInstance(
  machines: ReadonlyMap<string, MachineDefinition>,
  instance: Instance,
): Instance {
  const definition = machines.get(instance.machine);
  if (definition === undefined || instance.version >= definition.version) return instance;
  const { value, context } = upcast(definition, instance);
  return { ...instance, value, context, version: definition.version };
}

/** The view with every instance in its machine's current version. */
export function upcastView(
  machines: ReadonlyMap<string, MachineDefinition>,
  view: ProjectView,
): ProjectView {
  return {
    ...view,
    instance(machine, id) {
      const found = view.instance(machine, id);
      return found && upcastInstance(machines, found);
    },
    instances(machine, options) {
      const page = view.instances(machine, options);
      return { ...page, items: page.items.map((item) => upcastInstance(machines, item)) };
    },
  };
}
