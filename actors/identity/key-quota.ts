/**
 * How many live keys an owner may have, decided in the commit that makes one more. Counting takes
 * longer the more there are (6.6 ms for 100,000, over the owner index), so that a count of many is
 * good for several decisions: never for more than there is room for, and each counts as one key.
 */
import { Refusal } from '../../streams/platform/refusal.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import { type KeyOwner, ownerName } from './names.ts';

/** Live keys of one member at most: people have a few, and one for each of their machines. */
export const MEMBER_KEYS_MAX = 100;
/** Live keys of one service account at most: a fleet has one for each of its machines. */
export const ACCOUNT_KEYS_MAX = 200_000;

/** From so many keys on a count is kept: below it, it takes less than 0.1 ms. */
const DEAR_COUNT = 1_000;
/** Decisions that one count is good for. */
const DECISIONS_MAX = 200;

/** Counts of owners with very many keys; one for all decisions of a process. */
export class KeyQuota {
  /** By owner's name: keys that may be decided before the next count. */
  readonly #left = new Map<string, number>();

  /** Throws LIMIT_EXCEEDED when the owner has as many live keys as it may have. */
  assertRoom(view: Pick<ProjectView, 'countInstances'>, owner: KeyOwner): void {
    const name = ownerName(owner);
    const left = this.#left.get(name) ?? 0;
    if (left > 1) this.#left.set(name, left - 1);
    else this.#left.delete(name);
    if (left > 0) return;
    const max = owner.machine === 'membership' ? MEMBER_KEYS_MAX : ACCOUNT_KEYS_MAX;
    const live = view.countInstances('credential', { final: false, owner: name });
    if (live >= max) throw full(owner, max);
    const others = Math.min(max - live, DECISIONS_MAX) - 1;
    if (live >= DEAR_COUNT && others > 0) this.#left.set(name, others);
  }
}

function full({ machine }: KeyOwner, max: number): Refusal {
  const who = machine === 'membership' ? 'A member' : 'A service account';
  return new Refusal(
    'LIMIT_EXCEEDED',
    `${who} has at most ${max} keys that work: revoke one first, or rotate one without an overlap`,
    { limit: String(max) },
  );
}
