/**
 * One random query: an expression and its times. It depends only on the seed. Its data is that of
 * the seed's hundred, because each set of data needs its own Prometheus.
 */
import { DATA_MS, DATA_START_MS, type FuzzSeries, generateData } from './data.ts';
import { Dice } from './dice.ts';
import { generateExpression } from './expression.ts';
import { mutate } from './mutation.ts';
import type { Piece } from './piece.ts';

const SEEDS_PER_DATA_SET = 100;

export type FuzzTimes =
  | { readonly kind: 'instant'; readonly timeMs: number }
  | {
      readonly kind: 'range';
      readonly startMs: number;
      readonly endMs: number;
      readonly stepMs: number;
    };

export interface FuzzQuery {
  readonly seed: number;
  readonly piece: Piece;
  /** The expression is evaluated at each of them. */
  readonly times: readonly FuzzTimes[];
  /** Lookback, ms; null = the default. */
  readonly lookbackMs: number | null;
}

export function dataSetOf(seed: number): number {
  return Math.floor(seed / SEEDS_PER_DATA_SET);
}

export function dataOf(dataSet: number): FuzzSeries[] {
  return generateData(new Dice(1_000_000_007 + dataSet));
}

export function queryOf(seed: number): FuzzQuery {
  const dice = new Dice(seed);
  const piece = generateExpression(dice);
  const instant = { kind: 'instant', timeMs: someTime(dice) } as const;
  const stepMs = dice.pick([15_000, 30_000, 60_000, 60_000, 300_000, 7_000, 13_337]);
  const startMs = someTime(dice);
  const endMs = startMs + dice.between(0, 40) * stepMs + dice.pick([0, 0, 1, 6_999]);
  const times = [instant, { kind: 'range', startMs, endMs, stepMs } as const];
  const lookbackMs = dice.chance(0.1) ? dice.pick([1000, 30_000, 90_000, 900_000]) : null;
  const isDamaged = dice.chance(0.1);
  return { seed, piece: isDamaged ? mutate(piece, dice) : piece, times, lookbackMs };
}

/** Mostly within the data, sometimes before or after it, rarely exactly on a sample. */
function someTime(dice: Dice): number {
  const atMs = dice.between(-60_000, DATA_MS + 6 * 60_000);
  return DATA_START_MS + (dice.chance(0.5) ? atMs : Math.round(atMs / 15_000) * 15_000);
}
