/**
 * Evaluations of upstream scripts that do not apply to this engine, each with its reason. All
 * others must pass.
 */
import type { Eval } from './script/script.ts';

interface NotApplicable {
  /** Suffix of the script's path. */
  readonly file: string;
  /** Expression of the evaluation; absent = all of them. */
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

/** Reason why an evaluation is not run, or null. */
export function exemptionOf(path: string, { expression }: Eval): string | null {
  const found = notApplicable.find(
    (entry) =>
      path.endsWith(`/${entry.file}`) &&
      (entry.expression === undefined || entry.expression === expression),
  );
  return found?.reason ?? null;
}
