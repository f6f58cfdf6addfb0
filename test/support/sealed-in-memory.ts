/** Sealed values of destinations in a map that the test can read. */
import type { ListedValues } from '../../actors/delivery/sealed-values.ts';

export function sealedIn(values: Map<string, string>): ListedValues {
  return {
    put: async (id, value) => void values.set(id, value),
    get: (id) => values.get(id),
    delete: async (id) => void values.delete(id),
    caughtUp: async () => {},
    ids: () => [...values.keys()],
  };
}
