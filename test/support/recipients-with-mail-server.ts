/**
 * Sets up mail destinations: real people and members, the real pages on 127.0.0.1, a real mail
 * server that stores accepted mails, and a virtual clock.
 */
import type { Test } from 'tap';
import type { Destinations } from '../../actors/delivery/destinations-port.ts';
import { recipientOf, recipientRows } from '../../actors/delivery/recipients.ts';
import type { Role } from '../../machines/identity/membership.ts';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { openDestinations, unsubscribeLinks } from '../../src/delivery/open-delivery.ts';
import { tester } from './host-in-memory.ts';
import { bodyOf, type MailServer, startMailServer, type TakenMail } from './mail-server.ts';
import { sealedIn } from './sealed-in-memory.ts';
import { startSignInWorld } from './sign-in-server.ts';

let requests = 0;

/** A caller with a unique request id. */
export function caller(project = 'demo') {
  const request = { scope: 'test', id: `r${++requests}`, fingerprint: 'f' };
  return { project, by: tester, request };
}

export type RecipientsWorld = Awaited<ReturnType<typeof startRecipientsWorld>>;

/** Starts a world with projects `demo` and `other` that ends with the test. */
export async function startRecipientsWorld(t: Test) {
  const server = await startMailServer(t);
  const sealed = new Map<string, string>();
  const made: {
    destinations?: Destinations;
    unsubscribeUrl?: ReturnType<typeof unsubscribeLinks>;
  } = {};
  const world = await startSignInWorld(
    t,
    { SVC_SMTP_URL: server.url, SVC_SMTP_FROM: 'Monitoring <svc@example.com>' },
    (people) => people,
    async (app, parts) => {
      const { host, mail, origin, deriveKey, ...base } = parts;
      const opened = openDestinations({
        base,
        host,
        mail,
        origin,
        deriveKey,
        earlierKeys: () => [],
        guard: new AddressGuard({ hosts: [], http: false }),
        sealed: sealedIn(sealed),
        groupWaitMs: 0,
      });
      made.destinations = opened.destinations;
      made.unsubscribeUrl = unsubscribeLinks(parts.deriveKey, parts.origin);
      await opened.addRecipientRoutes(app);
    },
  );
  const { destinations, unsubscribeUrl } = made;
  if (!destinations || !unsubscribeUrl) throw new Error('No routes were added');
  for (const project of ['demo', 'other']) {
    await world.members.createProject({
      by: tester,
      project,
      displayName: `The ${project}`,
      owner: null,
    });
  }
  return {
    ...world,
    server,
    sealed,
    destinations,
    unsubscribeUrl,
    ...acting({ ...world, server, destinations }),
  };
}

type Core = Awaited<ReturnType<typeof startSignInWorld>> & {
  readonly server: MailServer;
  readonly destinations: Destinations;
};

function acting(world: Core) {
  const { host, server, destinations, members, people, signIn } = world;
  return {
    /** Creates a member with that verified address. Resolves with the membership's id. */
    async member(
      email: string,
      { project = 'demo', role = 'VIEWER' as Role } = {},
    ): Promise<string> {
      const known = people.personByEmail(email);
      const person = known ?? (await world.person(email));
      return members.addMember({ by: tester, project, person, role });
    },
    /** Creates a mail destination. Resolves with its id. */
    async mailTo(addresses: readonly string[], project = 'demo'): Promise<string> {
      const target = { kind: 'email', addresses } as const;
      const creation = { ...caller(project), displayName: 'On call', target };
      const { destination } = await destinations.create(creation);
      await signIn.mail?.settled();
      return destination.instance;
    },
    /** Address and state of each recipient. */
    states(destination: string, project = 'demo'): Record<string, unknown> {
      const rows = recipientRows(host.view(project), destination);
      return Object.fromEntries(rows.map((row) => [recipientOf(row).address, row.value]));
    },
    /** Id of the recipient with that address. */
    recipient(destination: string, address: string, project = 'demo'): string {
      const rows = recipientRows(host.view(project), destination);
      const row = rows.find((one) => recipientOf(one).address === address);
      if (!row) throw new Error(`${address} is not a recipient`);
      return row.instance;
    },
    /** Secret in the link of the newest mail to the address. */
    tokenFor(address: string): string {
      const mail = server.mails.findLast(({ to }) => to.includes(address));
      if (!mail) throw new Error(`No mail was sent to ${address}`);
      return new URL(linkIn(mail)).hash.slice(1);
    },
  };
}

/** The link in a mail. */
export function linkIn(mail: TakenMail): string {
  return /^http\S+$/m.exec(bodyOf(mail))?.[0] ?? '';
}
