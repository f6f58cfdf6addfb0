/**
 * The wiring of the delivery room: the deliverer with its notifier, the mails to owners, and the
 * destinations of the API, with the pages behind the links in verification mails.
 */
import type { FastifyInstance } from 'fastify';
import { delivererPart } from '../../actors/delivery/deliverer.ts';
import { DestinationRests } from '../../actors/delivery/destination-rests.ts';
import { createDestinations } from '../../actors/delivery/destinations.ts';
import type { Destinations, DestinationsDeps } from '../../actors/delivery/destinations-port.ts';
import { Egress } from '../../actors/delivery/egress.ts';
import type { Notifier } from '../../actors/delivery/notifier-port.ts';
import type { ReportedAttempt } from '../../actors/delivery/outcome.ts';
import { notifyOwners, type OwnerMail } from '../../actors/delivery/owner-notices.ts';
import { createRecipientLinks } from '../../actors/delivery/recipient-links.ts';
import {
  forgetOverlapped,
  type ListedValues,
  sweepSealed,
} from '../../actors/delivery/sealed-values.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import { earlierKeys, UNSUBSCRIBE_PURPOSE } from '../platform/derived-keys.ts';
import { faulty, ready } from '../platform/health.ts';
import type { Resolve } from '../platform/http/dial.ts';
import type { Log } from '../platform/log.ts';
import type { MailQueue } from '../platform/mail/mail-queue.ts';
import { createMailer, mailSender, smtpUrlOf } from '../platform/mail/mailer.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { countEndedDeliveries } from './ended-deliveries.ts';
import { createContents, sealedText } from './notify/contents.ts';
import { AddressGuard } from './notify/http/address-guard.ts';
import { Nat64 } from './notify/http/nat64.ts';
import { refuseUrl, renderers } from './notify/kinds.ts';
import { openNotifier } from './notify/notifier.ts';
import { formatSecret } from './notify/webhook/signatures.ts';
import { ownerMails } from './owner-mail.ts';
import { addRecipientRoutes } from './recipients/routes.ts';
import { createUnsubscribeCodes, unsubscribeUrl } from './recipients/unsubscribe-codes.ts';
import { createRecipientTokens, verificationMails } from './verification-mail.ts';

export interface DeliveryParts {
  readonly base: RoomBase;
  readonly storage: Pick<Storage, 'stream' | 'member' | 'ownership' | 'secrets' | 'deriveKey'>;
  readonly host: Host;
  /**
   * Origin of links in notifications. Called late, because it is known only when the server
   * listens.
   */
  readonly publicUrl: () => string;
  /** Resolves webhook hosts. Default: the system's name servers. */
  readonly resolve?: Resolve | undefined;
}

/**
 * The returned parts still have to be supervised. `openDestinations` needs the API's mail queue.
 */
export function openDelivery(parts: DeliveryParts) {
  const { base, storage, host } = parts;
  const { settings, clock } = base;
  const guard = new AddressGuard({
    hosts: settings.webhookAllow ?? [],
    denied: settings.webhookDeny ?? [],
    http: settings.webhookAllowHttp,
    ports: settings.webhookPorts ?? undefined,
    nat64: new Nat64({ setting: settings.webhookNat64, clock }),
  });
  const sealed = sealedText(storage.secrets);
  const egress = openEgress(parts);
  return {
    /** True if this member sends due attempts now. */
    sends: () => mayDeliver(settings) && !egress.isResting,
    parts: [
      deliverer(parts, { guard, sealed, egress }),
      sealedPart(parts, sealed),
      ...ownerNoticeParts(parts),
    ],
    openDestinations: (api: Pick<DestinationParts, 'mail' | 'origin'>) =>
      openDestinations({
        base,
        host,
        guard,
        sealed,
        mail: api.mail,
        origin: api.origin,
        deriveKey: storage.deriveKey,
        earlierKeys: () => earlierKeys(storage.secrets, UNSUBSCRIBE_PURPOSE),
        groupWaitMs: settings.groupWaitSeconds * 1000,
      }),
  };
}

function notifierOf({ base, publicUrl, resolve }: DeliveryParts, guard: AddressGuard): Notifier {
  const { settings, clock, log, metrics, closers } = base;
  const notifier = openNotifier({
    guard,
    clock,
    ...(resolve && { resolve }),
    ...(settings.webhookProxy !== null && {
      proxy: { url: settings.webhookProxy, passwordFile: settings.webhookProxyPasswordFile, clock },
    }),
    mail: {
      smtpUrl: smtpUrlOf(settings),
      from: mailSender(settings),
      name: settings.smtpName,
      publicUrl,
      clock,
      log,
      metrics,
    },
    onNotCalled: (sentence) => log.warn({ part: 'notifier' }, `Not called: ${sentence}`),
  });
  closers.add('notifier', () => notifier.close());
  return notifier;
}

/** Watches whether receivers can be reached from here; see `Egress`. */
function openEgress({ base, storage }: DeliveryParts): Egress {
  const { clock, health } = base;
  const { member } = storage;
  const egress = new Egress({
    clock,
    isReplaceable: () =>
      member.members().some(({ node, sends }) => node !== member.node && sends === true),
  });
  health.watch({ kind: 'egress', neededFor: 'acting' }, () =>
    egress.isResting
      ? faulty('degraded', 'No receiver can be reached from this member: other members send')
      : ready,
  );
  return egress;
}

interface DelivererParts {
  readonly guard: AddressGuard;
  readonly sealed: ListedValues;
  readonly egress: Egress;
}

function deliverer(parts: DeliveryParts, { guard, sealed, egress }: DelivererParts): Part {
  const { host, publicUrl } = parts;
  const { settings, clock, random, log, metrics, closers } = parts.base;
  const { stream, ownership, secrets, deriveKey } = parts.storage;
  const contents = createContents({
    sealed,
    clock,
    bodies: secrets.bodies,
    publicUrl,
    renderers,
    unsubscribeUrl: unsubscribeLinks(deriveKey, publicUrl),
  });
  const attempts = metrics.counter('svc_delivery_attempts_total', 'Delivery attempts', [
    'kind',
    'outcome',
  ]);
  // Counters start at zero, so that a first failure is an increase.
  const kinds = Object.keys(renderers);
  for (const kind of kinds) {
    for (const outcome of ['accepted', 'failed', 'refused']) attempts.inc({ kind, outcome }, 0);
  }
  const seconds = metrics.histogram('svc_delivery_attempt_seconds', 'Duration of an attempt');
  const faults = metrics.counter(
    'svc_delivery_faults_total',
    'Faults of this service while delivering',
  );
  const part = delivererPart({
    host,
    stream,
    clock,
    random,
    ownership,
    notifier: notifierOf(parts, guard),
    contents,
    delivers: mayDeliver(settings),
    egress,
    keepExcerpts: (excerpts) => secrets.excerpts.put(excerpts),
    onFault(what, error) {
      faults.inc();
      log.warn({ err: error, part: 'deliverer' }, `Delivering: ${what} failed`);
    },
    onAttempt(attempt) {
      const { kind, outcome, durationMs } = attempt;
      attempts.inc({ kind, outcome: outcome.kind });
      if (outcome.kind !== 'suppressed') seconds.observe(durationMs / 1000);
      egress.record(attempt);
      logFailure(log, attempt);
    },
  });
  const stopCounting = countEndedDeliveries({ host, ownership, metrics, kinds });
  closers.add('count of ended deliveries', stopCounting);
  metrics.gauge('svc_deliveries_in_flight', 'Attempts under way', [], (gauge) =>
    gauge.set(part.inFlight()),
  );
  metrics.gauge(
    'svc_delivery_lanes',
    'Destinations with queued messages or failures',
    [],
    (gauge) => gauge.set(part.queues()),
  );
  return part;
}

/** Logs each failed attempt with the error that the API reports, without the URL or a secret. */
function logFailure(log: Log, { outcome, durationMs, ...about }: ReportedAttempt): void {
  if (outcome.kind !== 'failed' && outcome.kind !== 'refused') return;
  const { kind, httpStatus, error } = outcome;
  const facts = { ...about, outcome: kind, httpStatus, error, durationMs: Math.round(durationMs) };
  log.warn({ part: 'deliverer', ...facts }, 'A delivery attempt failed');
}

function mayDeliver({ roles }: Settings): boolean {
  return roles.includes('all') || roles.includes('deliver');
}

/**
 * Deletes sealed values that are no longer needed: the previous secret of a rotation, and orphans.
 */
function sealedPart({ base, storage, host }: DeliveryParts, sealed: ListedValues): Part {
  const { clock, log, metrics } = base;
  const { ownership, secrets } = storage;
  const faults = metrics.counter(
    'svc_destination_faults_total',
    'Failed deletions of old destination secrets',
  );
  const deps = {
    host,
    clock,
    sealed,
    bodies: secrets.bodies,
    owns: ownership.owns,
    sweep: () => secrets.sweep(),
    onOrphans: (count: number) =>
      log.info({ count, part: 'destinations' }, 'Orphaned secrets were deleted'),
    onFault(error: unknown) {
      faults.inc();
      log.error({ err: error, part: 'destinations' }, 'An old secret could not be deleted');
    },
  };
  return {
    name: 'secrets of destinations',
    async run(signal) {
      const stop = forgetOverlapped(deps, deps.onFault);
      try {
        await sweepSealed(deps, signal);
      } finally {
        stop();
      }
    },
  };
}

/** Empty without a mail server: then notices are only displayed in the project. */
function ownerNoticeParts({ base, storage, host, publicUrl: origin }: DeliveryParts): Part[] {
  const { clock, closers, log, metrics, settings } = base;
  const smtpUrl = smtpUrlOf(settings);
  if (smtpUrl === null) return [];
  const mailer = createMailer({
    url: smtpUrl,
    from: mailSender(settings),
    name: settings.smtpName,
  });
  closers.add('mailer of notices', () => mailer.close());
  const mails = metrics.counter('svc_owner_mails_total', 'Mails to owners about notices', [
    'outcome',
  ]);
  const send = ownerMails({ mailer, origin });
  const deps = {
    host,
    clock,
    ownership: storage.ownership,
    async send(mail: OwnerMail) {
      const isTaken = await send(mail);
      mails.inc({ outcome: isTaken ? 'sent' : 'refused' });
      return isTaken;
    },
    onFault(what: string, error: unknown) {
      mails.inc({ outcome: 'failed' });
      log.warn({ err: error, part: 'owner news' }, `${what} failed`);
    },
  };
  return [{ name: 'owner news', run: (signal) => notifyOwners(deps, signal) }];
}

export interface DestinationParts {
  readonly base: Pick<RoomBase, 'clock' | 'random' | 'log' | 'metrics'>;
  readonly host: Host;
  readonly deriveKey: Storage['deriveKey'];
  /** Keys of unsubscribe links in mails from before a change of the master key. */
  readonly earlierKeys: () => readonly Uint8Array[];
  readonly guard: AddressGuard;
  readonly sealed: ListedValues;
  /** See `DestinationsDeps`. */
  readonly groupWaitMs: number;
  /** Origin for clients. Called while the server listens. */
  readonly origin: () => string;
  /** Undefined if no mail server is configured. */
  readonly mail: MailQueue | undefined;
}

export function openDestinations(parts: DestinationParts): {
  readonly destinations: Destinations;
  /** The times at which failing destinations are tried again. */
  readonly rests: DestinationRests;
  /** Adds the pages behind the links in mails. */
  addRecipientRoutes(app: FastifyInstance): Promise<void>;
} {
  const { host, guard, sealed, groupWaitMs, origin, mail } = parts;
  const { clock, random, log, metrics } = parts.base;
  const tokens = createRecipientTokens({ clock, random });
  const displayNameOf = (project: string) => projectName(host, project);
  const mails = mail && verificationMails({ mail, origin, displayNameOf, clock, random });
  const deps: DestinationsDeps = {
    host,
    clock,
    random,
    sealed,
    groupWaitMs,
    refuseUrl: (kind, url) => refuseUrl(kind, url, guard),
    makeSecret: (source) => formatSecret(source.bytes(32)),
    ...(mails && { mail: { tokens, mails } }),
  };
  const codes = createUnsubscribeCodes(parts.deriveKey(UNSUBSCRIBE_PURPOSE), parts.earlierKeys);
  const links = createRecipientLinks({ host, tokens });
  const rests = new DestinationRests();
  rests.follow(host);
  return {
    destinations: createDestinations(deps),
    rests,
    addRecipientRoutes: (app) =>
      addRecipientRoutes(app, { links, codes, origin, clock, log, metrics }),
  };
}

/** Makes the link by which a recipient unsubscribes with one click (RFC 8058). */
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
