/**
 * Catch-up of a new rule over a log that was cut: history has the readings before the log's first
 * entry. A rule then has the same instances, and reports the same, as over the whole log.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { pastReadings } from '../../actors/alerting/evaluator/past-readings.ts';
import {
  partitionSubject,
  pastEntries,
  SAMPLES_STREAM,
} from '../../actors/telemetry/sample-log.ts';
import { beginCatchUp, pastFromMs } from '../../streams/alerting/evaluation/catch-up.ts';
import { inspect } from '../../streams/alerting/evaluation/inspect.ts';
import {
  changesOf,
  createState,
  edgesOf,
  timeOf,
} from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import { allAtOnce, TimeSlices } from '../../streams/platform/operators.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import {
  type Edge,
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type LogEntry,
  type RulesEntry,
} from '../../streams/telemetry/entry.ts';
import { openAlertingWorld } from '../support/alerting-on-host.ts';
import { type CutLog, LOG_PARTITION, openCutLog } from '../support/cut-log.ts';
import { arrivals } from '../support/evaluation-arrivals.ts';
import { batchOf, cpuRule, PROJECT, START_MS, seconds } from '../support/evaluation-scenario.ts';
import { openStore } from '../support/history-from-log.ts';
import { tries } from '../support/tries.ts';

const VMS = ['vm-1', 'vm-2', 'vm-3'];

function markerOf(atMs: number, ...upserts: readonly EvaluationRule[]): RulesEntry {
  return { kind: 'rules', atMs, upserts, removals: [] };
}

/** The past of a marker after the log's last entry. */
function pastOf(
  { stream, history, clock }: CutLog,
  marker: RulesEntry,
  more: Partial<Parameters<typeof pastReadings>[0]> = {},
): AsyncGenerator<LogEntry> {
  const placed = { sequence: 1e9, partition: LOG_PARTITION, storedMs: marker.atMs, entry: marker };
  const deps = { stream, history, vms: () => VMS, ...more };
  return pastReadings(deps, placed, new TimeSlices(clock));
}

/** Rows as `vm second`, in the order in which a rule gets them. */
async function rowsOf(past: AsyncGenerator<LogEntry>): Promise<string[]> {
  const rows: string[] = [];
  for await (const entry of past) {
    if (entry.kind !== 'batch') continue;
    const { batch } = entry;
    for (let i = 0; i < batch.count; i++) {
      const at = ((batch.observedMs[i] ?? 0) - START_MS) / 1000;
      rows.push(`${batch.vms[batch.vm[i] ?? 0]?.vm} ${at}`);
    }
  }
  return rows;
}

/** Both VMs report every 30 s for an hour; VM 2's rows arrive 100 s late. */
function anHour(): LogEntry[] {
  return seconds(0, 3600).map((at) => ({
    kind: 'batch',
    batch: batchOf(at, [
      { at, cpu: 95, vm: 'vm-1' },
      ...(at >= 100 ? [{ at: at - 100, cpu: 95, vm: 'vm-2' }] : []),
    ]),
  }));
}

let folders = 0;

async function logCutAt(t: Test, entries: readonly LogEntry[], index: number): Promise<CutLog> {
  const folder = join(t.testdirName, `${++folders}`);
  mkdirSync(folder, { recursive: true });
  const log = await openCutLog(folder, entries);
  t.teardown(() => log.close());
  await log.cut(index);
  return log;
}

test('a rule gets readings older than the log from history, each once, in order per VM', async (t) => {
  t.testdir({});
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const whole = await rowsOf(pastOf(await logCutAt(t, anHour(), 0), marker));
  const cut = await rowsOf(pastOf(await logCutAt(t, anHour(), 100), marker));
  t.equal(new Set(cut).size, cut.length, 'none twice');
  for (const vm of VMS) {
    const from = (pastFromMs(marker, marker.atMs) - START_MS) / 1000;
    const own = (rows: readonly string[]) =>
      rows.flatMap((row) => (row.startsWith(`${vm} `) ? [Number(row.slice(5))] : []));
    t.same(
      own(cut),
      own(whole).filter((at) => at >= from),
      vm,
    );
  }
});

test('a short window reads only the log', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const read = () => t.fail('history is not read');
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 60_000 }));
  const rows = await rowsOf(pastOf(log, marker, { history: { read: read as never } }));
  t.equal(rows.at(0), 'vm-1 3150');
});

test('a rule on a metric of another version reads nothing from history and affects no other rule', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const known = cpuRule({ sustainedMs: 3_000_000 });
  const unknown = cpuRule({ rule: 'newer', metricId: 'something_new', sustainedMs: 3_000_000 });
  const rows = await rowsOf(pastOf(log, markerOf(START_MS + 3_600_000, known, unknown)));
  t.same(rows, await rowsOf(pastOf(log, markerOf(START_MS + 3_600_000, known))));
});

test('a resumed rule reads nothing from before its resume', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const read = () => t.fail('history is not read');
  const fromMs = START_MS + 3_540_000;
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000, fromMs }));
  await rowsOf(pastOf(log, marker, { history: { read: read as never } }));
});

test('a rule for selected VMs reads only their history', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const asked: string[] = [];
  const history = {
    read(request: Parameters<typeof log.history.read>[0]) {
      asked.push(request.vm);
      return log.history.read(request);
    },
  };
  const rule = cpuRule({ sustainedMs: 3_000_000, vms: ['vm-2', 'vm-9'] });
  await rowsOf(pastOf(log, markerOf(START_MS + 3_600_000, rule), { history }));
  t.same(asked, ['vm-2']);
});

test('without history, a rule uses the log alone', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const rows = await rowsOf(pastOf(log, marker, { history: {} }));
  t.same(rows.slice(0, 2), ['vm-1 3000', 'vm-2 2900']);
});

test('a VM whose history cannot be read is reported once, and the others are read', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 100);
  const faults: string[] = [];
  const history = {
    read: async (request: Parameters<typeof log.history.read>[0]) => {
      if (request.vm !== 'vm-2') throw new Error('damaged');
      return log.history.read(request);
    },
  };
  const onFault = (what: string) => void faults.push(what);
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const rows = await rowsOf(pastOf(log, marker, { history, onFault }));
  t.same(faults, ['a new rule over the past of 2 VMs, as vm-1 in demo,']);
  t.equal(rows[0], 'vm-2 230');
  t.equal(
    rows.find((row) => row.startsWith('vm-1')),
    'vm-1 3000',
    'the log has the rest',
  );
  await t.rejects(rowsOf(pastOf(log, marker, { history })), /damaged/);
});

test('truncating the log during the catch-up loses no reading', async (t) => {
  t.testdir({});
  const log = await logCutAt(t, anHour(), 60);
  let reads = 0;
  const history = {
    async read(request: Parameters<typeof log.history.read>[0]) {
      if (++reads === 2) await log.cut(100);
      return log.history.read(request);
    },
  };
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const rows = await rowsOf(pastOf(log, marker, { history }));
  t.same(
    rows.filter((row) => row.startsWith('vm-1')),
    seconds(210, 3600).map((at) => `vm-1 ${at}`),
  );
  t.equal(new Set(rows).size, rows.length, 'none twice');
});

test('EVAL-05: a new rule counts a stored reading that was too late for earlier rules', async (t) => {
  t.testdir({});
  // One good reading in the middle of the breach arrives ten minutes late.
  const breach = anHour().filter((_, i) => i !== 40);
  const late: LogEntry = { kind: 'batch', batch: batchOf(1800, [{ at: 1200, cpu: 10 }]) };
  const entries = [...breach.slice(0, 60), late, ...breach.slice(60)];
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const instanceOver = async (index: number) => {
    const state = createState({ rules: [], firing: [] });
    await catchUp(state, marker, pastOf(await logCutAt(t, entries, index), marker));
    return inspect(state, PROJECT).find(({ vm }) => vm === 'vm-1');
  };
  t.match(await instanceOver(0), { state: 'FIRING' }, 'in the log it arrived too late');
  const sinceMs = START_MS + 1_230_000;
  t.match(await instanceOver(100), { state: 'SUSTAINING', sinceMs }, 'history knows it in time');
});

test('a late reading of a VM known only to history does not count as a clock set back', async (t) => {
  t.testdir({});
  const entries = anHour().map((entry, i): LogEntry => {
    const at = i * 30;
    return at <= 1200 ? entry : { kind: 'batch', batch: batchOf(at, [{ at, cpu: 1, vm: 'vm-3' }]) };
  });
  const marker = markerOf(START_MS + 3_600_000, cpuRule({ sustainedMs: 3_000_000 }));
  const state = createState({ rules: [], firing: [] });
  await catchUp(state, marker, pastOf(await logCutAt(t, entries, 100), marker));
  edges(state, { kind: 'batch', batch: batchOf(3630, [{ at: 615, cpu: 95 }]) });
  t.match(state.counters, { clockBackwards: 0, tooLate: 1 });
});

test('a rule with a longer window than the log fires at once, dated from its first breaching reading', async (t) => {
  const world = await openAlertingWorld(t);
  const startMs = world.clock.now();
  for (let minute = 0; minute < 90; minute++) {
    await world.cpu(95);
    await world.clock.advance(60_000);
  }
  const history = openStore({ folder: t.testdir({}), clock: world.clock });
  t.teardown(() => history.close());
  const partition = partitionOf(PROJECT);
  for await (const { entry, sequence } of pastEntries(world.stream, { sequence: 1 })) {
    if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
  }
  const subject = partitionSubject(partition);
  await world.stream.truncate({ stream: SAMPLES_STREAM, subject, belowSequence: 80 });
  await world.startEvaluator(undefined, { history });
  world.startRules();
  await world.saveRule({ sustainedSeconds: 3600 });
  await world.until('the rule fires', () => world.incidents().length > 0);
  // The window of the rule and the tolerance, and no earlier readings.
  const windowMs = 3_600_000 + GAP_TOLERANCE_MS;
  const since = (world.incidents()[0]?.startedMs ?? 0) - startMs;
  t.equal(since, Math.ceil((90 * 60_000 - windowMs) / 60_000) * 60_000);
});

/** Folds a marker over its past. */
async function catchUp(
  state: EvaluationState,
  marker: RulesEntry,
  past: AsyncIterable<LogEntry> | Iterable<LogEntry>,
): Promise<readonly Edge[]> {
  const { isNeeded, take, join } = beginCatchUp(state, marker);
  if (isNeeded) for await (const before of past) take(before);
  return edges(state, marker, allAtOnce(join()));
}

function edges(
  state: EvaluationState,
  entry: LogEntry,
  joined: Parameters<typeof changesOf>[2] = [],
): readonly Edge[] {
  return allAtOnce(edgesOf(state, entry, allAtOnce(changesOf(state, entry, joined))));
}

/** The log of three VMs, whose rows arrive within the lateness bound. */
const logs = fc
  .array(arrivals({ observations: 90, delayMax: 290, batchMax: 0, againMax: 100 }), {
    minLength: VMS.length,
    maxLength: VMS.length,
  })
  .map((each) =>
    each
      .flatMap(({ rows, log }, i) =>
        rows.flatMap((of, at): LogEntry[] => {
          const entry = log[at];
          if (entry?.kind !== 'batch') return entry && i === 0 ? [entry] : [];
          const receivedAt = (entry.batch.receivedMs - START_MS) / 1000;
          const vm = VMS[i] ?? '';
          return [
            {
              kind: 'batch',
              batch: batchOf(
                receivedAt,
                of.map((row) => ({ ...row, vm })),
              ),
            },
          ];
        }),
      )
      .toSorted((a, b) => timeOf(a) - timeOf(b)),
  );

test('EVAL-18: a rule added at any time has the same instances over a truncated log and history', async (t) => {
  t.testdir({});
  const world = fc.record({
    log: logs,
    sustainedMs: fc.constantFrom(0, 120_000, 600_000, 1_800_000),
    recoveryMs: fc.constantFrom(0, 60_000),
    threshold: fc.constantFrom(5, 5, 90),
    isWatched: fc.boolean(),
    added: fc.double({ min: 0.3, max: 1, noNaN: true }),
    cut: fc.double({ min: 0, max: 0.99, noNaN: true }),
  });
  let older = 0;
  await fc.assert(
    fc.asyncProperty(world, async ({ log, added, cut, isWatched, ...changes }) => {
      const at = Math.ceil(added * log.length);
      const before = log.slice(0, at);
      const marker = markerOf(
        timeOf(before.at(-1) as LogEntry),
        cpuRule({ ...changes, rule: 'new' }),
      );
      const fromMs = pastFromMs(marker, marker.atMs);
      const kept = await logCutAt(t, before, Math.floor(cut * at));
      const seen = async (past: AsyncIterable<LogEntry> | Iterable<LogEntry>) => {
        const state = createState({ rules: isWatched ? [cpuRule()] : [], firing: [] });
        for (const entry of before) edges(state, entry);
        const joined = await catchUp(state, marker, past);
        // A VM whose last reading is older than the window has an idle instance if the reading
        // arrived within it, which history does not know. Such an instance has no effect.
        const sinceMs = fromMs + LATENESS_MS;
        const instances = inspect(state, PROJECT)
          .filter(({ rule, lastObservedMs = 0 }) => rule !== 'new' || lastObservedMs >= sinceMs)
          .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
        const after = log.slice(at).flatMap((entry) => edges(state, entry));
        return {
          instances,
          joined: joined.toSorted((a, b) => (keyOf(a.key) < keyOf(b.key) ? -1 : 1)),
          after,
        };
      };
      const whole = await seen(before.filter((entry) => timeOf(entry) >= fromMs));
      const firstMs = timeOf(before[Math.floor(cut * at)] as LogEntry);
      older += whole.instances.filter(({ sinceMs = firstMs }) => sinceMs < firstMs).length;
      t.same(await seen(pastOf(kept, marker)), whole);
    }),
    { seed: 20_261_128, numRuns: tries(100) },
  );
  t.ok(older > 0, 'some runs begin before the log');
});

function keyOf({ vm, rule }: { readonly vm: string; readonly rule: string }): string {
  return `${vm} ${rule}`;
}
