/**
 * Clock faults of sources, as seen by ingest: rows rejected because they are in the future, and
 * rows that a source sent later but observed earlier. They are kept only in memory, one spell of
 * each kind per VM. A clock that is still wrong is recorded again with its next row, also after a
 * restart.
 */

import type { VmRef } from '../../../streams/telemetry/samples/batch.ts';
import { ProjectShares } from '../../platform/project-shares.ts';

/** `CLOCK_AHEAD`: rows from the future were rejected. `CLOCK_BACKWARDS`: rows went back in time. */
export type ClockFault = 'CLOCK_AHEAD' | 'CLOCK_BACKWARDS';

/** Times at which such rows were received, first and last, Unix ms. */
interface Spell {
  sinceMs: number;
  lastMs: number;
}

/** Time without such a row after which the next one begins a new spell, ms. */
const SPELL_PAUSE_MS = 300_000;
/**
 * Maximum number of spells of all projects together: names in rejected rows are stored nowhere
 * else.
 */
const NOTED_MAX = 50_000;

/** Spells of clock faults by VM, each with its start and its newest row. */
export class ClockNotes {
  /** By kind and VM; a project's least recently updated first. */
  readonly #spells = new ProjectShares<Spell>(NOTED_MAX);

  record(fault: ClockFault, project: string, vm: string, nowMs: number): void {
    const key = keyOf(fault, vm);
    const known = this.#spells.get(project, key);
    const goesOn = known !== undefined && nowMs - known.lastMs <= SPELL_PAUSE_MS;
    const sinceMs = goesOn ? known.sinceMs : nowMs;
    this.#spells.put(project, key, { sinceMs, lastMs: nowMs });
  }

  /** VMs from which rows from the future were received since `sinceMs`, Unix ms; newest first. */
  *ahead(sinceMs: number): Generator<VmRef> {
    const found: { readonly ref: VmRef; readonly lastMs: number }[] = [];
    for (const [project, spells] of this.#spells.shares()) {
      for (const [key, { lastMs }] of [...spells].reverse()) {
        if (lastMs < sinceMs) break;
        const [fault, ...name] = key.split(' ');
        if (fault === 'CLOCK_AHEAD') found.push({ ref: { project, vm: name.join(' ') }, lastMs });
      }
    }
    for (const { ref } of found.sort((a, b) => b.lastMs - a.lastMs)) yield ref;
  }

  /** Faults of the VM's latest spells that touch the time range, both ends inclusive, Unix ms. */
  within(project: string, vm: string, fromMs: number, toMs: number): ClockFault[] {
    return FAULTS.filter((fault) => {
      const spell = this.#spells.get(project, keyOf(fault, vm));
      return spell !== undefined && spell.sinceMs <= toMs && spell.lastMs >= fromMs;
    });
  }
}

const FAULTS: readonly ClockFault[] = ['CLOCK_BACKWARDS', 'CLOCK_AHEAD'];

function keyOf(fault: ClockFault, vm: string): string {
  return `${fault} ${vm}`;
}
