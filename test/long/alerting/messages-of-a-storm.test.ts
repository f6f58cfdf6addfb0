/**
 * A rule that fires on 200 VMs, as its recipients experience it: the whole service sends to a
 * webhook, a chat and a mail server over real sockets, and every arriving message is counted. The
 * clock skips the waits.
 */
import { randomUUID } from 'node:crypto';
import { type Test, test } from 'tap';
import { type Person, signInBy } from '../../support/busy-project/people.ts';
import { bodyOf, headerOf, startMailServer } from '../../support/mail-server.ts';
import { dataFolder, runInProcess, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService } from '../../support/service-in-process.ts';
import { SkippingClock } from '../../support/skipping-clock.ts';

const PROJECT = 'projects/acme';
const OWNER = 'oncall@example.test';
const VMS = 200;
/** Longer than all VMs need to fire on a slow machine. */
const WAIT_SECONDS = 300;
const MINUTE_MS = 60_000;

type Json = Record<string, unknown>;

/** The service, one owner, and counters of all arriving messages. */
async function startWorld(t: Test) {
  const folder = dataFolder(t);
  const clock = new SkippingClock();
  const [mail, gathering, alone, chat] = await Promise.all([
    startMailServer(t),
    startReceiver(t),
    startReceiver(t),
    startReceiver(t),
  ]);
  const settings = {
    SVC_SMTP_URL: mail.url,
    SVC_SMTP_FROM: 'svc@example.test',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  };
  const program = await startService(t, folder, settings, clock);
  const admin = async (...args: string[]) => {
    const ran = await runInProcess(['admin', ...args, '--data', folder, '--json']);
    if (ran.code !== 0) throw new Error(ran.text);
    return JSON.parse(ran.stdout) as { link: string; key: string };
  };
  await admin('project', 'create', 'acme', '--owner', OWNER);
  const { key } = await admin(
    'collector-key',
    'create',
    '--datacenter',
    'DC-1',
    '--project',
    'acme',
  );
  const owner = await signInBy((await admin('login-link', OWNER)).link);
  return { clock, mail, gathering, alone, chat, program, key, owner };
}

type World = Awaited<ReturnType<typeof startWorld>>;

function ask(owner: Person, method: string, request: object): Promise<Json> {
  const service = method.endsWith('MaintenanceWindow') ? 'MaintenanceService' : 'AlertService';
  const isRead = method.startsWith('List') || method.startsWith('Get');
  const id = isRead ? {} : { requestId: randomUUID() };
  const about = { projectName: PROJECT, ...id, ...request };
  return owner.call(`monitoring.v1.${service}/${method}`, about);
}

async function addDestination({ owner }: World, target: object, more: object = {}) {
  const destination = { displayName: JSON.stringify(Object.keys(target)), ...target, ...more };
  const answer = await ask(owner, 'CreateDestination', { destination });
  return String((answer.destination as Json).name);
}

/** The recipient opens the link in the mail and presses the button. */
async function confirmAddress({ mail }: World): Promise<void> {
  const invitation = await until('the invitation', () => mail.mails[0]);
  const link = new URL(/^http\S+$/m.exec(bodyOf(invitation))?.[0] ?? '');
  const pressed = await fetch(link.origin + link.pathname, {
    method: 'POST',
    body: new URLSearchParams({ token: link.hash.slice(1) }),
    headers: { origin: link.origin },
  });
  if (pressed.status !== 200) throw new Error(`The button was answered ${pressed.status}`);
}

/** Writes one reading of each VM. */
async function write({ clock, program, key }: World, percent: number): Promise<void> {
  const atMs = clock.now();
  const rows = Array.from({ length: VMS }, (_, n) => ({
    vmName: `vm-${n}`,
    displayName: `shop-${n}`,
    observedUnixMs: String(atMs),
    bootId: 'boot',
    sequence: String(atMs),
    vcpus: 2,
    state: 'RUNNING',
    values: [{ series: 'svc_vm_cpu_utilization_pct', value: percent }],
  }));
  const request = { projectName: PROJECT, rows };
  const { status, body } = await program.call('ingest.v1.IngestService/WriteSamples', request, key);
  if (status !== 200 || (body.refused as unknown[])?.length) throw new Error(JSON.stringify(body));
}

async function untilFiring({ owner }: World, count: number): Promise<void> {
  await until(`${count} fire`, async () => {
    const { incidents } = await ask(owner, 'GetProjectOverview', {});
    return Number((incidents as Json).firing) === count || undefined;
  });
}

/** Waits until the newest group of each of them has all incidents. */
async function untilGathered({ owner }: World, destinations: readonly string[]): Promise<void> {
  for (const destinationName of destinations) {
    await until(`a group of ${VMS}`, async () => {
      const request = { destinationName, states: ['QUEUED'], pageSize: 1 };
      const { deliveries } = await ask(owner, 'ListDeliveries', request);
      return (deliveries as Json[])[0]?.incidentCount === VMS || undefined;
    });
  }
}

/** Waits until no message is in flight to that destination, or to any. */
async function untilQuiet({ owner }: World, destinationName = ''): Promise<void> {
  const states = ['QUEUED', 'RECHECKING', 'SENDING', 'WAITING'];
  await until('no message is in flight', async () => {
    const { deliveries } = await ask(owner, 'ListDeliveries', {
      destinationName,
      states,
      pageSize: 1,
    });
    return (deliveries as Json[]).length === 0 || undefined;
  });
}

/** Number of messages so far, by destination. */
function counts({ mail, gathering, alone, chat }: World) {
  const mails = mail.mails.filter((one) => /High CPU/.test(headerOf(one, 'subject') ?? ''));
  return {
    webhook: gathering.received.length,
    chat: chat.received.length,
    mail: mails.length,
    webhookWithoutWait: alone.received.length,
  };
}

/**
 * The same number for each destination that gathers, and another for the one that does not wait.
 */
function each(messages: number, single: number) {
  return { webhook: messages, chat: messages, mail: messages, webhookWithoutWait: single };
}

test('HOOK-28: a rule firing on 200 VMs sends one message per destination and group', async (t) => {
  t.setTimeout(840_000);
  const world = await startWorld(t);
  const { owner, clock, gathering } = world;
  const wait = { groupWaitSeconds: WAIT_SECONDS };
  const gather = [
    await addDestination(world, { webhook: { url: gathering.url } }, wait),
    await addDestination(world, { discord: { url: world.chat.url } }, wait),
    await addDestination(world, { email: { recipients: [{ address: OWNER }] } }, wait),
  ];
  await confirmAddress(world);
  const single = await addDestination(world, { webhook: { url: world.alone.url } });
  await write(world, 10);
  const { name: ruleName } = await ask(owner, 'SaveAlertRule', {
    id: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'High CPU',
      metricId: 'cpu_utilization_pct',
      severity: 'CRITICAL',
      operator: 'GREATER_THAN',
      threshold: 90,
      sustainedSeconds: 0,
      allVms: true,
      destinationNames: [...gather, single],
    },
  });
  /** Time passes while nothing is in flight, since an attempt that timed out would be retried. */
  const sendGathered = async () => {
    await untilGathered(world, gather);
    await untilQuiet(world, single);
    clock.advance(WAIT_SECONDS * 1000);
    await untilQuiet(world);
  };
  /** All VMs go bad or recover, and the gathered messages are sent. */
  const change = async (percent: number, firing: number) => {
    clock.advance(MINUTE_MS);
    await write(world, percent);
    await untilFiring(world, firing);
    await sendGathered();
  };

  await t.test('all VMs go bad', async (t) => {
    await change(97, VMS);
    t.same(counts(world), each(1, VMS));
    const [message] = gathering.received;
    const { incidents, incidentsLeftOut } = (message?.body.data ?? {}) as Json;
    t.equal(
      (incidents as []).length + Number(incidentsLeftOut),
      VMS,
      'its text says how many incidents it is about',
    );
    const name = `${PROJECT}/deliveries/${message?.headers['webhook-id']}`;
    const delivery = await ask(owner, 'GetDelivery', { name });
    t.equal((delivery.members as unknown[]).length, VMS, 'its delivery has all of them');
  });

  await t.test('all VMs recover', async (t) => {
    await change(10, 0);
    t.same(counts(world), each(2, 2 * VMS));
  });

  await t.test(
    'HOOK-29: a maintenance window sends nothing until one message at its end',
    async (t) => {
      clock.advance(MINUTE_MS);
      const untilUnix = String(Math.floor(clock.now() / 1000) + 15 * 60);
      await ask(owner, 'CreateMaintenanceWindow', { ruleName, untilUnix });
      await write(world, 97);
      await untilFiring(world, VMS);
      clock.advance(WAIT_SECONDS * 1000);
      await untilQuiet(world);
      t.same(counts(world), each(2, 2 * VMS), 'none');
      const suppressed = { destinationName: single, states: ['SUPPRESSED'], pageSize: 500 };
      const { deliveries } = await ask(owner, 'ListDeliveries', suppressed);
      const reasons = (deliveries as Json[]).map(({ reason }) => reason);
      t.same(reasons, Array(VMS).fill('MAINTENANCE'), 'each is recorded, with the reason');
      clock.advance(11 * MINUTE_MS);
      await sendGathered();
      t.same(counts(world), each(3, 3 * VMS));
      t.equal(gathering.received[2]?.body.type, 'incident.repeated');
      clock.advance(10 * MINUTE_MS);
      await untilQuiet(world);
      t.same(counts(world), each(3, 3 * VMS), 'nothing is sent later');
    },
  );
});
