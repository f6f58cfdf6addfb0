/**
 * Case 18: an evaluator that stops at any position of the log, is rebuilt and continues makes the
 * same decisions as one that never stopped. It is rebuilt from the log's start, or from a floor one
 * longest window back, with only the open incidents of the rows. Decisions are kept the way the
 * actor keeps them: rows record that an edge was decided.
 *
 * From a floor, equality has limits, and these worlds stay within them: samples are at most 95 s
 * late and arrive one by one; the floor separates no sample from an older one; no firing that began
 * below it waits for fresh data or is found to continue. Beyond them, a late sample from minutes
 * ago may be reported twice or not at all, as an incident of the past; a firing that lasts is
 * always found again.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { inspect } from '../../streams/alerting/evaluation/inspect.ts';
import { endReplay, openIncident } from '../../streams/alerting/evaluation/instance.ts';
import { FLOOR_MARGIN_MS } from '../../streams/alerting/evaluation/notification-diff.ts';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
import { type Arrivals, arrivals } from '../support/evaluation-arrivals.ts';
import { agree, Decisions, decideAll, type Made } from '../support/evaluation-decisions.ts';
import { fold } from '../support/evaluation-fold.ts';
import { PROJECT, START_MS } from '../support/evaluation-scenario.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_121, numRuns: tries(300) };

/** True if a firing from before `floorMs` continues because a recovery was disproved. */
function goesOn(expected: readonly Made[], floorMs: number): boolean {
  return expected.some(({ edge }) => edge.kind === 'fired' && edge.startedMs <= floorMs);
}

test('EVAL-18: an evaluator rebuilt from the log’s start decides like one that never stopped', async () => {
  const property = fc.property(arrivals(), ({ rule, log }) => {
    const never = new Decisions();
    const seed = { rules: [rule], firing: [] };
    const state = createState(seed);
    decideAll(state, log, never);
    return log.every((_, stop) => {
      const decisions = new Decisions();
      decideAll(createState(seed), log.slice(0, stop), decisions);
      const rebuilt = createState(seed);
      decideAll(rebuilt, log, decisions);
      const same =
        JSON.stringify(inspect(rebuilt, PROJECT)) === JSON.stringify(inspect(state, PROJECT));
      return same && agree(decisions.made, never.made);
    });
  });
  fc.assert(property, { ...OPTIONS, numRuns: tries(150) });
});

function receivedMs(entry: LogEntry): number {
  return entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
}

/** Distance of a floor: the longest run or recovery, plus everything that can still move it. */
function windowMs({ sustainedMs, recoveryMs }: EvaluationRule): number {
  return Math.max(sustainedMs, recoveryMs) + FLOOR_MARGIN_MS;
}

/**
 * The nearest floor at or before `at` whose preceding observations are all older than the following
 * ones. A sample that is older than the floor but arrives after it may repeat one that is known
 * only from the log below the floor.
 */
function cleanCut({ rows }: Arrivals, at: number): number {
  const isClean = (floor: number): boolean => {
    const newest = Math.max(...rows.slice(0, floor).flatMap((batch) => batch.map((row) => row.at)));
    return rows.slice(floor).every((batch) => batch.every((row) => row.at > newest));
  };
  let floor = at;
  while (floor > 0 && !isClean(floor)) floor--;
  return floor;
}

/** Newest observation before entry `stop`, Unix ms: a floor is counted from there and from now. */
function newestMs({ rows }: Arrivals, stop: number): number {
  const times = rows.slice(0, stop).flatMap((batch) => batch.map(({ at }) => at));
  return START_MS + Math.max(...times) * 1000;
}

/**
 * Start of a firing that waits for fresh data, which the log knows but rows do not. Infinity if
 * none waits.
 */
function waitsSinceMs(state: EvaluationState): number {
  const [vm] = state.projects.get(PROJECT)?.vms.values() ?? [];
  const [buffer] = vm?.buffers.values() ?? [];
  const waiting = buffer?.instances.find((one) => one.current.firing && !openIncident(one));
  return waiting?.current.startedMs ?? Number.POSITIVE_INFINITY;
}

test('EVAL-18: an evaluator rebuilt from a floor and rows continues unchanged', async (t) => {
  let compared = 0;
  const property = fc.property(
    arrivals({ observations: 60, delayMax: 95, againMax: 100, batchMax: 0 }),
    (world: Arrivals) => {
      const { rule, log } = world;
      const never = new Decisions();
      const state = createState({ rules: [rule], firing: [] });
      const waiting: number[] = [];
      const atStop: { readonly rows: Decisions; readonly made: number }[] = [];
      for (const entry of log) {
        atStop.push({ rows: new Decisions(never), made: never.made.length });
        waiting.push(waitsSinceMs(state));
        never.decide(fold(state, entry).edges);
      }
      return log.every((entry, stop) => {
        const floorMs = Math.min(receivedMs(entry), newestMs(world, stop)) - windowMs(rule);
        const floor = cleanCut(
          world,
          log.findIndex((candidate) => receivedMs(candidate) >= floorMs),
        );
        const cutMs = receivedMs(log[floor - 1] ?? entry);
        if (floor === 0 || (waiting[stop] ?? 0) <= cutMs + 480_000) return true;
        const expected = never.made.slice(atStop[stop]?.made);
        if (goesOn(expected, cutMs)) return true;
        compared++;
        const { rows = never } = atStop[stop] ?? {};
        const rebuilt = createState({
          rules: [rule],
          firing: rows.incidents(),
        });
        const decisions = new Decisions(rows);
        decideAll(rebuilt, log.slice(floor, stop), decisions);
        if (decisions.made.length > 0) return false;
        for (const { vms } of rebuilt.projects.values()) {
          for (const { buffers } of vms.values()) endReplay(buffers.values());
        }
        decideAll(rebuilt, log.slice(stop), decisions);
        return agree(decisions.made, expected);
      });
    },
  );
  fc.assert(property, OPTIONS);
  t.ok(compared > occurrences(10_000), `${compared} restarts from a floor`);
});
