/**
 * Backups of a service whose streams are on NATS, restored onto an empty NATS, onto the NATS that
 * still has the streams, and without NATS. Services run in this process, on real nats-servers.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test, test } from 'tap';
import { SAMPLES_STREAM } from '../../../actors/telemetry/sample-log.ts';
import { sealedSpec } from '../../../sqlite/platform/secrets/sealed-stream.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { EVENTS_STREAM, eventsStream } from '../../../streams/platform/commit/events.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import { createDestination, listAll, saveRule, writeReadings } from '../../e2e/fault-injection.ts';
import { componentPath, needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, type Program, runInProcess, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service-in-process.ts';

t.setTimeout(840_000);

const vms = Array.from({ length: 6 }, (_, i) => `vm-${i}`);

async function nats(t: Test) {
  const program = componentPath('nats-server 2.10.27');
  const server = await natsServerFor(t, { program });
  return server.url;
}

async function streamAt(t: Test, url: string) {
  const stream = await openJetStream({ url, clock: systemClock });
  t.teardown(() => stream.close());
  return stream;
}

const namesOf = async (program: Program, method: string, field: string) =>
  (await listAll<{ name: string }>(program, method, field)).map(({ name }) => name).sort();
const incidentsOf = (program: Program) => namesOf(program, 'ListIncidents', 'incidents');
const rulesOf = (program: Program) => namesOf(program, 'ListAlertRules', 'rules');

test(
  'DUR-18: a service on NATS is backed up and restored',
  needs('nats-server 2.10.27'),
  async (t) => {
    const root = dataFolder(t);
    const [data, backup] = [join(root, 'data'), join(root, 'backup')];
    const url = await nats(t);
    const webhooks = { SVC_WEBHOOK_ALLOW: '127.0.0.2', SVC_WEBHOOK_ALLOW_HTTP: 'on' };
    const on = (natsUrl: string) => ({ ...webhooks, SVC_NATS_URL: natsUrl, SVC_DEMO: 'on' });
    const first = await startService(t, data, on(url));
    const receiver = await startReceiver(t, { address: '127.0.0.2' });
    const { body: destination } = await createDestination(first, receiver.url);
    const { name } = destination.destination as { name: string };
    await saveRule(first, [name]);
    await writeReadings(first, vms, 11);
    const incidents = await until('an incident of each VM', async () => {
      const found = await incidentsOf(first);
      return found.length === vms.length ? found : undefined;
    });
    await until('their messages', () => receiver.received.length === vms.length || undefined);
    const rules = await rulesOf(first);
    const made = await runInProcess(['backup', backup, '--data', data, '--json']);
    t.equal(made.code, 0, made.text);
    const manifest = JSON.parse(made.stdout);
    t.equal(manifest.form, 'nats');
    const events = manifest.streams.find(({ name }: { name: string }) => name === EVENTS_STREAM);
    t.equal(events.lastSequence, manifest.position.applied, 'EVENTS ends where control.db ends');
    await saveRule(first, []);
    const later = await rulesOf(first);
    t.equal(later.length, rules.length + 1);

    /** Restores into a folder of that name, with the key, and starts the service. */
    const restored = async (t: Test, name: string, natsUrl?: string) => {
      const folder = join(root, name);
      mkdirSync(folder, { mode: 0o700 });
      cpSync(join(data, 'master.key'), join(folder, 'master.key'));
      const environment: Record<string, string> = natsUrl === undefined ? webhooks : on(natsUrl);
      const run = await runInProcess(['restore', backup, '--data', folder], environment);
      t.equal(run.code, 0, run.text);
      cpSync(join(data, 'demo.json'), join(folder, 'demo.json'));
      return { folder, start: () => startService(t, folder, environment) };
    };
    const verified = async (t: Test, folder: string) => {
      const { code, text } = await runInProcess(['audit', 'verify', '--data', folder]);
      t.equal(code, 0, text);
    };
    const isWhole = async (t: Test, program: Program) => {
      const found = await incidentsOf(program);
      t.same(
        incidents.filter((name) => !found.includes(name)),
        [],
        'every incident is there',
      );
      const read = await program.call('monitoring.v1.MonitoringService/ListVMMonitoring', {
        projectName: program.demo.projectName,
      });
      t.equal((read.body.vms as unknown[]).length, vms.length, 'its VMs have their readings');
    };

    /** Checks delivery: the address and the secret are not in control.db. */
    const stillDelivers = async (t: Test, program: Program) => {
      const before = receiver.received.length;
      await writeReadings(program, ['vm-after'], 11);
      const message = await until('a message arrives', () => receiver.received[before]);
      t.match(message.body.data.vmName, /vm-after$/);
      receiver.verify(message, String(destination.webhookSecret));
    };

    await t.test('restores onto an empty NATS with the original sequences', async (t) => {
      const empty = await nats(t);
      const { folder, start } = await restored(t, 'onto-empty', empty);
      t.notOk(readdirSync(folder).includes('events.db'), 'the streams are not in the folder');
      const stream = await streamAt(t, empty);
      t.match(await stream.state(EVENTS_STREAM), {
        identity: events.identity,
        lastSequence: events.lastSequence,
      });
      const program = await start();
      await isWhole(t, program);
      t.same(await rulesOf(program), rules);
      await saveRule(program, []);
      await stillDelivers(t, program);
      const sealed = await stream.state(sealedSpec.name);
      t.ok(sealed.messages > 1, 'members share the secrets of the backup');
      await verified(t, folder);
      await program.stop();
    });

    await t.test('restores onto an empty NATS after an interrupted restore', async (t) => {
      const empty = await nats(t);
      const stream = await streamAt(t, empty);
      // The state after a restore that was cut off after its first message of EVENTS.
      const source = await streamAt(t, url);
      const origin = await source.state(EVENTS_STREAM);
      await stream.ensure(eventsStream(), origin);
      for await (const { subject, data } of source.read({
        stream: EVENTS_STREAM,
        from: { sequence: 1 },
        untilEnd: true,
      })) {
        await stream.append({ stream: EVENTS_STREAM, subject, data });
        break;
      }
      const { start } = await restored(t, 'again', empty);
      t.match(await stream.state(EVENTS_STREAM), { lastSequence: events.lastSequence });
      const program = await start();
      await isWhole(t, program);
      await program.stop();
    });

    await t.test('restores without NATS, as embedded streams', async (t) => {
      const { folder, start } = await restored(t, 'embedded');
      const program = await start();
      await isWhole(t, program);
      t.same(await rulesOf(program), rules);
      await stillDelivers(t, program);
      await verified(t, folder);
      await program.stop();
    });

    await t.test('a restore onto a NATS of another deployment is rejected', async (t) => {
      const other = await nats(t);
      await (await streamAt(t, other)).ensure(eventsStream());
      const folder = join(root, 'refused');
      const run = await runInProcess(['restore', backup, '--data', folder], on(other));
      t.match(run, { code: 1, text: /NATS has a stream EVENTS of another deployment/ });
      const stream = await streamAt(t, other);
      t.equal(await stream.compare({ ...eventsStream(), name: SAMPLES_STREAM }), undefined);
    });

    await t.test(
      'restores onto existing streams, which have entries from after the backup',
      async (t) => {
        await first.stop();
        const { start } = await restored(t, 'where-they-are', url);
        const program = await start();
        await isWhole(t, program);
        t.same(await rulesOf(program), later, 'it has caught up');
        const snapshot = await runInProcess([
          'admin',
          'snapshot',
          '--json',
          '--data',
          join(root, 'where-they-are'),
        ]);
        t.equal(snapshot.code, 0, snapshot.text);
        await program.stop();
      },
    );

    await t.test('an empty folder joins from a snapshot when EVENTS was truncated', async (t) => {
      const stream = await streamAt(t, url);
      const { lastSequence } = await stream.state(EVENTS_STREAM);
      await stream.truncate({ stream: EVENTS_STREAM, belowSequence: lastSequence });
      const folder = join(root, 'joining');
      mkdirSync(folder, { mode: 0o700 });
      cpSync(join(data, 'master.key'), join(folder, 'master.key'));
      // The demo and its keys belong to the first member.
      cpSync(join(data, 'demo.json'), join(folder, 'demo.json'));
      const program = await startService(t, folder, on(url));
      t.same(await rulesOf(program), later);
      await program.stop();
    });
    t.match(JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8')), { form: 'nats' });
  },
);
