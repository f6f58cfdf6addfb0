/**
 * A rejected start changes nothing: neither the given NATS, nor the data of the first process there
 * and in its folder, nor its own folder. A second process with the same master key becomes a
 * member. The test uses a real nats-server, with the services in this process, where a second
 * service behaves like a second process.
 */
import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Test, test } from 'tap';
import { createLog } from '../../../src/platform/log.ts';
import { loadConfig } from '../../../src/platform/settings/config.ts';
import { createService } from '../../../src/service/service.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { clusterSpec } from '../../../streams/platform/membership/roster.ts';
import { componentPath, needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { type Demo, dataFolder, until } from '../../support/program.ts';

interface Requested {
  readonly folder: string;
  readonly url: string;
  readonly more?: Readonly<Record<string, string>>;
}

async function start(t: Test, { folder, url, more = {} }: Requested) {
  const { settings } = loadConfig([], {
    SVC_DATA: folder,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
    SVC_NATS_URL: url,
    ...more,
  });
  const log = createLog({ level: 'warn', readable: false, clock: systemClock, write() {} });
  const service = await createService({ settings, log });
  t.teardown(() => service.stop());
  await until('it is ready', async () =>
    (await fetch(`${service.address}/readyz`)).ok ? true : undefined,
  );
  return { ...service, demo: demoOf(folder) };
}

function demoOf(folder: string): Demo {
  const path = join(folder, 'demo.json');
  const nothing = { baseUrl: '', projectName: '', apiKey: '', collectorKey: '' };
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : nothing;
}

async function refusalOf(t: Test, requested: Requested): Promise<Error> {
  const error: unknown = await start(t, requested).then(
    () => new Error('it started'),
    (refused) => refused,
  );
  return error instanceof Error ? error : new Error(String(error));
}

/** Subjects that the owner of a project writes by itself as time passes. */
const BY_ITSELF = /^svc\.samples\..*\.(tick|rules)$/;

/** Everything on the server: streams, their messages, their durable consumers. */
async function contentOf(url: string): Promise<unknown> {
  const nats = await connect({ servers: url });
  const { streams, consumers } = await jetstreamManager(nats);
  const content: unknown[] = [];
  for await (const { config, state } of streams.list()) {
    const durable: unknown[] = [];
    for await (const { name, config: kept } of consumers.list(config.name)) {
      if (kept.durable_name !== undefined) durable.push({ name, kept });
    }
    const messages: unknown[] = [];
    // The first process keeps renewing its record.
    const last = config.name === clusterSpec.name ? 0 : state.last_seq;
    for (let seq = state.first_seq; seq <= last; seq++) {
      // An acknowledged message of a work queue is removed.
      const message = await streams.getMessage(config.name, { seq }).catch(() => null);
      if (message === null || BY_ITSELF.test(message.subject)) continue;
      messages.push([seq, message.subject, hash('sha256', message.data)]);
    }
    content.push({ config, durable, messages });
  }
  await nats.close();
  return content;
}

/** The content once the started process writes nothing more. */
async function settledContentOf(url: string): Promise<unknown> {
  let last = '';
  return until('nothing more is written', async () => {
    const content = await contentOf(url);
    const [before, now] = [last, JSON.stringify(content)];
    last = now;
    if (now === before) return content;
    await setTimeout(1_000);
    return undefined;
  });
}

/**
 * Path and digest of every file, except SQLite's temporary files beside a database, locks, and
 * checkpoints, which the running service replaces.
 */
function filesOf(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names
    .filter((name) => !/-(wal|shm)$|^(svc\.(lock|pid)|admin\.sock)$|^checkpoints/.test(name))
    .sort();
  return Object.fromEntries(
    files.map((name) => [name, hash('sha256', readFileSync(join(folder, name)))]),
  );
}

async function statusOf({ baseUrl, projectName, apiKey }: Demo): Promise<number> {
  const method = 'monitoring.v1.MonitoringService/ListVMMonitoring';
  const answer = await fetch(`${baseUrl}/svc.${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectName }),
  });
  return answer.status;
}

for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  test(
    `DUR-22: rejected starts change nothing of a running service on ${version}`,
    needs(version),
    async (t) => {
      const program = componentPath(version);
      const server = await natsServerFor(t, { program });
      const { url } = server;
      const folder = dataFolder(t);
      const first = await start(t, { folder, url });
      const own = dataFolder(t);
      const other = join(own, 'data');
      const before = { nats: await settledContentOf(url), files: filesOf(folder) };
      const unchanged = async (what: string): Promise<void> => {
        t.same(await contentOf(url), before.nats, `${what}: NATS is unchanged`);
        t.same(filesOf(folder), before.files, `${what}: the first one's folder is unchanged`);
        t.same(filesOf(other), {}, `${what}: its own folder has only its lock`);
      };

      const keyless = await refusalOf(t, { folder: other, url });
      t.match(keyless, {
        name: 'WrongMasterKey',
        message: /and this one has none: set SVC_MASTER_KEY_FILE/,
      });
      await unchanged('a second process without the key');

      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      t.teardown(() => taken.close());
      const { port } = taken.address() as { port: number };
      const pem = join(own, 'no.pem');
      writeFileSync(pem, 'no certificate');
      for (const [what, more] of Object.entries({
        'port taken': { SVC_LISTEN: `127.0.0.1:${port}` },
        'metrics port taken': { SVC_METRICS_LISTEN: `127.0.0.1:${port}` },
        certificate: { SVC_TLS_CERT_FILE: pem, SVC_TLS_KEY_FILE: pem },
        'missing key': { SVC_MASTER_KEY_FILE: join(own, 'absent.key') },
        'bad key': { SVC_MASTER_KEY_FILE: pem },
        'client secret': {
          SVC_OIDC_ISSUER: 'https://id.example',
          SVC_OIDC_CLIENT_ID: 'a',
          SVC_OIDC_CLIENT_SECRET_FILE: join(own, 'absent'),
        },
      })) {
        t.equal((await refusalOf(t, { folder: other, url, more })).name, 'ConfigError', what);
        await unchanged(what);
      }
      t.equal(await statusOf(first.demo), 200, 'the first one’s key is in use');
      const key = { SVC_MASTER_KEY_FILE: join(folder, 'master.key') };
      const next = await start(t, { folder: other, url, more: key });
      t.notOk(existsSync(join(other, 'demo.json')), 'the demo belongs to the first one');
      const there = { ...first.demo, baseUrl: next.address };
      await until('the second member knows the key', async () =>
        (await statusOf(there)) === 200 ? true : undefined,
      );
      t.equal(await statusOf(first.demo), 200, 'the first one still accepts it');
      await first.stop();
      t.equal(await statusOf(there), 200, 'one of them is enough');
      await next.stop();
    },
  );
}

const newest = 'nats-server 2.15.1';
test('rejected starts change nothing on an unused NATS', needs(newest), async (t) => {
  const program = componentPath(newest);
  const server = await natsServerFor(t, { program });
  const { url } = server;

  const folder = dataFolder(t);
  await (await start(t, { folder, url })).stop();
  const files = filesOf(folder);
  const nats = await contentOf(url);
  const otherKey = join(dataFolder(t), 'other.key');
  writeFileSync(otherKey, randomBytes(32).toString('base64'), { mode: 0o600 });
  const more = { SVC_MASTER_KEY_FILE: otherKey };
  t.equal((await refusalOf(t, { folder, url, more })).name, 'WrongMasterKey');
  t.same([await contentOf(url), filesOf(folder)], [nats, files], 'the key of another store');

  const empty = await natsServerFor(t, { program });
  t.equal((await refusalOf(t, { folder, url: empty.url })).name, 'HistoryMismatch');
  t.same([await contentOf(empty.url), filesOf(folder)], [[], files], 'a folder of another NATS');

  const connection = await connect({ servers: empty.url });
  const { streams } = await jetstreamManager(connection);
  // The stream that this program would create last.
  await streams.add({ name: 'CLAIMS', subjects: ['svc.claims.*'], max_msgs: 5 });
  await connection.close();
  const made = await contentOf(empty.url);
  const fresh = join(dataFolder(t), 'data');
  const misfit = await refusalOf(t, { folder: fresh, url: empty.url });
  t.match(misfit, { name: 'StreamMisconfigured', message: /CLAIMS has no|CLAIMS on the server/ });
  t.same([await contentOf(empty.url), filesOf(fresh)], [made, {}], 'a stream that does not fit');

  const plain = await natsServerFor(t, { program, jetStream: false });
  t.match(await refusalOf(t, { folder: fresh, url: plain.url }), { message: /no JetStream/ });
  t.same(filesOf(fresh), {}, 'no JetStream');

  const again = await start(t, { folder, url });
  t.equal(await statusOf(again.demo), 200, 'afterwards the folder and its NATS work');
});
