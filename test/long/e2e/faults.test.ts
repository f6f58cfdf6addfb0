/**
 * The program under external faults: killed during work, with a full disk, locked databases, a dead
 * nats-server, misbehaving webhook endpoints. In each case it stays up or restarts, keeps all
 * acknowledged data, reports the fault, and continues by itself.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test, test } from 'tap';
import {
  createDestination,
  deliveriesOf,
  destinationAt,
  faultLines,
  faultSettings,
  listAll,
  readiness,
  reasonOf,
  ruleRequest,
  saveRule,
  untilReadiness,
  writeReadings,
} from '../../e2e/fault-injection.ts';
import { startBadEndpoints } from '../../support/bad-endpoints.ts';
import { componentPath, needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, startProgram, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { checkStored, startStorm } from '../../support/write-storm.ts';

// Each test has a program of its own, which mostly waits.
t.jobs = 3;
t.setTimeout(840_000);
const atOnce = { buffered: true, timeout: 840_000 };

const SAVE_RULE = 'monitoring.v1.AlertService/SaveAlertRule';

test('DUR-09: a SIGKILL in a storm of writes, requests and deliveries loses no acknowledged data', {
  ...atOnce,
}, async (t) => {
  const folder = dataFolder(t);
  const receiver = await startReceiver(t, { address: '127.0.0.2', delayMs: 50 });
  const program = await startProgram(t, folder, faultSettings);
  const destination = await destinationAt(program, receiver.url);
  await saveRule(program, [destination]);
  const storms = (['json', 'binary'] as const).map((format) =>
    startStorm(program.demo, { name: format, format, senders: 4 }),
  );
  const vms = Array.from({ length: 120 }, (_, i) => `vm-${i}`);
  const requests = vms.slice(0, 15).map(() => ruleRequest(program, [], { enabled: false }));
  const saved = requests.map((request) => program.call(SAVE_RULE, request).catch(() => undefined));
  const breached = await writeReadings(program, vms, 11);
  t.equal(breached.status, 200, 'the breaching readings are acknowledged');
  await until('some deliveries', () => (receiver.received.length >= 10 ? true : undefined));
  await program.kill();
  const atKill = receiver.received.length;
  t.ok(atKill < vms.length, `killed during the deliveries: ${atKill}`);
  await Promise.all([...storms.map((storm) => storm.stop()), ...saved]);

  const again = await startProgram(t, folder, faultSettings);
  for (const storm of storms) await checkStored(t, again.demo, storm.acknowledged);
  const firings = await until('every firing to be sent', async () => {
    const deliveries = await deliveriesOf(again);
    const sent = deliveries.filter(({ state }) => state === 'SENT');
    return sent.length >= vms.length ? deliveries : undefined;
  });
  t.equal(firings.length, vms.length, 'one delivery per incident');
  const incidents = await listAll<{ name: string; vmName: string }>(
    again,
    'ListIncidents',
    'incidents',
  );
  t.equal(new Set(incidents.map(({ vmName }) => vmName)).size, vms.length);
  t.equal(incidents.length, vms.length, 'no machine has two incidents');
  const notified = new Set(receiver.received.map(({ body }) => body.data.incidentName));
  t.equal(notified.size, vms.length, 'each incident reached the receiver');
  const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  t.equal(ids.size, vms.length, 'a duplicate has the id of the first message');
  t.comment(`${receiver.received.length - ids.size} of ${ids.size} were sent twice`);

  const resent = await Promise.all(requests.map((request) => again.call(SAVE_RULE, request)));
  t.ok(
    resent.every(({ status, body }) => status === 200 && body.version === '1'),
    'a repeated request is answered with version 1',
  );
  const rules = await listAll(again, 'ListAlertRules', 'rules');
  t.equal(rules.length, requests.length + 1, 'no request was applied twice');
  t.equal(await again.stop(), 0);
});

test('the service survives a full disk', { ...needs('tmpfs mounts'), ...atOnce }, async (t) => {
  componentPath('tmpfs mounts');
  const folder = dataFolder(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200m', 'svc-test', folder]);
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  const program = await startProgram(t, folder, { ...faultSettings, SVC_DISK_RESERVE: '64' });
  const storm = startStorm(program.demo, { name: 'disk', format: 'json', everyMs: 20 });
  await until('some rows', () => (storm.rows() > 200 ? true : undefined));
  const filler = join(folder, 'filler');
  fill(folder, filler, 16);
  const low = await untilReadiness(program, 503);
  t.match(low.reasons.disk, /has \d+ MiB free, less than 32: free some space/);
  fill(folder, filler, 0);
  await until('a refusal', () => storm.statuses.get(503));
  const { reasons } = await readiness(program);
  t.match(reasons.stream, /The stream is unavailable: .*the disk is full; free some space/);
  t.match(storm.refusals.get(503), /NOT_READY/, 'writes are rejected with a reason');
  const refused = await createDestination(program, 'https://hooks.example/a');
  t.match(
    [refused.status, reasonOf(refused)],
    [503, 'NOT_READY'],
    'all other writes are rejected too',
  );
  await until('the log reports it', () =>
    faultLines(program).find((line) => line.includes('the disk is full')),
  );

  truncateSync(filler, 0);
  await untilReadiness(program, 200);
  const before = storm.rows();
  await until('rows again', () => (storm.rows() > before + 50 ? true : undefined));
  const created = await createDestination(program, 'https://hooks.example/b');
  t.equal(created.status, 200, 'everything continues by itself');
  await storm.stop();
  t.same([...storm.statuses.keys()].sort(), [200, 503], 'no other answers');
  await checkStored(t, program.demo, storm.acknowledged);
  await program.kill();
  const again = await startProgram(t, folder, faultSettings);
  await checkStored(t, again.demo, storm.acknowledged);
  t.equal(await again.stop(), 0);
});

/** Grows `filler` until only `leaveMib` are free. */
function fill(folder: string, filler: string, leaveMib: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const bytes = Math.max(0, bavail * bsize - leaveMib * 2 ** 20);
  try {
    writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}

test('the service survives databases locked by another process', { ...atOnce }, async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, faultSettings);
  const cases = [
    { file: 'events.db', write: () => program.call(SAVE_RULE, ruleRequest(program, [])) },
    { file: 'samples.db', write: () => writeReadings(program, ['vm-1'], 1) },
  ];
  for (const { file, write } of cases) {
    const locker = await lock(t, join(folder, file));
    const refused = await write();
    t.match([refused.status, reasonOf(refused)], [503, 'NOT_READY'], `${file}: rejected for now`);
    const { status, reasons } = await readiness(program);
    t.equal(status, 503);
    t.match(reasons.stream, new RegExp(`Cannot write to .*${file}: another connection holds its`));
    await end(locker);
    await untilReadiness(program, 200);
    t.equal((await write()).status, 200, `${file}: accepted again once the lock is released`);
  }
  for (const file of ['control.db', 'secrets.db', 'history.db']) {
    const locker = await lock(t, join(folder, file));
    const answers = [
      createDestination(program, `https://hooks.example/${file}`),
      program.call(SAVE_RULE, ruleRequest(program, [])),
      writeReadings(program, ['vm-1'], 1),
      program.call('monitoring.v1.MonitoringService/ListVMMonitoring', {
        projectName: program.demo.projectName,
      }),
    ];
    const released = new Promise((resolve) => setTimeout(resolve, 1_500)).then(() => end(locker));
    for (const answer of await Promise.all(answers)) {
      t.ok([200, 503].includes(answer.status), `${file}: ${answer.status} ${reasonOf(answer)}`);
    }
    await released;
    await untilReadiness(program, 200);
    const after = await program.call(SAVE_RULE, ruleRequest(program, []));
    t.equal(after.status, 200, `${file}: everything continues`);
  }
  t.equal(await program.stop(), 0);
});

/** A process that holds the write lock of a database until it is ended. */
async function lock(t: Test, path: string): Promise<ChildProcess> {
  const script =
    "import Database from 'better-sqlite3'; const db = new Database(process.argv[1]);" +
    "db.exec('BEGIN IMMEDIATE'); process.stdout.write('locked'); setInterval(() => {}, 1000);";
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => end(child));
  await once(child.stdout, 'data');
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const nats = 'nats-server 2.15.1';
test('the service survives a killed and restarted nats-server', {
  ...needs(nats),
  ...atOnce,
}, async (t) => {
  const store = dataFolder(t);
  const server = await natsServerFor(t, { folder: store });
  const settings = { ...faultSettings, SVC_NATS_URL: server.url, SVC_DEMO: 'on' };
  const receiver = await startReceiver(t, { address: '127.0.0.2' });
  const program = await startProgram(t, dataFolder(t), settings);
  await saveRule(program, [await destinationAt(program, receiver.url)]);
  const storm = startStorm(program.demo, { name: 'nats', format: 'binary', everyMs: 20 });
  await until('some rows', () => (storm.rows() > 100 ? true : undefined));
  await server.kill();
  const away = await untilReadiness(program, 503);
  t.match(away.reasons.stream, /^The stream is unavailable: .+/);
  await until('a refusal', () => storm.statuses.get(503));
  t.match(storm.refusals.get(503), /NOT_READY/);
  const refused = await createDestination(program, 'https://hooks.example/n');
  t.match([refused.status, reasonOf(refused)], [503, 'NOT_READY']);

  await server.start();
  await untilReadiness(program, 200);
  await storm.stop();
  t.same([...storm.statuses.keys()].sort(), [200, 503], 'no other answers');
  t.equal((await writeReadings(program, ['vm-1'], 11)).status, 200);
  const firing = await until('a webhook after the restart', () => receiver.received[0]);
  t.match(firing.body, { type: 'incident.firing', data: { vmName: 'projects/demo/vms/vm-1' } });
  await checkStored(t, program.demo, storm.acknowledged);

  await server.kill();
  rmSync(join(store, 'store'), { recursive: true });
  await server.start();
  await until('readiness to report the loss', async () => {
    const { status, reasons } = await readiness(program);
    const isNamed = /EVENTS is missing on NATS\. Keep the data folders/.test(
      JSON.stringify(reasons),
    );
    return status === 503 && isNamed ? true : undefined;
  });
  const change = await createDestination(program, 'https://hooks.example/lost');
  t.match(
    [change.status, reasonOf(change)],
    [503, 'NOT_READY'],
    'EVENTS is not rebuilt automatically',
  );
  t.equal(await program.stop(), 0);
});

test('misbehaving webhook endpoints delay no other delivery', { ...atOnce }, async (t) => {
  const program = await startProgram(t, dataFolder(t), faultSettings);
  const endpoints = await startBadEndpoints(t, '127.0.0.2');
  for (const url of [
    'https://10.0.0.1/a',
    'http://hooks.example/a',
    'https://[::1]/a',
    'ftp://a/a',
  ]) {
    const refused = await createDestination(program, url);
    t.match([refused.status, reasonOf(refused)], [400, 'INVALID_FIELD'], `${url} is rejected`);
    t.match(refused.body.message, /is not a public address|must begin with https/);
  }
  const paths = ['hang', '500', 'redirect', 'endless', 'ok'];
  const names = new Map<string, string>();
  for (const path of paths) {
    names.set(await destinationAt(program, `${endpoints.origin}/${path}`), `/${path}`);
  }
  await saveRule(program, [...names.keys()]);
  await writeReadings(program, ['vm-1'], 11);
  const outcomes = await until('an outcome of each', async () => {
    const deliveries = await deliveriesOf(program);
    const ended = deliveries.filter(({ attempts }) => attempts[0]?.outcome);
    return ended.length === names.size ? ended : undefined;
  });
  const [good, closed] = ['/ok', '/hang closed'].map((what) => endpoints.order.indexOf(what));
  t.ok(Number(good) < Number(closed), 'the good endpoint does not wait for the others');
  const byPath = new Map(outcomes.map((each) => [names.get(each.destinationName), each]));
  t.match(byPath.get('/ok'), { state: 'SENT', attempts: [{ outcome: 'accepted' }] });
  t.match(byPath.get('/hang')?.attempts[0], {
    outcome: 'unknown',
    error: /No response within the time limit of an attempt/,
  });
  t.match(byPath.get('/500')?.attempts[0], { httpStatus: 500, error: /answered 500/ });
  t.match(byPath.get('/redirect')?.attempts[0], {
    httpStatus: 307,
    error: /Redirects are not followed/,
  });
  t.match(byPath.get('/endless'), { state: 'SENT' }, 'its status counts, not its 10 GB');
  t.equal(endpoints.hits.get('/stolen'), undefined, 'no request follows a redirect');
  t.ok(endpoints.sentBytes() < 64 * 2 ** 20, `bytes read of 10 GB: ${endpoints.sentBytes()}`);
  t.equal((await readiness(program)).status, 200, 'the service stays ready');
  t.same(faultLines(program), [], 'faults of others do not count as faults of the service');
  t.equal(await program.stop(), 0, 'it stops although retries are pending');
});
