/**
 * A VM falls silent while its project's owner is cut off: another member takes over and reports it.
 * The time is printed without a verdict; `docs/operations/cluster.md` promises 150 s.
 */
import t, { test } from 'tap';
import { needs } from '../../support/components.ts';
import { startScenario, untilSilenceNoticed } from '../../support/member-scenario.ts';

t.setTimeout(840_000);

test('a silence is detected while its owner is cut off', needs('nats-server 2.15.1'), async (t) => {
  const scenario = await startScenario(t, { vms: 6, everyMs: 1_000 });
  const thresholdSeconds = 30;
  const tookMs = await untilSilenceNoticed(scenario, { thresholdSeconds, cutMs: 10_000 });
  t.comment(`a silence of more than 30 s: a webhook after ${Math.round(tookMs / 1000)} s`);
  t.ok(tookMs > thresholdSeconds * 1_000, "not before the rule's 30 s");
});
