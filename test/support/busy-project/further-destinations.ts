/**
 * Destinations of a busy project beside those that its rules name: one of each chat, a paused one,
 * one with two secrets at once, and mail whose recipients are in each state. Recipients confirm and
 * unsubscribe with the links in their mails, as people do.
 */
import { randomUUID } from 'node:crypto';
import { bodyOf, headerOf, type MailServer } from '../mail-server.ts';
import { until } from '../program.ts';
import { type Person, signInBy } from './people.ts';

const ALERTS = 'monitoring.v1.AlertService';

interface Surroundings {
  readonly origin: string;
  readonly projectName: string;
  readonly owner: Person;
  readonly mail: MailServer;
  /** Endpoint that accepts everything. */
  readonly url: string;
  readonly markup: (text: string) => string;
}

/** Members who join for these destinations, by their later state. Each proves the address with a mailed link. */
const MEMBERS = {
  confirms: 'annie@example.com',
  unsubscribes: 'joan@example.com',
  bounces: 'radia@example.com',
  waits: 'frances@example.com',
} as const;

export async function createFurtherDestinations(around: Surroundings): Promise<void> {
  const { markup, url, owner, mail } = around;
  const create = (displayName: string, target: object): Promise<string> =>
    createDestination(around, { displayName: markup(displayName), ...target });
  await create('Team channel', { slack: { url: `${url}/slack` } });
  await create('Night shift', { discord: { url: `${url}/discord` } });
  const teams = await create('Operations', { teams: { url: `${url}/teams` } });
  const reason = markup('The channel is being moved');
  await owner.call(`${ALERTS}/PauseDestination`, { name: teams, requestId: randomUUID(), reason });
  const rotated = await create('Status page', { webhook: { url } });
  await owner.call(`${ALERTS}/RotateWebhookSecret`, {
    name: rotated,
    requestId: randomUUID(),
    overlapSeconds: 86_400,
  });
  for (const address of Object.values(MEMBERS)) await join(around, address);
  const recipients = Object.values(MEMBERS).map((address) => ({ address }));
  const { confirms, unsubscribes, bounces, waits } = MEMBERS;
  const everybody = await create('Mail to everybody', { email: { recipients } });
  await create('Mail to the newcomers', { email: { recipients: [{ address: waits }] } });
  for (const address of [confirms, unsubscribes, bounces]) await confirm(mail, address);
  const sendTest = () =>
    owner.call(`${ALERTS}/SendTestNotification`, { name: everybody, requestId: randomUUID() });
  await sendTest();
  await unsubscribe(mail, unsubscribes);
  mail.refuseWith = 550;
  await sendTest();
  await until('an address bounces', async () => {
    const displayed = await owner.call(`${ALERTS}/GetDestination`, { name: everybody });
    return JSON.stringify(displayed).includes('BOUNCED') || undefined;
  });
  mail.refuseWith = undefined;
}

async function createDestination(around: Surroundings, destination: object): Promise<string> {
  const { owner, projectName } = around;
  const request = { projectName, requestId: randomUUID(), destination };
  const answer = await owner.call(`${ALERTS}/CreateDestination`, request);
  return (answer.destination as { name: string }).name;
}

/** Joins the project, then signs in with a mailed link, which proves the address. */
async function join(around: Surroundings, email: string): Promise<void> {
  const { owner, projectName, origin, mail } = around;
  const request = { projectName, requestId: randomUUID(), email, role: 'VIEWER' };
  const { link } = await owner.call('project.v1.ProjectService/InviteMember', request);
  await signInBy(String(link));
  await fetch(`${origin}/auth/email`, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', origin },
    body: JSON.stringify({ email }),
  });
  await signInBy(await linkIn(mail, email, 'Sign in'));
}

async function confirm(mail: MailServer, address: string): Promise<void> {
  const link = new URL(await linkIn(mail, address, 'Confirm'));
  await press(link, { token: link.hash.slice(1) });
}

async function unsubscribe(mail: MailServer, address: string): Promise<void> {
  const header = await until(`a mail to ${address} that can be ended`, () =>
    mail.mails
      .filter(({ to }) => to.includes(address))
      .map((one) => headerOf(one, 'list-unsubscribe'))
      .find((text) => text !== undefined),
  );
  const link = new URL(/<(http[^>]+)>/.exec(header)?.[1] ?? '');
  await press(link, { 'List-Unsubscribe': 'One-Click' });
}

/**
 * Presses the button of a page that a mail links to. Throws with the answer if it is not accepted.
 */
async function press(link: URL, fields: Readonly<Record<string, string>>): Promise<void> {
  const answer = await fetch(link.origin + link.pathname + link.search, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin: link.origin },
  });
  if (!answer.ok) throw new Error(`${link.pathname} answered ${answer.status}`);
}

/** The link in the newest mail to an address whose subject has this prefix. */
function linkIn(mail: MailServer, address: string, subject: string): Promise<string> {
  return until(`a mail to ${address}`, () =>
    mail.mails
      .filter((one) => one.to.includes(address) && headerOf(one, 'subject')?.startsWith(subject))
      .map((one) => /^http\S+$/m.exec(bodyOf(one))?.[0])
      .at(-1),
  );
}
