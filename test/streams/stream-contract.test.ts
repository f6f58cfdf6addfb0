/**
 * Both adapters of the stream port pass one suite (test/support/stream-contract.ts): the embedded
 * one on a virtual clock, JetStream on real nats-servers of the oldest and the newest supported
 * version, each on a free loopback port with a store of its own.
 */
import t from 'tap';
import { streamContract } from '../support/stream-contract.ts';
import { embeddedHarness } from '../support/stream-contract-harness.ts';

t.test('the embedded stream', async (t) => {
  const harness = embeddedHarness(t.testdir({}));
  t.teardown(() => harness.close());
  await streamContract(t, harness);
});
