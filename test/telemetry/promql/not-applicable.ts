/**
 * Evaluations of other people's scripts that do not apply to this engine, each with its reason.
 * What is not listed here must pass.
 */
import type { Eval } from './script/script.ts';

interface NotApplicable {
  /** Path of the script as it ends. */
  readonly file: string;
  /** Which of its evaluations; absent = all. */
  readonly expression?: string;
  readonly reason: string;
}

const notApplicable: readonly NotApplicable[] = [
  {
    file: 'optional/duration_expression.test',
    reason:
      'arithmetic in durations is behind a feature flag (promql-duration-expr) in Prometheus 3',
  },
];

/** The reason why an evaluation is not run, or null. */
export function exemptionOf(path: string, { expression }: Eval): string | null {
  const found = notApplicable.find(
    (entry) =>
      path.endsWith(`/${entry.file}`) &&
      (entry.expression === undefined || entry.expression === expression),
  );
  return found?.reason ?? null;
}
