/**
 * The contract of every adapter of the stream port: one suite, run for the embedded adapter and for
 * both nats-servers. A harness hides their differences: how time passes (a virtual clock, or the
 * wall clock of a real server, where waits are short) and how a crash happens.
 */
import type { Test } from 'tap';
import { appendingContracts } from './stream-contract/appending.ts';
import { consumingContracts } from './stream-contract/consuming.ts';
import type { StreamContractHarness } from './stream-contract/harness.ts';
import { readingContracts } from './stream-contract/reading.ts';

/** Runs the suite under the current test, each contract on its own stream. */
export async function streamContract(t: Test, harness: StreamContractHarness): Promise<void> {
  for (const { title, run } of [
    ...appendingContracts,
    ...readingContracts,
    ...consumingContracts,
  ]) {
    await t.test(title, (t: Test) => run(t, harness));
  }
}
