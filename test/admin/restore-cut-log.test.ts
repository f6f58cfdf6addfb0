/**
 * A backup of a sample log that was cut partition by partition has gaps between its sequences. It is
 * restored onto another stream with the same sequences, on which positions of history depend.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import {
  appendEntry,
  partitionSubject,
  pastEntries,
  SAMPLES_STREAM,
  samplesSpec,
} from '../../actors/telemetry/sample-log.ts';
import { copyStream } from '../../sqlite/platform/backup/stream-copy.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { restoreStreams } from '../../src/admin/backup/restore-streams.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { componentPath, needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';

const ENTRIES = 300;
const LONG = 17;

function embedded(t: Test, path: string): Stream {
  const stream = openEmbeddedStream({ storage: path, clock: systemClock });
  t.teardown(() => stream.close());
  return stream;
}

/** A backup of a log of ticks in three partitions, of which only one keeps its oldest entries. */
async function backedUp(t: Test, folder: string): Promise<Stream> {
  const stream = embedded(t, join(folder, 'log.db'));
  await stream.ensure(samplesSpec);
  for (let i = 0; i < ENTRIES; i++) {
    await appendEntry(stream, LONG + (i % 3), { kind: 'tick', atMs: i });
  }
  for (const [partition, belowSequence] of [
    [LONG + 1, 200],
    [LONG + 2, 250],
  ] as const) {
    const subject = partitionSubject(partition);
    await stream.truncate({ stream: SAMPLES_STREAM, subject, belowSequence });
  }
  const to = join(folder, 'samples.db');
  await copyStream({ stream, spec: samplesSpec, to, signal: new AbortController().signal });
  return stream;
}

async function entriesOf(stream: Stream): Promise<unknown[]> {
  const entries: unknown[] = [];
  for await (const { sequence, partition, entry } of pastEntries(stream, { sequence: 1 })) {
    entries.push({ sequence, partition, entry });
  }
  return entries;
}

async function restores(t: Test, onto: Stream): Promise<void> {
  const folder = t.testdir({});
  const source = await backedUp(t, folder);
  const { messages } = await source.state(SAMPLES_STREAM);
  const scratch = join(folder, 'scratch');
  await restoreStreams({ from: folder, scratch, stream: onto, specs: [samplesSpec] });
  t.same(await onto.state(SAMPLES_STREAM), await source.state(SAMPLES_STREAM));
  t.same(await entriesOf(onto), await entriesOf(source));
  t.equal(messages, 100 + 34 + 17, 'half of the log was cut');
  t.equal(await appendEntry(onto, LONG, { kind: 'tick', atMs: 0 }), ENTRIES + 1);
  await restoreStreams({ from: folder, scratch, stream: onto, specs: [samplesSpec] });
  t.equal((await onto.state(SAMPLES_STREAM)).messages, messages + 1, 'again changes nothing');
}

test('DUR-18: a log that was truncated by partition is restored with its sequences', async (t) => {
  await restores(t, embedded(t, ':memory:'));
});

test(
  'DUR-18: a log that was truncated by partition is restored onto NATS with its sequences',
  needs('nats-server 2.15.1'),
  async (t) => {
    const server = await natsServerFor(t, { program: componentPath('nats-server 2.15.1') });
    const onto = await openJetStream({ url: server.url, clock: systemClock });
    t.teardown(() => onto.close());
    await restores(t, onto);
  },
);

test('a log of commits with a gap is not restored', async (t) => {
  const folder = t.testdir({});
  const stream = embedded(t, join(folder, 'events-log.db'));
  const spec = eventsStream();
  await stream.ensure(spec);
  const [subject = ''] = spec.subjects.map((pattern) => pattern.replaceAll('*', 'x'));
  for (let i = 0; i < 3; i++) {
    await stream.append({ stream: spec.name, subject: `${subject}${i}`, data: Buffer.from('c') });
  }
  await stream.truncate({ stream: spec.name, subject: `${subject}1`, belowSequence: 4 });
  const to = join(folder, 'events.db');
  await copyStream({ stream, spec, to, signal: new AbortController().signal });
  const restore = { from: folder, scratch: join(folder, 'scratch'), specs: [spec] };
  await t.rejects(
    restoreStreams({ ...restore, stream: embedded(t, ':memory:') }),
    /EVENTS of the backup has no messages from 2 to 2/,
  );
});
