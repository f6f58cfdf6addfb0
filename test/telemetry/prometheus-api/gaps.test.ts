/**
 * Gaps in PromQL: a value that replaces a missing one for longer than the tolerance causes one of
 * the answer's `warnings`, whatever the expression does with it.
 */
import { type Test, test } from 'tap';
import type { QueryOperation } from '../../../src/telemetry/query/promql/query-request.ts';
import { START } from '../../support/history-from-log.ts';
import { envelopeOf, openQueries } from '../../support/queries-on-history.ts';

const SECOND = 1_000;
const LAST = 300;

/** A counter and a gauge every 30 s for five minutes, then silence, then more from 540 s on. */
function start(t: Test) {
  const world = openQueries({ folder: t.testdir(), isInline: true });
  t.teardown(() => world.close());
  const seconds = [...Array(11).keys()].map((i) => i * 30).concat([540, 570, 600]);
  for (const at of seconds) {
    world.append({ at: at * SECOND, values: { svc_vm_load1: at, disk_bytes_total: at * 10 } });
  }
  const ask = async (operation: QueryOperation, lookbackMs?: number) => {
    const options = lookbackMs === undefined ? {} : { lookbackMs };
    const { data, warnings = [], ...rest } = envelopeOf(await world.run(operation, options));
    if (rest.status !== 'success') throw new Error(rest.error);
    const { result } = data as { result: { value?: unknown; values?: unknown[] }[] };
    const [first] = result;
    return { found: first === undefined ? 0 : (first.values?.length ?? 1), warnings };
  };
  return {
    instant: (expression: string, at: number, lookbackMs?: number) =>
      ask({ kind: 'instant', expression, timeMs: START + at * SECOND }, lookbackMs),
    range: (expression: string, [from, to]: readonly [number, number], lookbackMs?: number) =>
      ask(
        {
          kind: 'range',
          expression,
          stepMs: 30 * SECOND,
          startMs: START + from * SECOND,
          endMs: START + to * SECOND,
        },
        lookbackMs,
      ),
  };
}

const BRIDGED = /^PromQL warning: a value older than 90 s stands for a missing one in 1 series, /;

test('MEAS-13: an instant query warns that it bridged a gap, and a fresh one does not', async (t) => {
  const { instant } = start(t);
  t.same(await instant('svc_vm_load1', LAST + 90), { found: 1, warnings: [] });
  const bridged = await instant('svc_vm_load1', LAST + 91);
  t.equal(bridged.found, 1);
  t.match(bridged.warnings, [BRIDGED]);
  t.match(bridged.warnings, [/up to 91 s old.*lookback_delta/]);
  t.same(await instant('svc_vm_load1', LAST + 91, 90 * SECOND), { found: 0, warnings: [] });
  t.same(
    await instant('svc_vm_load1', -1),
    { found: 0, warnings: [] },
    'no value, nothing bridged',
  );
});

test('MEAS-13: a range query warns, unless the look-back shows the gap', async (t) => {
  const { range } = start(t);
  t.same(await range('svc_vm_load1', [0, LAST]), { found: 11, warnings: [] });
  const bridged = await range('svc_vm_load1', [0, 600]);
  t.match(bridged, { found: 21, warnings: [/up to 210 s old/] });
  const displayed = await range('svc_vm_load1', [0, 600], 90 * SECOND);
  t.same(displayed, { found: 16, warnings: [] });
});

test('MEAS-13: a bridged gap causes a warning in every kind of expression', async (t) => {
  const { instant } = start(t);
  const at = LAST + 120;
  for (const expression of [
    'sum(svc_vm_load1)',
    'svc_vm_load1 > 1',
    'count(svc_vm_load1)',
    '-svc_vm_load1',
    'svc_vm_load1 offset 10s',
    `svc_vm_load1 @ ${(START + at * SECOND) / 1000}`,
    'max_over_time(svc_vm_load1[5m:30s])',
    'svc_vm_load1 + svc_vm_load1',
    'abs(svc_vm_load1)',
    'svc_vm_running',
    'svc_vm_vcpus',
    'absent(svc_vm_load1)',
  ]) {
    t.match((await instant(expression, at)).warnings, [BRIDGED], expression);
  }
  for (const expression of [
    // Windows that the reader requested, and times that are true at any age.
    'avg_over_time(svc_vm_load1[5m])',
    'last_over_time(svc_vm_load1[5m])',
    'timestamp(svc_vm_load1)',
    'time() - svc_vm_last_observation_timestamp_seconds',
    '1',
  ]) {
    t.same((await instant(expression, at)).warnings, [], expression);
  }
});

test('MEAS-13: a rate across a gap warns', async (t) => {
  const { instant, range } = start(t);
  for (const name of ['rate', 'increase', 'irate', 'delta', 'idelta']) {
    const over = `${name}(disk_bytes_total[5m])`;
    t.match((await instant(over, 540)).warnings, [/across more than 90 s without samples/], name);
    t.same((await instant(over, LAST)).warnings, [], `${name} before it`);
  }
  t.same((await instant('rate(disk_bytes_total[2m])', 600)).warnings, [], 'a window after it');
  t.match((await range('rate(disk_bytes_total[5m])', [0, 600])).warnings, { length: 1 });
  t.same((await instant('resets(disk_bytes_total[10m])', 600)).warnings, []);
});
