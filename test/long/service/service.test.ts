/**
 * The service as a program embeds it: its ports, its failed starts and its stops. Leftovers in
 * the process are checked in embedding.test.ts.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { openEmbeddedStream } from '../../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { createLog, type Log } from '../../../src/platform/log.ts';
import { loadConfig } from '../../../src/platform/settings/config.ts';
import { createService, type ServiceOptions } from '../../../src/service/service.ts';
import { type Clock, systemClock } from '../../../streams/platform/clock.ts';
import { seededRandom } from '../../../streams/platform/random.ts';
import { type Demo, dataFolder, startProgram, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { checkStored, startStorm } from '../../support/write-storm.ts';

interface Started {
  readonly folder: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly ports?: ServiceOptions['ports'];
  readonly log?: Log;
}

/** Starts a service on free ports that collects nothing by itself. It stops with the test. */
async function start(t: Test, { folder, more = {}, ports = {}, log }: Started) {
  const { settings } = loadConfig([], {
    SVC_DATA: folder,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_SAMPLE_INTERVAL_SECONDS: '1',
    SVC_COLLECT: 'none',
    ...more,
  });
  const { lines, log: kept } = keptLog();
  const service = await createService({ settings, log: log ?? kept, ports });
  t.teardown(() => service.stop());
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
  await until('the service is ready', async () =>
    (await fetch(`${service.address}/readyz`)).ok ? true : undefined,
  );
  return { ...service, folder, demo, lines };
}

function keptLog(): { readonly lines: string[]; readonly log: Log } {
  const lines: string[] = [];
  const write = (line: string) => {
    if (!line.includes('A master key was created')) lines.push(line);
  };
  return { lines, log: createLog({ level: 'warn', readable: false, clock: systemClock, write }) };
}

/** Message of a start that must fail. */
async function refusalOf(t: Test, started: Started): Promise<string> {
  const error: unknown = await start(t, started).then(
    () => new Error('it started'),
    (refused) => refused,
  );
  return error instanceof Error ? error.message : String(error);
}

async function call(demo: Demo, method: string, request: unknown, key = demo.apiKey) {
  const answer = await fetch(`${demo.baseUrl}/svc.${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** Files below the folder that anyone but their owner may access. */
function openToOthers(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => {
    const found = statSync(join(folder, name));
    return !found.isDirectory() && (found.mode & 0o077) !== 0;
  });
}

test('files are private to their owner, even in a folder that others may read', async (t) => {
  const before = process.umask(0o022);
  t.teardown(() => process.umask(before));
  const folder = dataFolder(t);
  chmodSync(folder, 0o755);
  const first = await start(t, { folder });
  t.same(openToOthers(folder), []);
  t.ok(existsSync(join(folder, 'secrets.db')));
  t.equal(process.umask(), 0o022, 'the umask of the embedding program is unchanged');
  await first.stop();

  const databases = readdirSync(folder).filter((name) => name.endsWith('.db'));
  t.ok(databases.length >= 4, databases.join(', '));
  for (const name of databases) chmodSync(join(folder, name), 0o644);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  t.same(openToOthers(folder), [], 'files of an earlier run become private');
  const status = readFileSync(`/proc/${program.pid}/status`, 'utf8');
  t.match(status, /^Umask:\t0077$/m, 'and so are all files of svc serve');
  t.equal(await program.stop(), 0);
});

test('a project’s key cannot read figures of the whole service unless a setting allows it', async (t) => {
  const figures = async (more: Readonly<Record<string, string>>) => {
    const { address, demo, stop } = await start(t, { folder: dataFolder(t), more });
    const headers = { authorization: `Bearer ${demo.apiKey}` };
    const { status } = await fetch(`${address}/metrics`, { headers });
    await stop();
    return status;
  };
  t.equal(await figures({}), 404);
  t.equal(await figures({ SVC_METRICS_ON_API: 'on' }), 200);
});

test('a failed start names the remedy and leaves the folder as it was', async (t) => {
  const folder = dataFolder(t);
  const first = await start(t, { folder });
  t.match(
    await refusalOf(t, { folder }),
    /in use by another service of this process: stop it, or give this one another folder/,
  );
  await first.stop();

  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.teardown(() => taken.close());
  const { port } = taken.address() as { port: number };
  const onTaken = `127.0.0.1:${port}`;
  t.equal(
    await refusalOf(t, { folder, more: { SVC_LISTEN: onTaken } }),
    `SVC_LISTEN ${onTaken} is taken by another program: stop it, or choose another port`,
  );
  t.equal(
    await refusalOf(t, { folder, more: { SVC_METRICS_LISTEN: onTaken } }),
    `SVC_METRICS_LISTEN ${onTaken} is taken by another program: stop it, or choose another port`,
  );

  const pem = join(folder, 'no.pem');
  writeFileSync(pem, 'no certificate');
  t.match(
    await refusalOf(t, { folder, more: { SVC_TLS_CERT_FILE: pem, SVC_TLS_KEY_FILE: pem } }),
    /are not a certificate and its key .*: use a PEM chain and its PEM key/,
  );

  const otherKey = join(folder, 'other.key');
  writeFileSync(otherKey, randomBytes(32).toString('base64'), { mode: 0o600 });
  t.match(
    await refusalOf(t, { folder, more: { SVC_MASTER_KEY_FILE: otherKey } }),
    /master key/i,
    'the key of another store is refused',
  );
  const ownKey = join(folder, 'master.key');
  const own = readFileSync(ownKey);
  rmSync(ownKey);
  t.match(await refusalOf(t, { folder }), /is missing, .* put it back, name it in SVC_MASTER_KEY/);
  writeFileSync(ownKey, own, { mode: 0o600 });

  const file = join(folder, 'a-file');
  writeFileSync(file, '');
  t.match(
    await refusalOf(t, { folder: join(file, 'data') }),
    /^SVC_DATA .*a-file\/data cannot be used: choose a folder that this user may write to \(ENOTDIR/,
  );

  const control = join(folder, 'control.db');
  const kept = readFileSync(control);
  writeFileSync(control, randomBytes(4096));
  t.match(
    await refusalOf(t, { folder }),
    /^SVC_DATA .* is damaged \(control\.db: file is not a database\).* restore a backup/,
  );
  writeFileSync(control, kept);

  const again = await start(t, { folder });
  t.same(again.demo.apiKey, first.demo.apiKey, 'the folder works as before');
  t.same(again.lines, [], 'and nothing is logged as a warning');
});

test('ports that are passed to a service are used, and stay the caller’s', async (t) => {
  const shiftMs = -30 * 86_400_000;
  const clock: Clock = { ...systemClock, now: () => Date.now() + shiftMs };
  const shared = dataFolder(t);
  mkdirSync(join(shared, 'streams'));
  const stream = openEmbeddedStream({
    storage: join(shared, 'streams', 'all.db'),
    clock,
    random: seededRandom(1),
  });
  t.teardown(() => stream.close());
  const receiver = await startReceiver(t);
  const requested: string[] = [];
  const service = await start(t, {
    folder: join(shared, 'data'),
    more: { SVC_WEBHOOK_ALLOW: 'hooks.test', SVC_WEBHOOK_ALLOW_HTTP: 'on' },
    ports: {
      clock,
      stream,
      random: seededRandom(2),
      resolve(host, done) {
        requested.push(host);
        done(null, [{ address: host === 'inside.test' ? '10.1.2.3' : '127.0.0.1', family: 4 }]);
      },
    },
  });
  const twin = await start(t, { folder: dataFolder(t), ports: { clock, random: seededRandom(2) } });
  const [one, two] = [service, twin].map(({ folder }) => readFileSync(join(folder, 'master.key')));
  t.same(one, two, 'the same randomness makes the same keys');

  const url = receiver.url.replace('127.0.0.1', 'hooks.test');
  await fireOnce(service.demo, [url, 'https://inside.test/hook'], clock.now());
  const message = await until('the webhook', () => receiver.received[0]);
  t.ok(requested.includes('hooks.test'), 'the host is looked up through the port');
  const timestampMs = Date.parse(
    String((message.body as unknown as { timestamp: string }).timestamp),
  );
  t.ok(Math.abs(timestampMs - clock.now()) < 60_000, 'the time is that of the port');
  t.match(message.body.data.url, service.address, 'the link points to this service');

  const failed = await until('the attempt that was not made', async () => {
    const { projectName } = service.demo;
    const { body } = await call(service.demo, 'monitoring.v1.AlertService/ListDeliveries', {
      projectName,
    });
    const deliveries = body.deliveries as { attempts?: { outcome?: string }[] }[];
    return deliveries
      .flatMap(({ attempts = [] }) => attempts)
      .find(({ outcome }) => outcome === 'failed');
  });
  const error =
    'The host name has no address that may be called. Fix the URL or the DNS records of the name';
  t.match(failed, { error }, 'whoever reads it learns no address');
  t.match(
    service.lines.join(),
    /inside\.test resolves to 10\.1\.2\.3/,
    'the log knows the address',
  );

  await service.stop();
  const { lastSequence } = await stream.state('EVENTS');
  t.ok(lastSequence > 0, 'the stream of the caller has the commits and is still open');
  t.notOk(existsSync(join(service.folder, 'events.db')), 'and the data folder contains no stream');
});

/** Creates a rule that one sample breaches, and writes that sample. */
async function fireOnce(demo: Demo, urls: readonly string[], nowMs: number): Promise<void> {
  const { projectName } = demo;
  const destinationNames: string[] = [];
  for (const url of urls) {
    const { body } = await call(demo, 'monitoring.v1.AlertService/CreateDestination', {
      projectName,
      requestId: randomUUID(),
      destination: { displayName: 'Hook', webhook: { url } },
    });
    destinationNames.push((body.destination as { name: string }).name);
  }
  await call(demo, 'monitoring.v1.AlertService/SaveAlertRule', {
    projectName,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'Large',
      metricId: 'memory_total_bytes',
      operator: 'GREATER_THAN',
      threshold: 10,
      sustainedSeconds: 0,
      severity: 'WARNING',
      allVms: true,
      destinationNames,
    },
  });
  await call(
    demo,
    'ingest.v1.IngestService/WriteSamples',
    {
      projectName,
      rows: [
        {
          vmName: 'vm-1',
          observedUnixMs: String(nowMs),
          values: [{ series: 'svc_vm_memory_total_bytes', value: 11 }],
        },
      ],
    },
    demo.collectorKey,
  );
}

test('a graceful stop during a storm of writes loses no acknowledged data', async (t) => {
  const folder = dataFolder(t);
  const service = await start(t, { folder });
  const storms = (['json', 'binary'] as const).map((format) =>
    startStorm(service.demo, { name: format, format, senders: 3 }),
  );
  await until('some hundred rows', () => storms.every((storm) => storm.rows() > 150) || undefined);
  await Promise.all([service.stop(), service.stop()]);
  await Promise.all(storms.map((storm) => storm.stop()));
  const ended = storms
    .flatMap(({ statuses }) => [...statuses.keys()])
    .filter((status) => ![200, 503, 0].includes(status));
  t.same(ended, [], 'all others are refused as not ready, or not connected');
  t.same(service.lines, [], 'a stop is not logged as a fault');

  const again = await start(t, { folder });
  for (const { acknowledged } of storms) await checkStored(t, again.demo, acknowledged);
});

test('a signal opens no debugger', async (t) => {
  const program = await startProgram(t, dataFolder(t), { SVC_COLLECT: 'none' });
  process.kill(program.pid, 'SIGUSR1');
  t.equal((await program.get('/healthz')).status, 200);
  t.equal(await program.stop(), 0);
  t.notMatch(program.log(), /Debugger/);
});
