/**
 * The sealed values of destinations: URLs that are secrets, and signing secrets. They are stored
 * outside the log, never in a commit, and sealed before the commit that names them. What a crash
 * leaves sealed without a destination that refers to it is deleted at the next start.
 */
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Host } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { destinationOf } from './destination-rows.ts';

export interface SealedValues {
  put(id: string, value: string): void;
  get(id: string): string | undefined;
  delete(id: string): void;
}

export interface ListedValues extends SealedValues {
  ids(): readonly string[];
}

/**
 * The id under which a destination's URL is sealed. It is an id of its own, so that a new URL is
 * sealed before the commit that names it. Rows of version 1 sealed it under the destination's id.
 */
export function urlIdOf(destination: string, { urlId }: Pick<DestinationContext, 'urlId'>): string {
  return urlId ?? `${destination}/url`;
}

/** Deletes sealed values. No-op for ids that are null or not sealed. */
export function forget(sealed: SealedValues, ids: readonly (string | null)[]): void {
  for (const id of ids) if (id !== null) sealed.delete(id);
}

/**
 * Submits a change that names sealed values, and deletes them when it is refused. After any other
 * error the commit may exist, so they stay. Throws what `submit` throws.
 */
export async function submitSealed<T>(
  sealed: SealedValues,
  ids: readonly (string | null)[],
  submit: () => Promise<T>,
): Promise<T> {
  try {
    return await submit();
  } catch (error) {
    if (error instanceof Refusal) forget(sealed, ids);
    throw error;
  }
}

/**
 * Deletes the previous secret of each rotation when its overlap ends. An overlap that ends while
 * this is not running is handled by `forgetOrphans`.
 *
 * @returns a function that stops it
 */
export function forgetOverlapped(
  { host, sealed }: { readonly host: Host; readonly sealed: SealedValues },
  onFault: (error: unknown) => void,
): () => void {
  return host.onApplied(({ commit }) => {
    for (const { machine, event } of commit.decisions.flatMap(({ steps }) => steps)) {
      if (machine !== 'destination' || event.type !== 'overlapEnded') continue;
      try {
        if (typeof event.secretId === 'string') forget(sealed, [event.secretId]);
      } catch (error) {
        onFault(error);
      }
    }
  });
}

/** Younger values may belong to a change whose commit is still under way, ms. */
const ORPHAN_AGE_MS = 3_600_000;
/** Our ids. A ULID begins with the time, in ten characters of Crockford's base 32. */
const ID = /^(?:url|whs|dst)_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}(?:\/url)?$/;
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Deletes values that no destination refers to. Call it when the host knows all commits. Deletes
 * nothing when no destination exists: the log may be lost, and these values are all that is left.
 *
 * @returns the number of deleted values
 */
export function forgetOrphans({
  host,
  clock,
  sealed,
}: {
  readonly host: Pick<Host, 'projects' | 'view'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly sealed: ListedValues;
}): number {
  const rows = host
    .projects()
    .flatMap((project) => allInstances(host.view(project), 'destination'));
  if (rows.length === 0) return 0;
  const used = new Set(
    rows.flatMap((row) => {
      const context = destinationOf(row);
      return [urlIdOf(row.instance, context), ...context.secrets.map(({ id }) => id)];
    }),
  );
  const beforeMs = clock.now() - ORPHAN_AGE_MS;
  const orphans = sealed.ids().filter((id) => !used.has(id) && createdMs(id) < beforeMs);
  forget(sealed, orphans);
  return orphans.length;
}

/** Unix ms; Infinity for an id of another form, which is kept. */
function createdMs(id: string): number {
  const time = ID.exec(id)?.[1];
  if (time === undefined) return Infinity;
  return [...time].reduce((ms, digit) => ms * 32 + DIGITS.indexOf(digit), 0);
}
