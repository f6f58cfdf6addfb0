/**
 * Which VMs a source has stopped listing for good. A VM is gone when two complete listings, at least
 * a minute apart, both lack it; what could not be listed in full says nothing about any VM. Neither
 * does an empty listing: storage that is not mounted and a daemon that has forgotten look the same.
 */
import type { Clock } from '../../streams/clock.ts';

/** Between the first complete listing without a VM and the one that proves it gone, ms. */
const ABSENT_MS = 60_000;

export class Absences {
  readonly #clock: Clock;
  readonly #known: Set<string>;
  /** When each was first missed, elapsed ms. */
  readonly #missedSince = new Map<string, number>();

  /** @param known VMs that the source has told before, perhaps before a restart */
  constructor(clock: Clock, known: Iterable<string> = []) {
    this.#clock = clock;
    this.#known = new Set(known);
  }

  /** Takes a complete listing in. Returns the VMs that it proves gone, each time until `forget`. */
  take(listed: ReadonlySet<string>): string[] {
    if (listed.size === 0) return [];
    const now = this.#clock.elapsed();
    const gone: string[] = [];
    for (const vm of listed) {
      this.#known.add(vm);
      this.#missedSince.delete(vm);
    }
    for (const vm of this.#known) {
      if (listed.has(vm)) continue;
      const since = this.#missedSince.get(vm) ?? now;
      this.#missedSince.set(vm, since);
      if (now - since >= ABSENT_MS) gone.push(vm);
    }
    return gone;
  }

  /** It is recorded that these are gone. */
  forget(vms: Iterable<string>): void {
    for (const vm of vms) {
      this.#known.delete(vm);
      this.#missedSince.delete(vm);
    }
  }
}
