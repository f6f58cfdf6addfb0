/** What destinations keep sealed, outside the log: addresses that are secrets, and signing secrets. */

/** Values that must be read back and are never in a commit. */
export interface SealedValues {
  put(id: string, value: string): void;
  get(id: string): string | undefined;
  delete(id: string): void;
}

/** Where a destination's address lies in the sealed store. */
export function urlIdOf(destination: string): string {
  return `${destination}/url`;
}
