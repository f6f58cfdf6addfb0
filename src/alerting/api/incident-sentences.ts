/**
 * The timeline's sentences: what a step of an alert instance, or the end of a notification, means
 * to people. One line each; addresses and what endpoints said are for those who may write.
 */
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import type { RecordedTransition } from '../../../actors/platform/host/host-port.ts';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { DeliveryContext, DeliveryReason } from '../../../machines/delivery/delivery.ts';
import type { RetireReason } from '../../../machines/platform/effects.ts';
import {
  condition,
  duration,
  oneLine,
  quantity,
  utcTime,
} from '../../../streams/alerting/wording.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';

export interface Sentence {
  /** Name of the event, as the timeline shows it. */
  readonly event: string;
  readonly detail: string;
}

const MISSING: Readonly<Record<MissingReason, string>> = {
  NO_DATA: 'and nothing is known of why',
  VM_STOPPED: 'because its owner stopped the VM',
  CLOCK_AHEAD: "because the VM's clock is ahead and its samples are refused",
  DATACENTER_STALE: 'because its whole data center is silent',
};

const RETIRED: Readonly<Record<RetireReason, string>> = {
  RULE_CHANGED: 'its rule was changed',
  RULE_PAUSED: 'its rule was paused',
  RULE_DELETED: 'its rule was deleted',
  VM_DELETED: 'its VM is gone',
};

const SNOOZE_END = /^xstate\.after\.snoozeEnd\./;

/** Of a recorded step; undefined for one that says nothing of its own. */
export function stepSentence(
  step: RecordedTransition['event'],
  incident: IncidentBody,
): Sentence | undefined {
  const event = String(step.type);
  const unit = metricCatalogue.get(incident.metricId)?.unit ?? '';
  const read = typeof step.value === 'number' ? quantity(step.value, unit) : undefined;
  const told = (detail: string, name = event): Sentence => ({ event: name, detail });
  switch (event) {
    case 'sustained':
      return told(firedSentence(incident, unit, read));
    case 'recovered':
      return told(`Recovered: observed ${read ?? 'samples that do not breach'}`);
    case 'dataMissing': {
      const why = MISSING[step.reason as MissingReason] ?? MISSING.NO_DATA;
      return told(
        `Nothing was observed since ${utcTime(Number(step.sinceMs))}, ${why}; it fires on`,
      );
    }
    case 'dataObserved':
      return told('Observations arrive again; it fires until they say otherwise');
    case 'evaluatorFailed':
      return told(`The evaluator cannot decide (${oneLine(String(step.reason))}); it fires on`);
    case 'evaluatorHealthy':
      return told('The evaluator decides again');
    case 'acknowledged':
      return told(noted('Somebody took notice; it fires on', step.note));
    case 'snoozed':
      return told(`Silence was asked for until ${utcTime(Number(step.untilMs))}`);
    case 'unsnoozed':
      return told('The snooze was ended early: one notification is sent');
    case 'repeatDue':
      return told('People are reminded: it still fires', 'repeated');
    case 'corrected':
      return told('Late samples show that it did not fire; notifications already sent stand');
    case 'retired':
      return told(`Retired: ${RETIRED[step.reason as RetireReason]}; that is no recovery`);
  }
  if (!SNOOZE_END.test(event)) return undefined;
  return told('The snooze is over and it still fires: one notification is sent', 'snoozeEnded');
}

function firedSentence(incident: IncidentBody, unit: string, read: string | undefined): string {
  const { metricId, operator, threshold, sustainedSeconds, startedMs } = incident;
  const rule = condition({ metricId, operator, threshold, sustainedSeconds, unit });
  const value = read === undefined ? '' : `, last ${read}`;
  return `Fired: ${rule}, since ${utcTime(startedMs)}${value}`;
}

function noted(sentence: string, note: unknown): string {
  return typeof note === 'string' && note !== '' ? `${sentence}: ${oneLine(note)}` : sentence;
}

const MESSAGES: Readonly<Record<DeliveryContext['event'], string>> = {
  FIRING: 'The firing',
  REPEATED: 'A reminder',
  RECOVERED: 'The recovery',
  TEST: 'A test',
};

const REASONS: Readonly<Record<DeliveryReason, string>> = {
  SNOOZED: 'the incident was snoozed',
  SUPERSEDED: 'it was outdated before it was sent',
  PAUSED: 'the destination was paused',
  DESTINATION_DELETED: 'the destination was deleted',
  RECIPIENT_REMOVED: 'the recipient was removed',
  RECIPIENT_NOT_VERIFIED: 'the recipient has not confirmed the address',
  RECIPIENT_UNSUBSCRIBED: 'the recipient unsubscribed',
  RECIPIENT_BOUNCED: 'mail to the recipient comes back',
  RULE_CHANGED: 'the rule was changed',
  RULE_PAUSED: 'the rule was paused',
  RULE_DELETED: 'the rule was deleted',
  VM_DELETED: 'the VM is gone',
  EXPIRED: 'no attempt succeeded within 24 hours',
  REFUSED: 'the endpoint refused it for good',
};

export interface ToldDestination {
  readonly kind: string;
  /** Absent: not for this reader. */
  readonly displayName?: string;
  /** May see what endpoints answered. */
  readonly mayWrite: boolean;
}

/** How a notification ended. @param state its final state */
export function deliverySentence(
  state: string,
  { event, reason, attempts, createdMs }: DeliveryContext,
  { kind, displayName, mayWrite }: ToldDestination,
): string {
  const named = displayName ? ` "${oneLine(displayName)}"` : '';
  const message = `${MESSAGES[event]} to ${kind}${named}`;
  const tries = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`;
  const last = attempts.at(-1);
  if (state === 'sent') {
    const tookMs = Math.max(0, (last?.endedMs ?? createdMs) - createdMs);
    return `${message} was accepted after ${duration(tookMs / 1000)}, ${tries}`;
  }
  const why = reason === null ? 'no reason is known' : REASONS[reason];
  const answer = last?.httpStatus ? `; HTTP ${last.httpStatus}` : '';
  const error = mayWrite && last?.error ? `; ${oneLine(last.error)}` : answer;
  return `${message} was not sent: ${why} (${reason ?? state}), ${tries}${error}`;
}
