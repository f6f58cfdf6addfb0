/** Evaluates random expressions with a real Prometheus and with our engine in a test. */
import type { Test } from 'tap';
import { componentPath } from '../../../support/components.ts';
import { fuzz } from './differential.ts';

/** Component that such a test needs. */
export const component = 'prometheus 3.5.3';

/**
 * Evaluates the first `count` expressions, always the same ones. Fails for each different answer.
 */
export async function askPrometheus(t: Test, count: number): Promise<void> {
  const report = await fuzz({
    program: componentPath(component),
    from: 0,
    seeds: count,
    isOver: () => false,
    onDisagreement: ({ seed, expression, differences }) =>
      t.fail(`seed ${seed}: ${expression}`, { differences }),
  });
  t.equal(report.expressions, count);
  t.same(report.disagreements, []);
  for (const [reason, times] of report.known) t.ok(times <= 5, `${times} times: ${reason}`);
  const { withSamples, empty, errors } = report;
  const counted = `${withSamples} with samples, ${empty} empty, ${errors} errors`;
  t.ok(withSamples > (count * 6) / 7, counted);
}
