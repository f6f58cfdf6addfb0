/**
 * Who else tells of the VMs that a source of this node tells: the collector of another host, to which
 * a VM has moved, or an agent inside it. What somebody tells of is there, whatever this node's
 * source lists; and two that tell of one VM must not take it from each other with every row. Kept in
 * memory alone: after a restart it is learnt from the next rows.
 */
import type { Clock } from '../../streams/platform/clock.ts';

/** A VM that another collector told within this is not taken back, ms. */
const OTHERS_MS = 600_000;
const NEVER = Number.NEGATIVE_INFINITY;

/** When a VM was last heard, elapsed ms. */
interface Heard {
  /** From anybody beside the node's own sources. */
  readonly anyMs: number;
  /** From a collector. */
  readonly collectorMs: number;
}

export class OtherSenders {
  readonly #clock: Clock;
  readonly #heard = new Map<string, Map<string, Heard>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody beside the node's own sources tells of a VM that such a source tells, or has told. */
  note(project: string, vm: string, from: 'agent' | 'collector'): void {
    const nowMs = this.#clock.elapsed();
    let vms = this.#heard.get(project);
    if (!vms) {
      vms = new Map();
      this.#heard.set(project, vms);
    }
    const collectorMs = from === 'collector' ? nowMs : (vms.get(vm)?.collectorMs ?? NEVER);
    vms.set(vm, { anyMs: nowMs, collectorMs });
  }

  has(project: string, vm: string): boolean {
    return this.#heard.get(project)?.has(vm) === true;
  }

  /** When the VM was last heard from them, elapsed ms; -Infinity: never. */
  heardMs(project: string, vm: string): number {
    return this.#heard.get(project)?.get(vm)?.anyMs ?? NEVER;
  }

  /** Is it another collector's? */
  isTheirs(project: string, vm: string): boolean {
    const collectorMs = this.#heard.get(project)?.get(vm)?.collectorMs ?? NEVER;
    return this.#clock.elapsed() - collectorMs <= OTHERS_MS;
  }

  forget(project: string, vm: string): void {
    this.#heard.get(project)?.delete(vm);
  }
}
