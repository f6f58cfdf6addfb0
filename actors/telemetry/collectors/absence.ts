/**
 * Which VMs a source has stopped listing for good. A VM is gone when two complete listings, at least
 * a minute apart, both lack it, and nobody else has told of it meanwhile. A listing that lacks all
 * VMs, or many at once, proves nothing: storage that is not mounted and a daemon that has forgotten
 * look the same. So many are retired by people alone.
 */
import type { Clock } from '../../../streams/platform/clock.ts';

/** Between the first complete listing without a VM and the one that proves it gone, ms. */
const ABSENT_MS = 60_000;
/** More of the known VMs than this share, and at least so many, do not go at once. */
const DOUBTED_SHARE = 0.3;
const DOUBTED_VMS = 5;

/** What a complete listing says. */
export interface Absent {
  /** VMs that it proves gone, each time until they are not known any more. */
  readonly gone: readonly string[];
  /** It lacks so many of the known VMs that it proves nothing. */
  readonly doubt?: { readonly missing: number; readonly known: number };
}

export class Absences {
  readonly #clock: Clock;
  /** When each was first missed, elapsed ms. */
  readonly #missedSince = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes a complete listing in.
   *
   * @param known VMs that the source has told, perhaps before a restart, and when somebody else last
   *   told of each, elapsed ms; -Infinity: never
   */
  take(listed: ReadonlySet<string>, known: ReadonlyMap<string, number>): Absent {
    const now = this.#clock.elapsed();
    for (const vm of this.#missedSince.keys()) {
      if (listed.has(vm) || !known.has(vm)) this.#missedSince.delete(vm);
    }
    const absent = [...known].filter(([vm]) => !listed.has(vm));
    const missing = absent.filter(
      ([vm, heardMs]) => heardMs < (this.#missedSince.get(vm) ?? now - ABSENT_MS),
    ).length;
    const isMany = missing >= DOUBTED_VMS && missing > DOUBTED_SHARE * known.size;
    if (isMany || (missing > 0 && absent.length === known.size)) {
      return { gone: [], doubt: { missing, known: known.size } };
    }
    const gone: string[] = [];
    for (const [vm, heardMs] of absent) {
      const since = this.#missedSince.get(vm) ?? now;
      this.#missedSince.set(vm, since);
      if (now - since >= ABSENT_MS && heardMs < since) gone.push(vm);
    }
    return { gone };
  }
}
