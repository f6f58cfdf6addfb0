/**
 * Invariants of notifications: every recipient to be notified has a delivery; each delivery ends as
 * sent or with a true reason; no attempt is opened and no byte is sent after its message, its
 * destination or its recipient has ended. All attempts of a delivery have the same body.
 */
import type { DeliveryContext } from '../../../machines/delivery/delivery.ts';
import type { Received } from '../endpoints.ts';
import type { Run } from '../run.ts';
import type { Fact, Facts } from './facts.ts';
import { Model } from './model.ts';
import type { Problem } from './problem.ts';

/** Maximum duration of an attempt from the commit that opened it (HOOK-14), ms. */
const ATTEMPT_MS_MAX: Readonly<Record<string, number>> = {
  webhook: 10_000,
  slack: 10_000,
  teams: 10_000,
  discord: 10_000,
  email: 30_000,
};
const LIFETIME_MS = 24 * 3_600_000;

interface Opened {
  readonly delivery: string;
  readonly elapsedMs: number;
  readonly lastsMs: number;
}

export function* wrongNotifications(run: Run, { steps }: Facts): Generator<Problem> {
  const model = new Model();
  const opened = new Map<string, Opened>();
  const due: (() => Generator<Problem>)[] = [];
  for (const fact of steps) {
    if (fact.step.machine === 'delivery') yield* deliveryStep(fact, model, opened);
    due.push(...expected(fact, model));
    model.take(fact);
  }
  for (const check of due) yield* check();
  yield* overCaps(steps);
  yield* ends(model, run);
  yield* onTheWire(run.outside.received, opened);
}

function* deliveryStep(fact: Fact, model: Model, opened: Map<string, Opened>): Generator<Problem> {
  const { step, elapsedMs: atMs } = fact;
  const context = step.context as unknown as DeliveryContext;
  const what = `${context.event} ${step.instance} of ${context.incident}`;
  if (step.event.type === 'cleared') {
    const attemptId = String(step.event.attemptId);
    const invariant = 'no attempt after the end';
    for (const why of whyNot(context, fact, model)) {
      yield { invariant, text: `${attemptId} is opened for ${what}: ${why}`, atMs };
    }
    if (opened.has(attemptId)) {
      yield { invariant, text: `${attemptId} is opened a second time, for ${what}`, atMs };
    }
    const kind = model.destinations.get(context.destination)?.kind ?? 'webhook';
    const lastsMs = ATTEMPT_MS_MAX[kind] ?? Number.NaN;
    opened.set(attemptId, { delivery: step.instance, elapsedMs: atMs, lastsMs });
  }
  if (step.final && step.to !== 'sent' && !isReasonTrue(context, fact, model)) {
    const text = `${what} ended with ${context.reason}, which was not true`;
    yield { invariant: 'every notification ends', text, atMs };
  }
}

/**
 * A destination never has more open attempts than its cap, whoever opens them, and no two about one
 * incident to one recipient. Test messages belong to no incident: their order is not guaranteed,
 * but the cap counts them.
 */
function* overCaps(steps: Facts['steps']): Generator<Problem> {
  const caps = new Map<string, number>();
  const open = new Map<string, Map<string, string>>();
  for (const { step, elapsedMs: atMs } of steps) {
    const { machine, instance, to, context } = step;
    if (machine === 'destination') caps.set(instance, Number(context.attemptCap));
    if (machine !== 'delivery') continue;
    const delivery = context as unknown as DeliveryContext;
    const { destination, incident, recipient, event } = delivery;
    const those = open.get(destination) ?? new Map<string, string>();
    open.set(destination, those);
    if (to !== 'sending') {
      those.delete(instance);
      continue;
    }
    const audience = event === 'TEST' ? instance : `${incident} ${recipient}`;
    if ([...those.values()].includes(audience)) {
      const text = `${instance} is opened while another message of ${incident} is in flight`;
      yield { invariant: 'caps and order hold', text, atMs };
    }
    those.set(instance, audience);
    const cap = caps.get(destination) ?? 0;
    if (those.size <= cap) continue;
    const text = `${destination} has ${those.size} open attempts; its cap is ${cap}`;
    yield { invariant: 'caps and order hold', text, atMs };
  }
}

/** Reasons that forbid opening an attempt now. */
function* whyNot(context: DeliveryContext, { atMs }: Fact, model: Model): Generator<string> {
  const destination = model.destinations.get(context.destination);
  if (destination?.value !== 'active') yield `its destination is ${String(destination?.value)}`;
  if (destination?.kind === 'email') {
    const recipient = model.recipients.get(context.recipient ?? '');
    if (recipient?.value !== 'verified') yield `its recipient is ${String(recipient?.value)}`;
    if (recipient && model.memberships.get(recipient.membership) !== 'active') {
      yield 'its recipient is no longer a member';
    }
  }
  if (atMs - context.createdMs >= LIFETIME_MS) yield 'it is older than 24 hours';
  if (context.event === 'TEST') return;
  const incident = model.incidents.get(context.incident);
  if (!incident) return yield 'the incident does not exist';
  if (context.event === 'RECOVERED') {
    if (!incident.isRecovered) yield 'it has not recovered';
    if (!model.mayKnow(context)) yield 'its audience was not notified of the firing';
    return;
  }
  if (incident.isRecovered) yield 'it has recovered';
  if (incident.isSnoozed) yield 'it is snoozed';
  if (incident.retiredFor) yield `it is retired: ${incident.retiredFor}`;
  const rule = model.rules.get(context.rule);
  if (!rule || rule.isDeleted) yield 'its rule is deleted';
  else if (rule.evaluationRevision !== context.evaluationRevision)
    yield 'its incident belongs to another rule';
  else if (!rule.spec.enabled) yield 'its rule is paused';
}

function isReasonTrue(context: DeliveryContext, { atMs }: Fact, model: Model): boolean {
  const { reason, event } = context;
  const incident = model.incidents.get(context.incident);
  const rule = model.rules.get(context.rule);
  const destination = model.destinations.get(context.destination);
  const recipient = model.recipients.get(context.recipient ?? '');
  switch (reason) {
    case 'SNOOZED':
      return incident?.isSnoozed === true;
    case 'SUPERSEDED':
      if (event === 'RECOVERED') return !model.mayKnow(context);
      return incident?.isRecovered === true || isOutdated(context, model);
    case 'PAUSED':
      return destination?.value === 'paused';
    case 'DESTINATION_DELETED':
      return destination?.value === 'deleted';
    case 'RULE_DELETED':
      return rule?.isDeleted === true;
    case 'RULE_PAUSED':
    case 'RULE_CHANGED':
      return (
        incident?.retiredFor === reason ||
        rule?.evaluationRevision !== context.evaluationRevision ||
        !rule.spec.destinationNames.some((name) => name.endsWith(`/${context.destination}`))
      );
    case 'VM_DELETED':
      return incident?.retiredFor === reason;
    case 'EXPIRED':
      return atMs - context.createdMs >= LIFETIME_MS - 120_000;
    case 'REFUSED':
      return context.attempts.at(-1)?.outcome === 'refused';
    case 'RECIPIENT_NOT_VERIFIED':
      return recipient?.value === 'invited';
    case 'RECIPIENT_UNSUBSCRIBED':
      return recipient?.value === 'unsubscribed';
    case 'RECIPIENT_BOUNCED':
      return recipient?.value === 'bounced';
    case 'RECIPIENT_REMOVED':
      return (
        recipient?.value === 'removed' ||
        !recipient ||
        model.memberships.get(recipient.membership) !== 'active'
      );
    default:
      return false;
  }
}

/** True if a newer message reports, or has reported, the same. */
function isOutdated(context: DeliveryContext, model: Model): boolean {
  const reminders = model.incidents.get(context.incident)?.reminders ?? 0;
  return context.event === 'REPEATED' ? context.occurrence < reminders : reminders > 0;
}

/** Deliveries that must exist once this step is applied; checked at the end of the log. */
function expected({ step, elapsedMs: atMs }: Fact, model: Model): (() => Generator<Problem>)[] {
  if (step.machine !== 'alertInstance') return [];
  const { event, instance } = step;
  const incident = model.current.get(instance);
  if (event.type === 'sustained' && event.notify === true) {
    const rule = model.rules.get(String(step.context.rule));
    const names = rule?.spec.destinationNames ?? [];
    const named = names.map((name) => name.slice(name.lastIndexOf('/') + 1));
    const there = named.filter((id) => isThere(model, id));
    const { id = '' } = (step.context.incident ?? {}) as { id?: string };
    return there.map((destination) => () => mustExist(model, id, destination, 'FIRING', atMs));
  }
  if (event.type === 'recovered' && event.notify !== false && incident?.notify) {
    const notified = [...model.deliveries.values()].filter(
      ({ context }) =>
        context.incident === incident.id &&
        isThere(model, context.destination) &&
        model.mayKnow(context),
    );
    const destinations = new Set(notified.map(({ context }) => context.destination));
    return [...destinations].map(
      (destination) => () => mustExist(model, incident.id, destination, 'RECOVERED', atMs),
    );
  }
  return [];
}

function isThere(model: Model, destination: string): boolean {
  const found = model.destinations.get(destination);
  return found !== undefined && found.value !== 'deleted';
}

function* mustExist(
  model: Model,
  incident: string,
  destination: string,
  event: string,
  atMs: number,
): Generator<Problem> {
  for (const { context } of model.deliveries.values()) {
    const isOf = context.incident === incident && context.destination === destination;
    if (isOf && context.event === event) return;
  }
  const text = `${destination} has no delivery of ${event} of ${incident}`;
  yield { invariant: 'every notification ends', text, atMs };
}

/** Reminders that fall due this late may be missing, ms. */
const LAST_MS = 120_000;

function* ends({ deliveries }: Model, { world, outside }: Run): Generator<Problem> {
  const accepted = new Set(outside.received.filter((r) => r.accepted).map((r) => r.deliveryId));
  for (const [id, { value, context }] of deliveries) {
    const what = `${context.event} ${id} of ${context.incident}`;
    const problem = (text: string): Problem => ({
      invariant: 'every notification ends',
      atMs: world.elapsedMs,
      text: `${what} ${text}`,
    });
    if (value === 'sent' && !accepted.has(id))
      yield problem('is sent, but no endpoint accepted it');
    if (value === 'sent' || context.reason !== null) continue;
    if (context.createdMs > world.nowMs - LAST_MS) continue;
    yield problem(`is ${JSON.stringify(value)} at the end, without a reason`);
  }
}

function* onTheWire(
  received: readonly Received[],
  opened: Map<string, Opened>,
): Generator<Problem> {
  const bodies = new Map<string, string>();
  const attempts = new Set<string>();
  for (const { deliveryId, attemptId, digest, elapsedMs: atMs } of received) {
    if ((bodies.get(deliveryId) ?? digest) !== digest) {
      const text = `${deliveryId} has another body in ${attemptId}`;
      yield { invariant: 'one body for each delivery', text, atMs };
    }
    bodies.set(deliveryId, digest);
    const why = whyNotSent(opened.get(attemptId), deliveryId, atMs);
    const again = attempts.has(attemptId) ? 'was sent before' : undefined;
    attempts.add(attemptId);
    if (!why && !again) continue;
    const text = `${attemptId} of ${deliveryId} is sent and ${why ?? again}`;
    yield { invariant: 'no attempt after the end', text, atMs };
  }
}

function whyNotSent(
  opened: Opened | undefined,
  deliveryId: string,
  sentMs: number,
): string | undefined {
  if (!opened) return 'was never opened';
  if (opened.delivery !== deliveryId) return `belongs to ${opened.delivery}`;
  if (sentMs < opened.elapsedMs) return 'is not yet opened';
  return sentMs > opened.elapsedMs + opened.lastsMs ? 'has exceeded its time' : undefined;
}
