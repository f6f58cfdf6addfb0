/** What destinations keep sealed, outside the log: addresses that are secrets, and signing secrets. */
import type { DestinationContext } from '../../machines/delivery/destination.ts';

/** Values that must be read back and are never in a commit. */
export interface SealedValues {
  put(id: string, value: string): void;
  get(id: string): string | undefined;
  delete(id: string): void;
}

export interface ListedValues extends SealedValues {
  ids(): readonly string[];
}

/**
 * Where a destination's URL lies in the sealed store: under an id of its own, so that another URL
 * is sealed before the commit that names it; rows of version 1 sealed it under the destination's.
 */
export function urlIdOf(destination: string, { urlId }: Pick<DestinationContext, 'urlId'>): string {
  return urlId ?? `${destination}/url`;
}
