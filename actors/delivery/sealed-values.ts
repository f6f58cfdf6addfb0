/**
 * The sealed values of destinations: URLs that are secrets, and signing secrets. They are stored
 * outside the log, never in a commit, and sealed before the commit that names them. A sweep deletes
 * sealed values that a crash left without a destination.
 */
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Host } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { destinationOf } from './destination-rows.ts';

/** Values by id, encrypted on disk. Writes are durable when they return. */
export interface SealedValues {
  put(id: string, value: string): Promise<void>;
  get(id: string): string | undefined;
  delete(id: string): Promise<void>;
  /**
   * Resolves when `get` returns the earlier writes of every member, because a commit may arrive
   * before its values.
   */
  caughtUp(): Promise<void>;
}

/** The same, with a list for the sweep, which deletes values that nothing refers to. */
export interface ListedValues extends SealedValues {
  ids(): readonly string[];
}

/**
 * The id under which a destination's URL is sealed. It differs from the destination's id, so that a
 * new URL is sealed before the commit that names it. Rows of version 1 sealed it under the
 * destination's id.
 */
export function urlIdOf(destination: string, { urlId }: Pick<DestinationContext, 'urlId'>): string {
  return urlId ?? `${destination}/url`;
}

/** Deletes sealed values. No-op for ids that are null or not sealed. */
export async function forget(
  sealed: Pick<SealedValues, 'delete'>,
  ids: readonly (string | null)[],
): Promise<void> {
  await Promise.all(ids.map((id) => (id === null ? undefined : sealed.delete(id))));
}

/**
 * Submits a change that names sealed values, and deletes them if it is refused. After any other
 * error the commit may exist, so they stay. Throws the errors of `submit`.
 */
export async function submitSealed<T>(
  sealed: SealedValues,
  ids: readonly (string | null)[],
  submit: () => Promise<T>,
): Promise<T> {
  try {
    return await submit();
  } catch (error) {
    if (error instanceof Refusal) await forget(sealed, ids);
    throw error;
  }
}

/**
 * Deletes the previous secret of each rotation when its overlap ends. `sweepSealed` handles
 * overlaps that end while this is not running.
 *
 * @returns a function that stops it
 */
export function forgetOverlapped(
  {
    host,
    sealed,
    owns,
  }: {
    readonly host: Host;
    readonly sealed: SealedValues;
    /** True if this member acts for the project. Every member receives the commit. */
    readonly owns: (project: string) => boolean;
  },
  onFault: (error: unknown) => void,
): () => void {
  return host.onApplied(({ commit }) => {
    if (!owns(commit.project)) return;
    for (const { machine, event } of commit.decisions.flatMap(({ steps }) => steps)) {
      if (machine !== 'destination' || event.type !== 'overlapEnded') continue;
      if (typeof event.secretId === 'string') forget(sealed, [event.secretId]).catch(onFault);
    }
  });
}

/** Interval between two sweeps, ms. The first one runs at once. */
const SWEEP_MS = 3_600_000;

export interface SealedSweepDeps {
  readonly host: Pick<Host, 'projects' | 'view' | 'findInstance'>;
  readonly clock: Clock;
  readonly sealed: ListedValues;
  readonly bodies: {
    ids(): string[];
    delete(deliveries: readonly string[]): Promise<void>;
  };
  /** Removes traces of deletions from the store that members share. */
  readonly sweep: () => Promise<void>;
  readonly owns: (project: string) => boolean;
  readonly onOrphans: (count: number) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * Deletes values that no commit refers to anymore, at once and then every hour, on the member that
 * acts for `_system`: values sealed for a change that was never committed, and bodies of deliveries
 * that ended while the member that sent them died. Runs until `signal`.
 */
export async function sweepSealed(deps: SealedSweepDeps, signal: AbortSignal): Promise<void> {
  const { host, clock, bodies, owns, onOrphans, onFault, sweep } = deps;
  while (!signal.aborted) {
    if (owns(SYSTEM_PROJECT)) {
      try {
        const count = await forgetOrphans(deps);
        if (count > 0) onOrphans(count);
        await bodies.delete(
          bodies.ids().filter((id) => host.findInstance('delivery', id)?.final === true),
        );
        await sweep();
      } catch (error) {
        onFault(error);
      }
    }
    await pause(clock, SWEEP_MS, signal);
  }
}

/** Younger values may belong to a change whose commit is still in progress, ms. */
const ORPHAN_AGE_MS = 3_600_000;
/** Our ids. A ULID starts with the time, in ten characters of Crockford's base 32. */
const ID = /^(?:url|whs|dst)_([0-9A-HJKMNP-TV-Z]{10})[0-9A-HJKMNP-TV-Z]{16}(?:\/url)?$/;
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * Deletes values that no destination refers to. Call it when the host knows all commits. Deletes
 * nothing if no destination exists, because the log may be lost and these values may be all that is
 * left.
 *
 * @returns the number of deleted values
 */
export async function forgetOrphans({
  host,
  clock,
  sealed,
}: {
  readonly host: Pick<Host, 'projects' | 'view'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly sealed: ListedValues;
}): Promise<number> {
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
  await forget(sealed, orphans);
  return orphans.length;
}

/** Unix ms; Infinity for an id of another form, which is kept. */
function createdMs(id: string): number {
  const time = ID.exec(id)?.[1];
  if (time === undefined) return Infinity;
  return [...time].reduce((ms, digit) => ms * 32 + DIGITS.indexOf(digit), 0);
}
