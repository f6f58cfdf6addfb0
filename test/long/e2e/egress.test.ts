/**
 * Two members of which one reaches no receiver: it leaves due attempts to the other. Messages of
 * two projects, since failures of one tenant decide nothing.
 */
import { randomUUID } from 'node:crypto';
import t, { test } from 'tap';
import { type Person, signInBy } from '../../support/busy-project/people.ts';
import { needs } from '../../support/components.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { scenarioSettings } from '../../support/member-scenario.ts';
import { type Member, startMembers } from '../../support/members.ts';
import { svc } from '../../support/operator-commands.ts';
import { until, untilLogged } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';

t.setTimeout(400_000);
const ALERTS = 'monitoring.v1.AlertService';
const DESTINATIONS = 4;
/** The other end hangs up after the proxy has connected it, so no receiver answers. */
const HANG_UP = { raw: 'HTTP/1.1 200 Connected\r\n\r\n' };

interface Target {
  readonly owner: Person;
  readonly name: string;
}

test(
  'DUR-30: a member whose sends all fail stops taking due attempts, and another one sends',
  needs('nats-server 2.15.1'),
  async (t) => {
    const cluster = await startMembers(t, 1, scenarioSettings);
    const proxy = await startConnectProxy(t, { addressOf: (host) => host });
    proxy.answer(HANG_UP);
    const [first] = cluster.members;
    const cutOff = await cluster.add({
      settings: { SVC_WEBHOOK_PROXY: `http://127.0.0.1:${proxy.port}` },
    });
    await cutOff.start();
    const receiver = await startReceiver(t, { address: '127.0.0.2' });
    const owner = await signInBy(cluster.demo.signInUrl ?? '');
    const other = await secondOwner(first);
    const targets = [
      ...(await destinationsOf(owner, cluster.demo.projectName, receiver.url)),
      ...(await destinationsOf(other, 'projects/second', receiver.url)),
    ];
    let sent = 0;
    const send = (): Promise<boolean> => sendTest(targets[sent++ % targets.length]);

    await until('it rests', async () => {
      await send();
      return (await partsOf(cutOff)).egress === 'degraded' || undefined;
    });
    t.equal((await partsOf(first)).egress, 'ready');
    await untilLogged(cutOff, /No receiver can be reached from this member: other members send/);
    const [tried, arrived] = [proxy.requested.length, receiver.received.length];
    let accepted = 0;
    for (const _ of targets) if (await send()) accepted++;
    t.ok(accepted > 0);
    await until('they arrive', () => receiver.received.length >= arrived + accepted || undefined);
    t.ok(proxy.requested.length - tried <= 1, 'it opens no further attempts');

    proxy.answer(undefined);
    await until('it sends again', async () => {
      await send();
      const { egress } = await partsOf(cutOff);
      return (egress === 'ready' && proxy.passed().includes('POST')) || undefined;
    });
  },
);

async function secondOwner(member: Member | undefined): Promise<Person> {
  const data = ['--data', member?.folder ?? ''];
  const owner = 'owner@example.com';
  const made = await svc(['admin', 'project', 'create', 'second', '--owner', owner, ...data]);
  const { stdout, stderr } = await svc(['admin', 'login-link', owner, ...data]);
  if (stdout === '') throw new Error(`There is no second project:\n${made.stderr}${stderr}`);
  return signInBy(stdout.trim());
}

async function destinationsOf(owner: Person, projectName: string, url: string): Promise<Target[]> {
  const targets: Target[] = [];
  for (let n = 0; n < DESTINATIONS; n++) {
    const answer = await owner.call(`${ALERTS}/CreateDestination`, {
      projectName,
      requestId: randomUUID(),
      destination: { displayName: `Receiver ${n}`, webhook: { url: `${url}/${n}` } },
    });
    targets.push({ owner, name: (answer.destination as { name: string }).name });
  }
  return targets;
}

/** false: the limits of tests refuse it. */
async function sendTest(target: Target | undefined): Promise<boolean> {
  const request = { name: target?.name, requestId: randomUUID() };
  try {
    await target?.owner.call(`${ALERTS}/SendTestNotification`, request);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes(' 429: ')) return false;
    throw error;
  }
}

async function partsOf(member: Member | undefined): Promise<Readonly<Record<string, string>>> {
  const answer = await fetch(`${member?.baseUrl}/readyz`);
  const { parts } = (await answer.json()) as {
    readonly parts: readonly { readonly name: string; readonly state: string }[];
  };
  return Object.fromEntries(parts.map(({ name, state }) => [name, state]));
}
