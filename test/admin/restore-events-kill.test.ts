/**
 * `svc admin restore-events` killed at each of its steps on a real nats-server: the next run finishes
 * the work of the killed one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { test } from 'tap';
import { systemClock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import {
  newestSnapshot,
  readSnapshot,
  SNAPSHOTS_STREAM,
  unusable,
} from '../../streams/platform/snapshots.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';
import { svc } from '../support/operator-commands.ts';
import { dataFolder } from '../support/program.ts';
import type { RestoreStep } from '../support/restore-events-program.ts';
import { startService } from '../support/service-in-process.ts';

const program = fileURLToPath(new URL('../support/restore-events-program.ts', import.meta.url));
const STEPS: readonly RestoreStep[] = ['stream made', 'first chunk', 'before manifest', 'manifest'];

/** Bytes of the newest snapshot, whose hash is checked; undefined: no snapshot exists. */
async function snapshotBytes(stream: Stream): Promise<number | undefined> {
  const newest = await newestSnapshot(stream);
  if (newest === undefined) return undefined;
  let bytes = 0;
  for await (const part of readSnapshot(stream, newest)) bytes += part.length;
  return bytes;
}

test(
  'DUR-32: a restore-events run that is killed at any step is finished by the next run',
  needs('nats-server 2.15.1'),
  async (t) => {
    const server = await natsServerFor(t);
    const folder = dataFolder(t);
    const settings = { SVC_DEMO: 'on', SVC_NATS_URL: server.url };
    const service = await startService(t, folder, settings);
    await service.stop();
    const stream = await openJetStream({ url: server.url, clock: systemClock });
    t.teardown(() => stream.close());
    const nats = await connect({ servers: server.url });
    t.teardown(() => nats.close());
    const { streams } = await jetstreamManager(nats);
    const before = await stream.ensure(eventsStream());

    for (const step of STEPS) {
      await streams.delete('EVENTS');
      if ((await newestSnapshot(stream)) !== undefined) await streams.delete(SNAPSHOTS_STREAM);
      const env = { ...process.env, ...settings };
      const killed = spawn(process.execPath, [program, step, folder], { env, stdio: 'pipe' });
      let stderr = '';
      killed.stderr.on('data', (text) => {
        stderr += text;
      });
      t.same(await once(killed, 'close'), [null, 'SIGKILL'], `${step}: ${stderr}`);
      const made = { identity: before.identity, firstSequence: before.lastSequence + 1 };
      t.match(await stream.state('EVENTS'), made, 'the stream is there');
      const isWritten = step === 'manifest';
      t.equal((await snapshotBytes(stream)) !== undefined, isWritten, 'a snapshot, or none at all');

      const next = await svc(['admin', 'restore-events', '--data', folder], settings);
      t.match(next, { code: 0, stdout: /^EVENTS exists and agrees with this member/ }, next.stderr);
      t.equal(/Snapshot \S+ is written/.test(next.stdout), !isWritten, next.stdout);
      const newest = await newestSnapshot(stream);
      t.equal(newest?.position.applied, before.lastSequence);
      t.equal(newest && unusable(newest, await stream.state('EVENTS')), undefined);
      t.ok(((await snapshotBytes(stream)) ?? 0) > 0, 'all of it can be read');
      t.match(await stream.state('EVENTS'), made);
    }
    const again = await startService(t, folder, settings);
    await again.stop();
    t.match(await stream.state('EVENTS'), { identity: before.identity });
  },
);
