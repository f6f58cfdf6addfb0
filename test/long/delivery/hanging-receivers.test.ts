/**
 * Receivers that accept a connection and never answer, over real sockets: 1,000 webhooks of 200
 * projects at a whole service, and 1,000 recipients at a mail server. Other projects are notified
 * at the same time, and the bounds of the queues hold.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import t, { type Test, test } from 'tap';
import type { AttemptRequest, Notifier } from '../../../actors/delivery/notifier-port.ts';
import { encodeLetter, renderLetter } from '../../../src/delivery/notify/email/letter.ts';
import { AddressGuard } from '../../../src/delivery/notify/http/address-guard.ts';
import { openNotifier } from '../../../src/delivery/notify/notifier.ts';
import { silentLog } from '../../../src/platform/log.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { destinationAt, saveRule, writeReadings } from '../../e2e/fault-injection.ts';
import { type Person, signInBy } from '../../support/busy-project/people.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { messageNamed } from '../../support/messages.ts';
import { PatientClock } from '../../support/patient-clock.ts';
import { dataFolder, type Program, runInProcess, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { openDeliveryWorld } from '../../support/scripted-delivery.ts';
import { startService } from '../../support/service-in-process.ts';

t.setTimeout(840_000);

const PROJECTS = 200;
const DESTINATIONS = 5;
const HANGING = PROJECTS * DESTINATIONS;
/** Longer than a retry waits, and shorter than an attempt. */
const DEADLINES_MS = 8_000;

/** Accepts connections, reads every request, and never answers. */
async function startSilentReceiver(t: Test) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 2 * HANGING });
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  return {
    url: (path: string) => `http://127.0.0.1:${port}/${path}`,
    connections: () => sockets.size,
  };
}

/** A project of its own, with the key of its collector, as its owner uses it. */
async function projectOf(
  program: Program,
  owner: Person,
  admin: (...args: string[]) => Promise<Record<string, unknown>>,
  project: string,
): Promise<Program> {
  const where = ['--datacenter', `DC-${project}`, '--project', project];
  const { key } = await admin('collector-key', 'create', ...where);
  const demo = {
    ...program.demo,
    projectName: `projects/${project}`,
    collectorKey: String(key),
  };
  return {
    ...program,
    demo,
    async call(method, request, withKey) {
      if (withKey !== undefined) return program.call(method, request, withKey);
      return {
        status: 200,
        body: await owner.call(method, request as object),
        headers: new Headers(),
      };
    },
  };
}

test('HOOK-15: 1,000 webhooks that never answer delay no message of another project', async (t) => {
  const clock = new PatientClock();
  const folder = dataFolder(t);
  const settings = {
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
    SVC_GROUP_WAIT_SECONDS: '0',
    SVC_METRICS_ON_API: 'on',
  };
  const quiet = await startService(t, folder, settings, clock);
  const receiver = await startReceiver(t);
  const silent = await startSilentReceiver(t);
  const admin = async (...args: string[]) => {
    const { code, stdout, text } = await runInProcess([
      'admin',
      ...args,
      '--data',
      folder,
      '--json',
    ]);
    if (code !== 0) throw new Error(text);
    return JSON.parse(stdout);
  };
  await saveRule(quiet, [await destinationAt(quiet, receiver.url)]);
  const ids = Array.from({ length: PROJECTS }, (_, i) => `crowd-${i}`);
  for (const id of ids) await admin('project', 'create', id, '--owner', 'ada@example.com');
  const owner = await signInBy((await admin('login-link', 'ada@example.com')).link);
  const crowd: Program[] = [];
  for (const id of ids) {
    const project = await projectOf(quiet, owner, admin, id);
    const names: string[] = [];
    for (let i = 0; i < DESTINATIONS; i++) {
      names.push(await destinationAt(project, silent.url(`${id}/${i}`)));
    }
    await saveRule(project, names);
    crowd.push(project);
  }

  clock.withhold(DEADLINES_MS);
  for (const project of crowd) {
    const { status } = await writeReadings(project, ['vm-1', 'vm-2'], 11);
    if (status !== 200) throw new Error(`A collector's reading was answered ${status}`);
  }
  await until('all receivers hang', () => silent.connections() === HANGING || undefined);
  const events: string[] = [];
  for (const value of [11, 5, 12, 6, 13]) {
    await writeReadings(quiet, ['vm-quiet'], value);
    const message = await until('the next message', () => receiver.received[events.length]);
    events.push(message.body.type);
  }
  const [fired, recovered] = ['incident.firing', 'incident.recovered'];
  t.same(events, [fired, recovered, fired, recovered, fired]);
  t.equal(silent.connections(), HANGING, 'all of them still hang, each with one attempt');
  const headers = { authorization: `Bearer ${quiet.demo.apiKey}` };
  const metrics = await (await fetch(`${quiet.demo.baseUrl}/metrics`, { headers })).text();
  t.match(metrics, new RegExp(`^svc_deliveries_in_flight ${HANGING}$`, 'm'));
  t.match(metrics, new RegExp(`^svc_delivery_lanes ${HANGING}$`, 'm'));
});

/** Rules, their mail destinations, and the recipients of each. */
const MAILS = { rules: 10, destinations: 5, recipients: 20 };
/** Mails in flight at a time, without those of projects that have nothing else in flight. */
const MAIL_SLOTS = 32;

test('HOOK-15: 1,000 recipients whose mail server never answers use only their own connections', async (t) => {
  const world = await openDeliveryWorld(t);
  const server = await startMailServer(t);
  server.isSilentFor = (address) => address.startsWith('crowd');
  const receiver = await startReceiver(t);
  const metrics = createMetrics({ clock: world.clock, version: 'test' });
  t.teardown(() => metrics.close());
  const real = openNotifier({
    guard: new AddressGuard({ hosts: ['127.0.0.1'], http: true }),
    clock: world.clock,
    mail: {
      smtpUrl: server.url,
      from: 'svc@example.com',
      publicUrl: () => 'https://svc.example.com',
      clock: world.clock,
      log: silentLog,
      metrics,
    },
  });
  t.teardown(() => real.close());
  const letter = encodeLetter(renderLetter(messageNamed('CPU')));
  const atReceiver = (request: AttemptRequest): AttemptRequest => {
    const { target } = request;
    if ('address' in target) {
      const address = `${target.address}@example.com`;
      return { ...request, body: letter, target: { ...target, address } };
    }
    return 'url' in target ? { ...request, target: { ...target, url: receiver.url } } : request;
  };
  const notifier: Notifier = { ...real, attempt: (request) => real.attempt(atReceiver(request)) };
  const rules = Array.from({ length: MAILS.rules }, (_, i) => `rule-${i}`);
  for (const rule of rules) {
    const destinationNames: string[] = [];
    for (let i = 0; i < MAILS.destinations; i++) {
      const recipients = Array.from(
        { length: MAILS.recipients },
        (_, n) => `crowd-${rule}-${i}-${n}`,
      );
      destinationNames.push(await world.addMail(recipients));
    }
    await world.putInForce({ destinationNames }, { rule });
  }
  const project = 'quiet';
  const destinationNames = [
    await world.addMail(['quiet'], project),
    await world.addDestination(project),
  ];
  await world.putInForce({ destinationNames }, { project });
  world.startTimers();
  const { deliverer } = world.startDeliverer({ notifier });

  for (const rule of rules) await world.fire(['vm-1'], { rule });
  await until('all connections hang', () => server.connections === MAIL_SLOTS || undefined);
  await world.fire(['vm-1'], { project });
  await until('the webhook of the quiet project', () => receiver.received[0]);
  await until('the mail of the quiet project', () => server.mails[0]);
  t.same(server.mails[0]?.to, ['quiet@example.com']);
  t.ok(server.connections <= MAIL_SLOTS + 1, `${server.connections} connections are open`);
  // Messages that have arrived stay in flight until their attempts are committed.
  await until(
    'the end of the other attempts',
    () => deliverer.inFlight() === MAIL_SLOTS || undefined,
  );
  t.ok(server.offered.length <= MAIL_SLOTS + 1, 'each connection has one mail');
  t.same(world.reportedFaults(), []);
});
