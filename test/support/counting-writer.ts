/**
 * A node on an embedded stream that counts until it is killed, and reports acknowledged requests to
 * its parent: the child of test/long/platform/commit-kill.test.ts. Arguments: file, then for each
 * writer the number of its requests that were acknowledged in earlier lives. A writer resends its
 * first unacknowledged request with the old request id, as a client does without an answer.
 */
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { COUNTER_LIMIT } from './counter-machine.ts';
import { add, countingNode, openPlace } from './counting-node.ts';

const [file = '', ...done] = process.argv.slice(2);
const stream = openEmbeddedStream({ storage: file, clock: systemClock });
const { host } = countingNode({ stream, place: openPlace(file) });
await host.start();
process.stdout.write('ready\n');

async function countUp(name: string, from: number): Promise<void> {
  for (let i = from; ; i++) {
    // Retention keeps truncating the log behind the projection.
    if (i % 20 === 19) {
      await stream.truncate({ stream: 'EVENTS', belowSequence: host.appliedSequence() + 1 });
    }
    const counter = `${name}-${Math.floor(i / COUNTER_LIMIT)}`;
    const { answer } = await add(host, `project-${name}`, counter, `${name}-${i}`);
    process.stdout.write(`${name} ${i} ${answer.count}\n`);
  }
}

await Promise.all(done.map((from, i) => countUp(String(i), Number(from))));
