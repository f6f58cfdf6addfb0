/**
 * Keeps docs/evaluation.md true: plays its example, line by line, with a tick every 15 s, and
 * compares its numbers with those of the program.
 */
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { TICK_MS } from '../../actors/telemetry/ticker.ts';
import { BOOT_GRACE_MS } from '../../streams/alerting/evaluation/timeline.ts';
import {
  FUTURE_MS,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  RETENTION_MS,
} from '../../streams/telemetry/entry.ts';
import { cpuRule, EvaluationWorld } from '../support/evaluation-scenario.ts';

const page = readFileSync(new URL('../../docs/evaluation.md', import.meta.url), 'utf8');

interface Line {
  readonly arrives: number;
  /** Absent: a tick. */
  readonly reading: { readonly at: number; readonly cpu: number } | undefined;
  readonly state: string;
  readonly decision: string;
}

function secondsOf(text: string): number {
  const [minutes, seconds] = text.split(':').map(Number);
  return (minutes ?? Number.NaN) * 60 + (seconds ?? Number.NaN);
}

function lineOf(row: string): Line {
  const [, time = '', reading = '', state = '', decision = ''] = row
    .split(' | ')
    .flatMap((cell, i) => (i === 0 ? ['', cell.slice(2)] : [cell.replace(/ \|$/, '')]));
  const arrives = secondsOf(time);
  const [, cpu, at] = /^(\d+) %(?: of (\d+:\d+))?$/.exec(reading) ?? [];
  if (cpu === undefined && reading !== 'tick') throw new Error(`Not a reading: ${row}`);
  const observed = at === undefined ? arrives : secondsOf(at);
  return {
    arrives,
    reading: cpu === undefined ? undefined : { at: observed, cpu: Number(cpu) },
    state,
    decision,
  };
}

const EVENTS: Readonly<Record<string, string>> = {
  Fired: 'fired',
  Corrected: 'corrected',
  'Data missing': 'dataMissing',
  'Data observed': 'dataObserved',
  Recovered: 'recovered',
};

function eventsOf({ decision }: Line): (string | undefined)[] {
  return [...decision.matchAll(/\*\*([^*]+)\*\*/g)].map(([, name = '']) => EVENTS[name]);
}

test('EVAL-01, EVAL-02, EVAL-03, EVAL-05: the example on the page behaves as written', async (t) => {
  const lines = page
    .split('\n')
    .filter((row) => /^\| \d+:\d\d \|/.test(row))
    .map(lineOf);
  t.ok(lines.length > 10);
  const rule = { sustainedMs: 180_000, recoveryThreshold: 80, recoveryMs: 60_000 };
  const world = new EvaluationWorld([cpuRule(rule)]);
  let tick = 0;
  for (const line of lines) {
    const quiet: string[] = [];
    for (; tick < line.arrives; tick += TICK_MS / 1000) quiet.push(...world.tick(tick));
    const at = `at ${line.arrives} s`;
    t.same(quiet, [], `nothing happens between the lines, before ${line.arrives} s`);
    const edges = line.reading ? world.rows([line.reading], line.arrives) : world.tick(tick);
    t.same(
      edges.map((edge) => edge.split(' ')[0]),
      eventsOf(line),
      at,
    );
    const { state, dataState } = world.instance();
    const missing = dataState === 'MISSING' ? ', data missing' : '';
    t.equal(`${state.toLowerCase()}${missing}`, line.state, at);
  }
});

test('the page states the program’s numbers', async (t) => {
  const numbers: readonly (readonly [string, number, number])[] = [
    ['up to **90 s**', GAP_TOLERANCE_MS, 90_000],
    ['every 15 s', TICK_MS, 15_000],
    ['behind the watermark by up to 5 minutes', LATENESS_MS, 300_000],
    ['more than 7 days ago', RETENTION_MS, 7 * 86_400_000],
    ['more than 60 s ahead', FUTURE_MS, 60_000],
    ['For 120 s after a stopped VM runs again', BOOT_GRACE_MS, 120_000],
  ];
  for (const [text, actual, expected] of numbers) {
    t.ok(page.includes(text), text);
    t.equal(actual, expected, text);
  }
});
