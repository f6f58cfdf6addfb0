/**
 * Samples in any order: hours and days late, repeated, contradicting each other, with intermittent
 * series, over flushes, merging, dropping and crashes at any point. Reads are compared with plain
 * maps of the first stored values, which no background work may change.
 */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'tap';
import type { VmRows } from '../../../sqlite/telemetry/history/rows.ts';
import { RETENTION_MS } from '../../../streams/telemetry/entry.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';
import { HOUR, START } from '../../support/history-from-log.ts';
import { ThreadlessHistory } from '../../support/threadless-history.ts';
import { tries } from '../../support/tries.ts';

const RUNS = tries(100, 25);
const VMS = ['a', 'b', 'c'] as const;
/** Observations are on a grid, so that many rows of a log have the same time. */
const GRID_MS = 1.5 * HOUR;
const SERIES_MAX = 6;

interface ArrivingRow {
  readonly vm: (typeof VMS)[number];
  /** Lateness in steps of the grid. The largest is exactly at the limit of retention. */
  readonly late: number;
  readonly boot: string;
  readonly vcpus: number;
  readonly state: number;
  readonly values: readonly (readonly [series: number, value: number])[];
}

const row: fc.Arbitrary<ArrivingRow> = fc.record({
  vm: fc.constantFrom(...VMS),
  late: fc.oneof(fc.nat(8), fc.nat(40), fc.nat(RETENTION_MS / GRID_MS)),
  boot: fc.constantFrom('', 'boot-1', 'boot-2'),
  vcpus: fc.constantFrom(Number.NaN, 2, 4),
  state: fc.nat(2),
  values: fc.uniqueArray(fc.tuple(fc.nat(SERIES_MAX), fc.constantFrom(0, 1, 2.5)), {
    selector: ([series]) => series,
    maxLength: 4,
  }),
});

const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ rows: fc.array(row, { minLength: 1, maxLength: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ again: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({ flush: fc.constantFrom(undefined, ...VMS), floors: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.constant({ upkeep: true }) },
  { weight: 2, arbitrary: fc.constant({ crash: true }) },
  { weight: 2, arbitrary: fc.record({ passMs: fc.nat(40).map((n) => n * HOUR) }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface KeptRow {
  readonly values: Map<string, number>;
  vcpus: number;
  state: number;
  boot: string;
  conflicted: boolean;
}

/** First stored values, by VM and time. */
class Oracle {
  readonly #vms = new Map<string, Map<number, KeptRow>>();

  take(vm: string, timeMs: number, given: Omit<KeptRow, 'conflicted'>): void {
    const times = this.#vms.get(vm) ?? new Map<number, KeptRow>();
    this.#vms.set(vm, times);
    const kept = times.get(timeMs);
    if (kept === undefined) {
      times.set(timeMs, { ...given, conflicted: false });
      return;
    }
    const first = <T>(was: T, is: T, none: T): T => {
      if (!Object.is(was, none) && !Object.is(is, none) && !Object.is(was, is)) {
        kept.conflicted = true;
      }
      return Object.is(was, none) ? is : was;
    };
    kept.vcpus = first(kept.vcpus, given.vcpus, Number.NaN);
    kept.state = first(kept.state, given.state, 0);
    kept.boot = first(kept.boot, given.boot, '');
    for (const [key, value] of given.values) {
      kept.values.set(key, first(kept.values.get(key) ?? Number.NaN, value, Number.NaN));
    }
  }

  read(vm: string, nowMs: number): unknown[] {
    const rows = [...(this.#vms.get(vm) ?? [])].filter(
      ([timeMs]) => timeMs >= nowMs - RETENTION_MS,
    );
    return rows
      .sort(([a], [b]) => a - b)
      .map(([timeMs, { values, ...rest }]) => ({ timeMs, ...rest, values: sorted(values) }));
  }
}

function sorted(values: Iterable<readonly [string, number]>): Record<string, number> {
  return Object.fromEntries([...values].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function plain(rows: VmRows): unknown[] {
  return Array.from(rows.timesMs, (timeMs, i) => ({
    timeMs,
    vcpus: rows.vcpus[i],
    state: rows.state[i],
    boot: rows.strings[rows.boot[i] ?? -1],
    conflicted: rows.conflicted[i] === 1,
    values: sorted(
      [...rows.series].flatMap(([key, column]) => {
        const value = column[i] ?? Number.NaN;
        return Number.isNaN(value) ? [] : [[key, value] as const];
      }),
    ),
  }));
}

/** A history and its oracle, which run through the steps. */
class World {
  readonly history: ThreadlessHistory;
  readonly #oracle = new Oracle();
  readonly #arrived: { readonly rows: readonly ArrivingRow[]; readonly atMs: number }[] = [];
  #nowMs = START;
  /** Number of conflicting rows in all reads. */
  conflicts = 0;

  constructor(folder: string) {
    this.history = new ThreadlessHistory(folder);
  }

  play(one: Step): void {
    if ('rows' in one) this.#arrive(one.rows, this.#nowMs);
    else if ('again' in one) this.#again(one.again);
    else if ('flush' in one) {
      const { flush: vm, floors: movesFloors } = one;
      this.history.flush({ ...(vm !== undefined && { vm }), movesFloors });
    } else if ('upkeep' in one) this.history.upkeep(this.#nowMs);
    else if ('passMs' in one) this.#nowMs += one.passMs;
    else this.history.crash();
  }

  /** Difference from the oracle; undefined = none. */
  fault(): string | undefined {
    for (const vm of VMS) {
      const rows = this.history.read(vm, this.#nowMs);
      this.conflicts += rows.conflicts;
      const found = JSON.stringify(plain(rows));
      const wanted = JSON.stringify(this.#oracle.read(vm, this.#nowMs));
      if (found !== wanted) return `${vm}:\n  read   ${found}\n  wanted ${wanted}`;
    }
    return undefined;
  }

  /** An earlier batch arrives again, as after a lost answer. */
  #again(which: number): void {
    const before = this.#arrived[which % Math.max(1, this.#arrived.length)];
    // Ingest refuses rows that are now older than retention.
    if (before !== undefined && this.#nowMs === before.atMs) this.#arrive(before.rows, before.atMs);
  }

  #arrive(rows: readonly ArrivingRow[], atMs: number): void {
    this.#arrived.push({ rows, atMs });
    const builder = new BatchBuilder();
    for (const { vm, late, boot, vcpus, state, values } of rows) {
      const observedMs = Math.max(
        Math.floor(atMs / GRID_MS - late) * GRID_MS,
        // Exactly at the limit, where a row is still accepted.
        atMs - RETENTION_MS,
      );
      // Devices are named after the day, so that names expire with retention.
      const day = Math.floor(observedMs / (24 * HOUR));
      const named = values.map(([series, value]) => {
        return [series < 3 ? `s${series}` : `rx{interface="veth${day}-${series}"}`, value] as const;
      });
      builder.add({
        project: 'demo',
        vm,
        observedMs,
        sequence: 0,
        boot,
        vcpus,
        state,
        stateReason: '',
        series: named.map(([key]) => key),
        values: named.map(([, value]) => value),
      });
      this.#oracle.take(vm, observedMs, { values: new Map(named), vcpus, state, boot });
    }
    this.history.append(builder.build(atMs));
  }
}

test('the first stored row is read, whatever the order of arrival', async (t) => {
  const folder = t.testdir();
  const counts = { compactedDays: 0, droppedChunks: 0, conflicts: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 80 }), async (steps) => {
      const world = new World(mkdtempSync(join(folder, 'run-')));
      try {
        for (const [i, one] of steps.entries()) {
          world.play(one);
          const fault = world.fault();
          if (fault !== undefined) throw new Error(`After step ${i}: ${fault}`);
        }
      } finally {
        world.history.close();
        counts.compactedDays += world.history.upkeepCounts.compactedDays;
        counts.droppedChunks += world.history.upkeepCounts.droppedChunks;
        counts.conflicts += world.conflicts;
      }
    }),
    { numRuns: RUNS },
  );
  t.ok(Math.min(...Object.values(counts)) >= RUNS / 2, `on the way: ${JSON.stringify(counts)}`);
});
