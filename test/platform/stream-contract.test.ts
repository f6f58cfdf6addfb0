/**
 * Both adapters of the stream port pass one suite (test/support/stream-contract.ts): the embedded
 * one on a virtual clock, JetStream on real nats-servers of the oldest and the newest supported
 * version, each on a free loopback port with a store of its own.
 */
import t, { test } from 'tap';
import { componentPath, needs } from '../support/components.ts';
import { natsServerFor, natsServerVersions } from '../support/nats-server.ts';
import { embeddedHarness, jetStreamHarness } from '../support/stream-contract/harness.ts';
import { streamContract } from '../support/stream-contract.ts';

test('DUR-14: the embedded stream passes the contract', async (t) => {
  const harness = embeddedHarness(t.testdir({}));
  t.teardown(() => harness.close());
  await streamContract(t, harness);
});

// Mostly waiting for the wall clock: both versions run in parallel.
t.jobs = 2;
for (const version of natsServerVersions) {
  test(`DUR-14: JetStream on ${version} passes the contract`, {
    ...needs(version),
    buffered: true,
  }, async (t) => {
    const program = componentPath(version);
    const server = await natsServerFor(t, { program });
    const harness = await jetStreamHarness(server);
    t.teardown(() => harness.close());
    await streamContract(t, harness);
  });
}
