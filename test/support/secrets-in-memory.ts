/** Secrets sealed under an id, in a map that the test can read. */
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';

export function secretsIn(
  values: Map<string, Uint8Array>,
  onWrite: () => void = () => {},
): Pick<SecretStore, 'get' | 'update'> {
  return {
    get: (id) => values.get(id),
    update: async (id, _purpose, change) => {
      const changed = change(values.get(id));
      if (changed === undefined) return values.get(id);
      onWrite();
      values.set(id, changed);
      return changed;
    },
  };
}
