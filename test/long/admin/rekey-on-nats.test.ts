/**
 * `svc admin rekey` of two members on a real nats-server: both take the new key and continue, and
 * the old key opens nothing of the shared stream and starts no member.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { test } from 'tap';
import { createSeal } from '../../../sqlite/platform/secrets/seal.ts';
import {
  keyOf,
  SWEPT_SUBJECT,
  sealedSpec,
} from '../../../sqlite/platform/secrets/sealed-stream.ts';
import { silentLog } from '../../../src/platform/log.ts';
import { readMasterKey } from '../../../src/platform/master-key.ts';
import { loadConfig } from '../../../src/platform/settings/config.ts';
import { createService } from '../../../src/service/service.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import { systemRandom } from '../../../streams/platform/random.ts';
import { createDestination, saveRule, writeReadings } from '../../e2e/fault-injection.ts';
import { needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, runInProcess, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service-in-process.ts';

t.setTimeout(840_000);

/** Number of sealed values in the stream that the key opens, and of all. */
async function openedBy(url: string, masterKey: Uint8Array) {
  const stream = await openJetStream({ url, clock: systemClock });
  const seal = createSeal({ masterKey, random: systemRandom });
  const newest = new Map<string, Uint8Array>();
  const read = { stream: sealedSpec.name, from: { sequence: 1 }, untilEnd: true };
  for await (const { subject, data } of stream.read(read)) {
    // The last sweep is no secret.
    if (subject !== SWEPT_SUBJECT) newest.set(subject, data);
  }
  await stream.close();
  const isOpened = ([subject, data]: [string, Uint8Array]): boolean => {
    const { id, purpose } = keyOf(subject);
    try {
      seal.open(id, purpose, purpose === 'canary' ? data.subarray(16) : data);
      return true;
    } catch {
      return false;
    }
  };
  return { opened: [...newest].filter(isOpened).length, all: newest.size };
}

test(
  'svc admin rekey changes the key of all members on NATS, which continue',
  needs('nats-server 2.15.1'),
  async (t) => {
    const root = dataFolder(t);
    const { url } = await natsServerFor(t);
    const on = {
      SVC_NATS_URL: url,
      SVC_DEMO: 'on',
      SVC_WEBHOOK_ALLOW: '127.0.0.1',
      SVC_WEBHOOK_ALLOW_HTTP: 'on',
      SVC_GROUP_WAIT_SECONDS: '0',
    };
    const [one, two, late] = [join(root, 'one'), join(root, 'two'), join(root, 'late')];
    const first = await startService(t, one, on);
    const keyFile = (folder: string) => join(folder, 'master.key');
    for (const folder of [two, late]) {
      mkdirSync(folder, { mode: 0o700 });
      for (const name of ['master.key', 'demo.json'])
        copyFileSync(join(one, name), join(folder, name));
    }
    const old = readMasterKey(keyFile(one));
    const second = await startService(t, two, on);
    const receiver = await startReceiver(t);
    const { body } = await createDestination(first, receiver.url);
    const { name } = body.destination as { name: string };
    await saveRule(first, [name]);
    const before = await openedBy(url, old);
    t.ok(before.all > 1);
    t.equal(before.opened, before.all, 'the old key opens everything');

    const ran = await runInProcess(['admin', 'rekey', '--data', one]);
    t.match(ran, { code: 0, stdout: /^The master key is [0-9a-f]{16} now/ });
    const next = readMasterKey(keyFile(one));
    t.notSame(next, old);
    t.same(readMasterKey(keyFile(two)), next, 'each member has the new key in its own folder');
    t.equal((await openedBy(url, old)).opened, 0, 'the old key opens nothing');
    const after = await openedBy(url, next);
    t.equal(after.opened, after.all, 'the new key opens everything');

    await writeReadings(first, ['vm-1'], 11);
    const message = await until('a message arrives', () => receiver.received[0]);
    receiver.verify(message, String(body.webhookSecret));

    const start = () => {
      const settings = { ...on, SVC_DATA: late, SVC_LISTEN: '127.0.0.1:0' };
      const more = { SVC_METRICS_LISTEN: 'off', SVC_COLLECT: 'none' };
      const { settings: loaded } = loadConfig([], { ...settings, ...more });
      return createService({ settings: loaded, log: silentLog });
    };
    await t.rejects(start(), { name: 'WrongMasterKey' }, 'a member with the old key');
    writeFileSync(keyFile(late), readFileSync(keyFile(one)));
    await (await start()).stop();
    await second.stop();
    await first.stop();
    const again = await startService(t, one, on);
    await writeReadings(again, ['vm-2'], 11);
    const later = await until('a message after a restart', () => receiver.received[1]);
    receiver.verify(later, String(body.webhookSecret));
  },
);
