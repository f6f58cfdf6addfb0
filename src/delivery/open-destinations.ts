/**
 * Destinations, put together: what the API asks of them, the mails and pages by which recipients
 * confirm their addresses, and the links by which they unsubscribe.
 */
import type { FastifyInstance } from 'fastify';
import { forgetOverlapped } from '../../actors/delivery/destination-acts.ts';
import { createDestinations, type DestinationsDeps } from '../../actors/delivery/destinations.ts';
import type { Destinations } from '../../actors/delivery/destinations-port.ts';
import { createRecipientLinks } from '../../actors/delivery/recipient-links.ts';
import { forgetOrphans } from '../../actors/delivery/sealed-orphans.ts';
import type { ListedValues } from '../../actors/delivery/sealed-values.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import { createRecipientTokens } from '../identity/auth/recipient-tokens.ts';
import type { Log } from '../platform/log.ts';
import type { MailQueue } from '../platform/mail/mail-queue.ts';
import type { Metrics } from '../platform/metrics.ts';
import { refuseChatUrl } from './notify/chat/hosts.ts';
import type { AddressGuard } from './notify/http/address-guard.ts';
import { formatSecret } from './notify/webhook/signature.ts';
import { addRecipientRoutes } from './recipients/routes.ts';
import { createUnsubscribeCodes, unsubscribeUrl } from './recipients/unsubscribe-codes.ts';
import { verificationMails } from './verification-mail.ts';

export interface DestinationParts {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly guard: AddressGuard;
  readonly sealed: ListedValues;
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Origin for clients, asked while the server listens. */
  readonly origin: () => string;
  /** undefined: no mail server is set. */
  readonly mail: MailQueue | undefined;
}

/** Also forgets what no destination refers to: the host has caught up by now. */
export function openDestinations(parts: DestinationParts): {
  readonly destinations: Destinations;
  /** Adds the pages behind the links of mails. */
  addRecipientRoutes(app: FastifyInstance): Promise<void>;
} {
  const { mail, ...ports } = parts;
  const { host, guard, deriveKey } = ports;
  const tokens = createRecipientTokens(parts);
  const displayNameOf = (project: string) => projectName(host, project);
  const deps: DestinationsDeps = {
    ...ports,
    refuseUrl: (kind, url) =>
      kind === 'webhook' ? guard.refuseUrl(url) : refuseChatUrl(kind, url, guard),
    makeSecret: (source) => formatSecret(source.bytes(32)),
    ...(mail && { mail: { tokens, mails: verificationMails({ ...ports, mail, displayNameOf }) } }),
  };
  const faults = ports.metrics.counter(
    'svc_destination_faults_total',
    'Old secrets of destinations that could not be forgotten',
  );
  forgetOverlapped(ports, (error) => {
    faults.inc();
    ports.log.error({ err: error, part: 'destinations' }, 'An old secret could not be forgotten');
  });
  const count = forgetOrphans(ports);
  if (count > 0) ports.log.info({ count, part: 'destinations' }, 'Orphaned secrets were forgotten');
  const codes = createUnsubscribeCodes(deriveKey(UNSUBSCRIBE_PURPOSE));
  const links = createRecipientLinks({ host, tokens });
  return {
    destinations: createDestinations(deps),
    addRecipientRoutes: (app) => addRecipientRoutes(app, { ...ports, links, codes }),
  };
}

const UNSUBSCRIBE_PURPOSE = 'unsubscribe links';

/** For the headers of mails: where a recipient ends the subscription with one click (RFC 8058). */
export function unsubscribeLinks(
  deriveKey: (purpose: string) => Uint8Array,
  origin: () => string,
): (project: string, recipient: string) => string {
  const codes = createUnsubscribeCodes(deriveKey(UNSUBSCRIBE_PURPOSE));
  return (project, recipient) => unsubscribeUrl(origin(), codes.make({ project, recipient }));
}

function projectName(host: Pick<Host, 'view'>, project: string): string {
  const name = host.view(project).record('project', project)?.body.displayName;
  return typeof name === 'string' ? name : project;
}
