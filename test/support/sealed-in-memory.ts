/** The sealed values of destinations in a map of the test's, which it can look into. */
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
