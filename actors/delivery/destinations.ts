/**
 * Creates, changes and deletes destinations. Limits are checked inside the decision, at the
 * project's head, so that two clients cannot exceed them concurrently. URLs and signing secrets are
 * sealed before the commit that names them: a crash between the two leaves an unused sealed value,
 * never a destination without its secret.
 */
import { createHash } from 'node:crypto';
import type { DestinationKind, KeptAddress } from '../../machines/delivery/destination.ts';
import { ulid } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { activePeople, isOfMember, recipientsOf, whyNotTo } from '../alerting/eligible.ts';
import { endNotice } from '../alerting/notices.ts';
import type { Committed, Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { checkLimit } from '../platform/project-limits.ts';
import { RateLimiter } from '../platform/rate-limiter.ts';
import { startTestDelivery } from './audience.ts';
import {
  committedRow,
  destinationOf,
  livingRow,
  pausedNotice,
  refusedNotice,
} from './destination-rows.ts';
import type {
  Changed,
  CreateDestination,
  Destinations,
  DestinationsDeps,
  NewTarget,
  OneDestination,
  PauseDestination,
  RotateSecret,
  UpdateDestination,
  Verifying,
  WithSecret,
} from './destinations-port.ts';
import {
  endBounceNotice,
  type Invitation,
  invitationTo,
  invite,
  mailInvitation,
  parseAddresses,
  recipientOf,
  recipientRows,
  removeRecipients,
  setRecipients,
} from './recipients.ts';
import { forget, submitSealed, urlIdOf } from './sealed-values.ts';

/** Wraps the host. It counts tests of destinations, so there must be one per process. */
export function createDestinations(deps: DestinationsDeps): Destinations {
  const tests = testLimits(deps.clock);
  return {
    create: (creation) => create(deps, creation),
    update: (update) => change(deps, update),
    delete: (deletion) => deleteDestination(deps, deletion),
    pause: (act) => pause(deps, act),
    resume: (act) => resume(deps, act),
    rotateSecret: (rotation) => rotateSecret(deps, rotation),
    verify: (act) => verify(deps, act),
    sendTest: (act) => sendTest(deps, tests, act),
  };
}

/** A target prepared before the decision. Only its ids and digests are committed. */
interface Prepared {
  readonly kind: DestinationKind;
  readonly address: KeptAddress;
  /** By address; empty except for mail. */
  readonly invitations: ReadonlyMap<string, Invitation>;
}

const NO_ADDRESS: KeptAddress = { urlId: null, urlDigest: '', host: '', lastFour: '' };

async function create(deps: DestinationsDeps, creation: CreateDestination): Promise<WithSecret> {
  const { project, by, request, displayName } = creation;
  const { kind, address, invitations } = await prepare(deps, creation.target, 'destination');
  const id = `dst_${ulidOf(deps)}`;
  const secretId = kind === 'webhook' ? `whs_${ulidOf(deps)}` : null;
  const webhookSecret = secretId === null ? undefined : deps.makeSecret(deps.random);
  if (secretId !== null) await deps.sealed.put(secretId, webhookSecret ?? '');
  const ours = [address.urlId, secretId];
  const { answer, ...committed } = await submitSealed(deps.sealed, ours, () =>
    deps.host.submit({
      project,
      by,
      request,
      decide(draft) {
        checkLimit(draft, 'destinations');
        const usualMs = kind === 'webhook' ? 0 : deps.groupWaitMs;
        const { groupWaitMs = usualMs } = creation;
        const input = { project, kind, displayName, ...address, secretId, groupWaitMs };
        draft.start('destination', id, { at: draft.at, ...input });
        return { id, invited: setRecipients(draft, id, invitations, activePeople(deps.host)) };
      },
    }),
  );
  if (answer.id !== id) await forget(deps.sealed, ours);
  else mailAll(deps, project, invitations, answer.invited);
  const destination = committedRow(deps.host, project, answer.id);
  const isFirst = answer.id === id && webhookSecret !== undefined;
  const { sequence } = committed;
  return { destination, sequence, ...(isFirst && { webhookSecret }) };
}

async function change(deps: DestinationsDeps, update: UpdateDestination): Promise<Changed> {
  const { project, by, request, id, displayName, target, groupWaitMs } = update;
  const prepared = target && (await prepare(deps, target, ''));
  const ours = [prepared?.address.urlId ?? null];
  const { answer, replayed, sequence } = await submitSealed(deps.sealed, ours, () =>
    deps.host.submit({
      project,
      by,
      request,
      decide(draft) {
        const before = destinationOf(livingRow(draft, id));
        if (displayName !== undefined && displayName !== before.displayName) {
          draft.send('destination', id, {
            type: 'renamed',
            at: draft.at,
            displayName,
            by: by.name,
          });
        }
        if (groupWaitMs !== undefined && groupWaitMs !== before.groupWaitMs) {
          const changed = { type: 'groupWaitChanged', groupWaitMs, by: by.name } as const;
          draft.send('destination', id, { ...changed, at: draft.at });
        }
        return prepared
          ? retarget(deps, draft, { id, prepared, by: by.name })
          : { urlId: null, discarded: [], invited: [] };
      },
    }),
  );
  if (answer.urlId !== ours[0]) await forget(deps.sealed, ours);
  await forget(deps.sealed, answer.discarded);
  if (prepared && !replayed) mailAll(deps, project, prepared.invitations, answer.invited);
  return { destination: committedRow(deps.host, project, id), sequence };
}

/** The result of a new target: the id of its URL, sealed values to delete, invited recipients. */
interface Retargeted {
  readonly urlId: string | null;
  readonly discarded: readonly string[];
  readonly invited: readonly string[];
}

function retarget(
  { host }: DestinationsDeps,
  draft: Draft,
  { id, prepared, by }: { readonly id: string; readonly prepared: Prepared; readonly by: string },
): Retargeted {
  const { kind, address, invitations } = prepared;
  const before = destinationOf(livingRow(draft, id));
  if (before.kind !== kind) {
    const message = `${id} is of kind ${before.kind}, which cannot change. Create another destination`;
    throw invalidField(kind, message);
  }
  if (kind === 'email') {
    const invited = setRecipients(draft, id, invitations, activePeople(host));
    return { urlId: null, discarded: [], invited };
  }
  if (before.urlDigest === address.urlDigest) return { urlId: null, discarded: [], invited: [] };
  draft.send('destination', id, { type: 'retargeted', at: draft.at, ...address, by });
  endNotice(draft, refusedNotice(id));
  return { urlId: address.urlId, discarded: [urlIdOf(id, before)], invited: [] };
}

/**
 * Sealed values are deleted once the deletion is committed. A repeated request deletes them too.
 */
async function deleteDestination(
  deps: DestinationsDeps,
  { project, by, request, id }: OneDestination,
): Promise<Committed<Record<string, never>>> {
  const { answer, ...committed } = await deps.host.submit({
    project,
    by,
    request,
    decide(draft) {
      const context = destinationOf(livingRow(draft, id));
      removeRecipients(draft, recipientRows(draft, id), 'DESTINATION_DELETED');
      draft.send('destination', id, { type: 'deleted', at: draft.at, by: by.name });
      endNotice(draft, pausedNotice(id));
      endNotice(draft, refusedNotice(id));
      endBounceNotice(draft, id);
      const secrets = context.secrets.map((secret) => secret.id);
      return { sealed: [...(context.kind === 'email' ? [] : [urlIdOf(id, context)]), ...secrets] };
    },
  });
  await forget(deps.sealed, answer.sealed);
  return { ...committed, answer: {} };
}

/** Checks a target and seals its URL. If it throws a `Refusal`, nothing was sealed. */
async function prepare(deps: DestinationsDeps, target: NewTarget, path: string): Promise<Prepared> {
  const within = (field: string) => (path === '' ? field : `${path}.${field}`);
  if ('addresses' in target) {
    const { tokens } = mailOf(deps);
    const addresses = parseAddresses(within('email.recipients'), target.addresses);
    const invitations = invite({ tokens, newId: () => `rcp_${ulidOf(deps)}` }, addresses);
    return { kind: 'email', address: NO_ADDRESS, invitations };
  }
  const { kind, url } = target;
  const refusal = deps.refuseUrl(kind, url);
  if (refusal) {
    throw new Refusal('INVALID_FIELD', refusal, { field: within(`${kind}.url`) });
  }
  const urlId = `url_${ulidOf(deps)}`;
  await deps.sealed.put(urlId, url);
  const urlDigest = createHash('sha256').update(url).digest('hex');
  const address = { urlId, urlDigest, host: new URL(url).host, lastFour: url.slice(-4) };
  return { kind, address, invitations: new Map() };
}

/** Sends verification mails within the limits; `verify` sends the rest later. */
function mailAll(
  { host, mail }: DestinationsDeps,
  project: string,
  invitations: ReadonlyMap<string, Invitation>,
  invited: readonly string[],
): void {
  for (const [address, invitation] of invitations) {
    if (!mail || !invited.includes(invitation.id)) continue;
    const { mails } = mail;
    if (mails.take(project, address) === 0) mailInvitation(mails, host, project, invitation);
  }
}

function ulidOf({ clock, random }: DestinationsDeps): string {
  return ulid(clock.now(), random);
}

/**
 * Acts on an existing destination: pauses and resumes it, rotates its signing secret, resends
 * verification mails, sends a test.
 */
function pause(deps: DestinationsDeps, act: PauseDestination): Promise<Changed> {
  return changed(deps, act, (draft, row) => {
    const { pausedReason } = destinationOf(row);
    if (pausedReason !== null)
      throw invalidState(`The destination is already paused: ${pausedReason}`);
    const by = act.by.name;
    draft.send('destination', act.id, { type: 'paused', at: draft.at, reason: act.reason, by });
  });
}

function resume(deps: DestinationsDeps, act: OneDestination): Promise<Changed> {
  return changed(deps, act, (draft, row) => {
    if (row.value !== 'paused') throw invalidState('The destination is not paused');
    draft.send('destination', act.id, { type: 'resumed', at: draft.at, by: act.by.name });
    endNotice(draft, pausedNotice(act.id));
    endNotice(draft, refusedNotice(act.id));
  });
}

/** Secrets that no longer sign are deleted at once, the previous one when its overlap ends. */
async function rotateSecret(
  deps: DestinationsDeps,
  { project, by, request, id, overlapMs }: RotateSecret,
): Promise<WithSecret> {
  const { host, sealed, random } = deps;
  const secretId = `whs_${ulid(deps.clock.now(), random)}`;
  const webhookSecret = deps.makeSecret(random);
  await sealed.put(secretId, webhookSecret);
  const { answer, sequence } = await submitSealed(sealed, [secretId], () =>
    host.submit({
      project,
      by,
      request,
      decide(draft) {
        const before = destinationOf(livingRow(draft, id));
        if (before.kind !== 'webhook') {
          throw invalidState(
            `A destination of kind ${before.kind} has no signing secret. Only webhooks have one`,
          );
        }
        const event = { type: 'secretRotated', secretId, overlapMs, by: by.name } as const;
        const { instance } = draft.send('destination', id, { ...event, at: draft.at });
        const live = destinationOf(instance).secrets.map((secret) => secret.id);
        const old = before.secrets.map((secret) => secret.id);
        return { secretId, discarded: old.filter((one) => !live.includes(one)) };
      },
    }),
  );
  await forget(sealed, answer.discarded);
  const destination = committedRow(host, project, id);
  if (answer.secretId === secretId) return { destination, sequence, webhookSecret };
  await forget(sealed, [secretId]);
  return { destination, sequence };
}

/** Skips recipients who confirmed or unsubscribed, are locked, or were mailed too often. */
async function verify(
  deps: DestinationsDeps,
  { project, by, request, id }: OneDestination,
): Promise<Verifying> {
  const { mails } = mailOf(deps);
  const { allowed, waitMs } = invitationsNow(deps, project, id);
  const { answer, replayed, sequence } = await deps.host.submit({
    project,
    by,
    request,
    decide(draft) {
      const { kind } = destinationOf(livingRow(draft, id));
      if (kind !== 'email')
        throw invalidState(`A destination of kind ${kind} needs no verification`);
      const unconfirmed = recipientRows(draft, id).filter(awaitsConfirmation(deps.host, draft));
      const asked = unconfirmed.flatMap((row) => allowed.get(row.instance) ?? []);
      if (unconfirmed.length > 0 && asked.length === 0)
        throw tooMany('Mails were sent a moment ago', waitMs);
      for (const { id: recipient, tokenHash } of asked) {
        draft.send('recipient', recipient, { type: 'invitedAgain', at: draft.at, tokenHash });
      }
      endBounceNotice(draft, id);
      const left = unconfirmed.length - asked.length;
      return { asked: asked.map((invitation) => invitation.id), left };
    },
  });
  let untaken = 0;
  for (const recipient of replayed ? [] : answer.asked) {
    const invitation = allowed.get(recipient);
    if (invitation && !mailInvitation(mails, deps.host, project, invitation)) untaken++;
  }
  const destination = committedRow(deps.host, project, id);
  const mailed = { mails: answer.asked.length - untaken, notMailed: answer.left + untaken };
  return { destination, sequence, ...mailed };
}

/** Time after which a full mail queue has space again, ms. */
const QUEUE_FULL_MS = 60_000;

/**
 * Decided before the commit, because a new link without its mail must not replace the previous one.
 */
function invitationsNow(deps: DestinationsDeps, project: string, id: string) {
  const { tokens, mails } = mailOf(deps);
  const allowed = new Map<string, Invitation>();
  const room = mails.room(project);
  let waitMs = 0;
  const view = deps.host.view(project);
  for (const row of recipientRows(view, id).filter(awaitsConfirmation(deps.host, view))) {
    const { address } = recipientOf(row);
    const rowWaitMs = allowed.size < room ? mails.take(project, address) : QUEUE_FULL_MS;
    waitMs = Math.max(waitMs, rowWaitMs);
    if (rowWaitMs === 0) allowed.set(row.instance, invitationTo(tokens, row.instance));
  }
  return { allowed, waitMs };
}

/** True for a recipient who has not responded yet, and is a member who may receive mail. */
function awaitsConfirmation(host: Pick<Host, 'view'>, view: ProjectView) {
  const isPersonActive = activePeople(host);
  return (row: Instance<'recipient'>): boolean =>
    (row.value === 'invited' || row.value === 'bounced') &&
    isOfMember(view, recipientOf(row), isPersonActive);
}

/** Limits of tests of one destination, from all callers, and of one project. */
const TESTS_TO_ONE = { burst: 10, refillMs: 60_000 };
const TESTS_OF_PROJECT = { burst: 30, refillMs: 20_000 };

/** Limiters of tests, by destination and by project. */
export type TestLimits = ReturnType<typeof testLimits>;

/** Limits of tests, because each one calls an endpoint or mails every recipient. */
function testLimits(clock: DestinationsDeps['clock']) {
  const toOne = new RateLimiter(clock, TESTS_TO_ONE);
  const ofProject = new RateLimiter(clock, TESTS_OF_PROJECT);
  return {
    /** Counts a test and returns the wait before it may be sent, ms; 0 = now. */
    take: (project: string, id: string): number =>
      toOne.takeFrom(`${project}/${id}`) || ofProject.takeFrom(project),
  };
}

function sendTest(
  { host, clock, random }: DestinationsDeps,
  limits: TestLimits,
  { project, by, request, id }: OneDestination,
): Promise<Committed<{ readonly deliveries: readonly string[] }>> {
  const test = `tst_${ulid(clock.now(), random)}`;
  let waitMs: number | undefined;
  const isPersonActive = activePeople(host);
  return host.submit({
    project,
    by,
    request,
    decide(draft) {
      const row = livingRow(draft, id);
      const { pausedReason, kind } = destinationOf(row);
      if (pausedReason !== null)
        throw invalidState(`The destination is paused: ${pausedReason}. Resume it first`);
      const audience = recipientsOf(draft, row).filter(
        (recipient) => kind !== 'email' || whyNotTo(draft, recipient, isPersonActive) === undefined,
      );
      if (audience.length === 0) {
        throw invalidState('No recipient can receive mail, because none has confirmed the address');
      }
      // Counted once, even if a conflict repeats the decision. A repeated request is not counted.
      waitMs ??= limits.take(project, id);
      if (waitMs > 0) throw tooMany('Tests were sent a moment ago', waitMs);
      const deliveries = audience.map((recipient) =>
        startTestDelivery(draft, { destination: id, recipient, test }),
      );
      return { deliveries };
    },
  });
}

async function changed(
  { host }: DestinationsDeps,
  { project, by, request, id }: OneDestination,
  change: (draft: Draft, row: Instance<'destination'>) => void,
): Promise<Changed> {
  const { sequence } = await host.submit({
    project,
    by,
    request,
    decide(draft) {
      change(draft, livingRow(draft, id));
      return {};
    },
  });
  return { destination: committedRow(host, project, id), sequence };
}

/** Throws a `Refusal` INVALID_STATE if the service has no mail server. */
function mailOf({ mail }: DestinationsDeps): NonNullable<DestinationsDeps['mail']> {
  if (mail) return mail;
  throw invalidState('This service sends no mail. Its operator must set SVC_SMTP_URL first');
}

function tooMany(what: string, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `${what}. Try again in ${seconds} s`;
  return new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: String(seconds) });
}

function invalidState(message: string): Refusal {
  return new Refusal('INVALID_STATE', message);
}
