/**
 * Where the engine follows a later Prometheus than 3.5.3, as the conformance scripts ask for, or
 * where the order of additions decides. A difference that one of these explains is no failure; it
 * is counted.
 */
import type { Answer } from '../answer.ts';

interface KnownDifference {
  readonly reason: string;
  /** Whether it can explain a difference between answers to the expression. */
  readonly explains: (expression: string, prometheus: Answer, ours: Answer) => boolean;
}

const knownDifferences: readonly KnownDifference[] = [
  {
    reason: 'histogram_fraction within the lowest bucket: NaN in 3.5, later interpolated',
    explains: (expression) => /histogram_fraction/.test(expression),
  },
];

export function knownReason(expression: string, prometheus: Answer, ours: Answer): string | null {
  const known = knownDifferences.find(({ explains }) => explains(expression, prometheus, ours));
  return known?.reason ?? null;
}
