/**
 * Acts on an existing destination: pause and resume it, rotate its signing secret, resend
 * verification mails, send a test.
 */

import { ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { activePeople, isOfMember, recipientsOf, whyNotTo } from '../alerting/eligible.ts';
import { endNotice } from '../alerting/notices.ts';
import type { Committed, Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { RateLimiter } from '../platform/rate-limiter.ts';
import { startTestDelivery } from './audience.ts';
import { committedRow, destinationOf, livingRow, pausedNotice } from './destination-rows.ts';
import type {
  Changed,
  DestinationsDeps,
  OneDestination,
  PauseDestination,
  RotateSecret,
  Verifying,
  WithSecret,
} from './destinations-port.ts';
import {
  endBounceNotice,
  type Invitation,
  invitationTo,
  mailInvitation,
  recipientOf,
  recipientRows,
} from './recipients.ts';
import { forget, submitSealed } from './sealed-values.ts';

export function pause(deps: DestinationsDeps, act: PauseDestination): Promise<Changed> {
  return changed(deps, act, (draft, row) => {
    const { pausedReason } = destinationOf(row);
    if (pausedReason !== null) throw invalidState(`It is paused already: ${pausedReason}`);
    const by = act.by.name;
    draft.send('destination', act.id, { type: 'paused', at: draft.at, reason: act.reason, by });
  });
}

export function resume(deps: DestinationsDeps, act: OneDestination): Promise<Changed> {
  return changed(deps, act, (draft, row) => {
    if (row.value !== 'paused') throw invalidState('It is not paused');
    draft.send('destination', act.id, { type: 'resumed', at: draft.at, by: act.by.name });
    endNotice(draft, pausedNotice(act.id));
  });
}

/** Secrets that no longer sign are deleted at once, the previous one when its overlap ends. */
export async function rotateSecret(
  deps: DestinationsDeps,
  { project, by, request, id, overlapMs }: RotateSecret,
): Promise<WithSecret> {
  const { host, sealed, random } = deps;
  const secretId = `whs_${ulid(deps.clock.now(), random)}`;
  const webhookSecret = deps.makeSecret(random);
  sealed.put(secretId, webhookSecret);
  const { answer, sequence } = await submitSealed(sealed, [secretId], () =>
    host.submit({
      ...{ project, by, request },
      decide(draft) {
        const before = destinationOf(livingRow(draft, id));
        if (before.kind !== 'webhook') {
          throw invalidState(`Nothing is signed for ${before.kind}: only webhooks have a secret`);
        }
        const event = { type: 'secretRotated', secretId, overlapMs, by: by.name } as const;
        const { instance } = draft.send('destination', id, { ...event, at: draft.at });
        const live = destinationOf(instance).secrets.map((secret) => secret.id);
        const old = before.secrets.map((secret) => secret.id);
        return { secretId, discarded: old.filter((one) => !live.includes(one)) };
      },
    }),
  );
  forget(sealed, answer.discarded);
  const destination = committedRow(host, project, id);
  if (answer.secretId === secretId) return { destination, sequence, webhookSecret };
  forget(sealed, [secretId]);
  return { destination, sequence };
}

/** Skips recipients who confirmed or unsubscribed, are locked out, or were mailed too often. */
export async function verify(
  deps: DestinationsDeps,
  { project, by, request, id }: OneDestination,
): Promise<Verifying> {
  const { mails } = mailOf(deps);
  const { allowed, waitMs } = invitationsNow(deps, project, id);
  const { answer, replayed, sequence } = await deps.host.submit({
    ...{ project, by, request },
    decide(draft) {
      const { kind } = destinationOf(livingRow(draft, id));
      if (kind !== 'email') throw invalidState(`A destination of kind ${kind} is usable at once`);
      const unconfirmed = recipientRows(draft, id).filter(isAsked(deps.host, draft));
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

/** Wait after which a full mail queue has space again, ms. */
const QUEUE_FULL_MS = 60_000;

/** Decided before the commit: a new link without its mail must not replace the previous one. */
function invitationsNow(deps: DestinationsDeps, project: string, id: string) {
  const { tokens, mails } = mailOf(deps);
  const allowed = new Map<string, Invitation>();
  const room = mails.room(project);
  let waitMs = 0;
  const view = deps.host.view(project);
  for (const row of recipientRows(view, id).filter(isAsked(deps.host, view))) {
    const { address } = recipientOf(row);
    const rowWaitMs = allowed.size < room ? mails.take(project, address) : QUEUE_FULL_MS;
    waitMs = Math.max(waitMs, rowWaitMs);
    if (rowWaitMs === 0) allowed.set(row.instance, invitationTo(tokens, row.instance));
  }
  return { allowed, waitMs };
}

/** True for a recipient who has not answered yet, and is a member who may be written to. */
function isAsked(host: Pick<Host, 'view'>, view: ProjectView) {
  const isPersonActive = activePeople(host);
  return (row: Instance<'recipient'>): boolean =>
    (row.value === 'invited' || row.value === 'bounced') &&
    isOfMember(view, recipientOf(row), isPersonActive);
}

/** Tests to one destination, from all callers, and of one project. */
const TESTS_TO_ONE = { burst: 10, refillMs: 60_000 };
const TESTS_OF_PROJECT = { burst: 30, refillMs: 20_000 };

export type TestLimits = ReturnType<typeof testLimits>;

/** Limits of tests: each calls somebody's endpoint, or mails every recipient. */
export function testLimits(clock: DestinationsDeps['clock']) {
  const toOne = new RateLimiter(clock, TESTS_TO_ONE);
  const ofProject = new RateLimiter(clock, TESTS_OF_PROJECT);
  return {
    /** Counts a test and returns the wait before it may be sent, ms; 0 = now. */
    take: (project: string, id: string): number =>
      toOne.takeFrom(`${project}/${id}`) || ofProject.takeFrom(project),
  };
}

export function sendTest(
  { host, clock, random }: DestinationsDeps,
  limits: TestLimits,
  { project, by, request, id }: OneDestination,
): Promise<Committed<{ readonly deliveries: readonly string[] }>> {
  const test = `tst_${ulid(clock.now(), random)}`;
  let waitMs: number | undefined;
  const isPersonActive = activePeople(host);
  return host.submit({
    ...{ project, by, request },
    decide(draft) {
      const row = livingRow(draft, id);
      const { pausedReason, kind } = destinationOf(row);
      if (pausedReason !== null)
        throw invalidState(`It is paused: ${pausedReason}. Resume it first`);
      const audience = recipientsOf(draft, row).filter(
        (recipient) => kind !== 'email' || whyNotTo(draft, recipient, isPersonActive) === undefined,
      );
      if (audience.length === 0) {
        throw invalidState('No recipient can be written to: none has confirmed the address');
      }
      // Counted once, even when a conflict repeats the decision. A repeated request counts nothing.
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
    ...{ project, by, request },
    decide(draft) {
      change(draft, livingRow(draft, id));
      return {};
    },
  });
  return { destination: committedRow(host, project, id), sequence };
}

/** Throws a `Refusal` INVALID_STATE when the service has no mail server. */
export function mailOf({ mail }: DestinationsDeps): NonNullable<DestinationsDeps['mail']> {
  if (mail) return mail;
  throw invalidState('This service sends no mail: its operator sets SVC_SMTP_URL first');
}

function tooMany(what: string, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1000);
  const message = `${what}: try again in ${seconds} s`;
  return new Refusal('TOO_MANY_REQUESTS', message, { retryAfterSeconds: String(seconds) });
}

function invalidState(message: string): Refusal {
  return new Refusal('INVALID_STATE', message);
}
