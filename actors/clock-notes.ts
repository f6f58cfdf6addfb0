/**
 * What is wrong with the clocks of sources, as ingest sees it: rows refused because they lie in the
 * future, and rows that a source sent later but observed earlier. Kept in memory, one spell of each
 * kind a VM: a clock that is still wrong is noted again with its next row, also after a restart.
 */

import type { VmRef } from '../streams/samples/batch.ts';

export type ClockFault = 'CLOCK_AHEAD' | 'CLOCK_BACKWARDS';

/** When such rows were received, first and last, Unix ms. */
interface Spell {
  sinceMs: number;
  lastMs: number;
}

/** Without such a row for so long, the next one begins another spell, ms. */
const SPELL_PAUSE_MS = 300_000;
/** VMs noted at most, the oldest forgotten first: names of rows that are refused cost nothing else. */
const NOTED_MAX = 50_000;

export class ClockNotes {
  /** By project, VM and kind; the longest unheard first. */
  readonly #spells = new Map<string, Spell>();

  note(fault: ClockFault, project: string, vm: string, nowMs: number): void {
    const key = keyOf(fault, project, vm);
    const known = this.#spells.get(key);
    const goesOn = known !== undefined && nowMs - known.lastMs <= SPELL_PAUSE_MS;
    this.#spells.delete(key);
    this.#spells.set(key, { sinceMs: goesOn ? known.sinceMs : nowMs, lastMs: nowMs });
    if (this.#spells.size <= NOTED_MAX) return;
    const [oldest = ''] = this.#spells.keys();
    this.#spells.delete(oldest);
  }

  /** VMs of which rows from the future were received since `sinceMs`, Unix ms; newest first. */
  *ahead(sinceMs: number): Generator<VmRef> {
    for (const [key, { lastMs }] of [...this.#spells].reverse()) {
      if (lastMs < sinceMs) return;
      const [head = '', ...name] = key.split('\n');
      const [fault, project = ''] = head.split(' ');
      const vm = name.join('\n');
      if (fault === 'CLOCK_AHEAD') yield { project, vm };
    }
  }

  /** Faults of the VM's latest spells that touch the stretch, both ends inclusive, Unix ms. */
  within(project: string, vm: string, fromMs: number, toMs: number): ClockFault[] {
    return FAULTS.filter((fault) => {
      const spell = this.#spells.get(keyOf(fault, project, vm));
      return spell !== undefined && spell.sinceMs <= toMs && spell.lastMs >= fromMs;
    });
  }
}

const FAULTS: readonly ClockFault[] = ['CLOCK_BACKWARDS', 'CLOCK_AHEAD'];

function keyOf(fault: ClockFault, project: string, vm: string): string {
  return `${fault} ${project}\n${vm}`;
}
