/**
 * Appends to an embedded stream until it is killed, and reports acknowledged appends to its parent:
 * the child of test/platform/embedded-stream.test.ts. Arguments: file, round.
 */
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock } from '../../streams/platform/clock.ts';

const [storage = '', round = '0'] = process.argv.slice(2);
const stream = openEmbeddedStream({ storage, clock: systemClock });
await stream.ensure({
  name: 'LOG',
  subjects: ['log.*'],
  retention: 'log',
  duplicateWindowMs: 60_000,
});

async function chain(subject: string): Promise<void> {
  let last = 0;
  const read = stream.read({ stream: 'LOG', from: { sequence: 1 }, subject, untilEnd: true });
  for await (const { sequence } of read) last = sequence;
  for (let i = 0; ; i++) {
    const id = `${round} ${subject} ${i}`;
    const outcome = await stream.append({
      stream: 'LOG',
      subject,
      data: Buffer.from(id.padEnd(200 + ((i * 97) % 5_000))),
      messageId: id,
      expectedLastSubjectSequence: last,
    });
    if (outcome.kind !== 'appended') throw new Error(`${id}: ${outcome.kind} after ${last}`);
    last = outcome.sequence;
    process.stdout.write(`${id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, i) => chain(`log.${i}`)));
