/**
 * The stages that send an open attempt. None of them throws: a fault of this service is an outcome
 * too, after which the attempt is retried.
 */
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import { activePeople, isLockedOut } from '../alerting/eligible.ts';
import type { ProjectView } from '../platform/host/host-port.ts';
import type { Attempt, AttemptDeps } from './attempt.ts';
import { isGroup, liveMembers } from './delivery-group.ts';
import type { AttemptOutcome, Target } from './notifier-port.ts';
import { Ended, type Stage } from './stages.ts';

/** An attempt with the target to send it to. */
interface AddressedAttempt extends Attempt {
  readonly target: Target;
}

/** Stops an attempt whose recipient or destination was removed after the commit that opened it. */
export function refuseLate({
  host,
}: Pick<AttemptDeps, 'host'>): Stage<Attempt, Attempt, AttemptOutcome> {
  return async (attempt) => {
    const { project, context } = attempt;
    const { recipient, destination } = context;
    const view = host.view(project);
    // People belong to no project, so a person may be locked between the decision and its commit.
    if (recipient !== null && isLockedOut(view, recipient, activePeople(host))) {
      return notSent('Not sent: the recipient was locked out');
    }
    // Once the deletion is applied, the sealed URL and secrets are deleted. The next recheck gives
    // the reason.
    if (view.instance('destination', destination)?.final) {
      return notSent('Not sent: the destination was deleted');
    }
    return attempt;
  };
}

/** Reads the address and the secrets, which a rotation may have changed since the last attempt. */
export function unsealTarget({
  contents,
  host,
  onFault,
}: Pick<AttemptDeps, 'contents' | 'host' | 'onFault'>): Stage<
  Attempt,
  AddressedAttempt,
  AttemptOutcome
> {
  return async (attempt) => {
    const { project, delivery, context } = attempt;
    try {
      return { ...attempt, target: await contents.target(host.view(project), context) };
    } catch (error) {
      onFault(`reading the destination of ${delivery}`, error);
      return notSent('The address or the secret of the destination could not be read');
    }
  };
}

/** Sends the attempt, and keeps an excerpt of the answer. */
export function sendToChannel(deps: AttemptDeps) {
  return async (attempt: AddressedAttempt): Promise<AttemptOutcome> => {
    const outcome = await outcomeOf(deps, attempt);
    const { delivery: deliveryId, attemptId } = attempt;
    const { excerpt = '' } = outcome;
    if (excerpt !== '') deps.excerpts.add({ deliveryId, attemptId, excerpt });
    return outcome;
  };
}

function notSent(error: string): Ended<AttemptOutcome> {
  return new Ended({ kind: 'failed', unknown: false, ours: true, error });
}

async function outcomeOf(
  { clock, host, notifier, onFault }: AttemptDeps,
  attempt: AddressedAttempt,
): Promise<AttemptOutcome> {
  const { project, delivery: deliveryId, attemptId, context, body, deadlineMs, target } = attempt;
  try {
    return await notifier.attempt({
      deliveryId,
      attemptId,
      body,
      target,
      incident: threadOf(host.view(project), attempt),
      event: eventName(context.event),
      timestampUnix: Math.floor(clock.now() / 1000),
      deadlineElapsedMs: deadlineMs,
    });
  } catch (error) {
    onFault(`sending ${deliveryId}`, error);
    const message = 'The attempt failed because of a fault of this service';
    return { kind: 'failed', unknown: true, ours: true, error: message };
  }
}

/** The incident whose thread a mail belongs to; for a group, the first incident that it names. */
function threadOf(view: ProjectView, { delivery, context }: Attempt): string {
  if (!isGroup(context)) return context.incident;
  return liveMembers(view, delivery, context)[0]?.incident ?? '';
}

function eventName(event: DeliveryContext['event']): string {
  return event === 'TEST' ? 'test' : `incident.${event.toLowerCase()}`;
}
