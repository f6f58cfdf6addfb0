/**
 * An incident's timeline: the recorded steps of its alert instance since it fired, and the end of
 * each notification, oldest first, one sentence each. It is read from the audit log on request. A
 * long timeline is shortened to its start and its end. Only callers who may write see addresses and
 * the answers of endpoints.
 */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import type {
  Instance,
  Page,
  ProjectView,
  RecordedTransition,
} from '../../../actors/platform/host/host-port.ts';
import { conditionOf } from '../../../machines/alerting/alert-instance.ts';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { DeliveryContext, DeliveryReason } from '../../../machines/delivery/delivery.ts';
import type { RetireReason } from '../../../machines/platform/effects.ts';
import { readingBeside } from '../../../streams/alerting/quantity.ts';
import { condition, duration, oneLine, utcTime } from '../../../streams/alerting/wording.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import {
  type Incident_TimelineEntry,
  Incident_TimelineEntrySchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';
import { type DisplayedActor, publicFields } from '../../platform/api/transition-messages.ts';

/** Maximum entries of one timeline. A longer one has its first `BEGIN` entries, then its end. */
const TIMELINE_MAX = 500;
const BEGIN = 100;
const END = TIMELINE_MAX - BEGIN - 1;

/** Late steps (corrections) belong to the incident for this long after its end, ms. */
const AFTERMATH_MS = 3_600_000;

export interface TimelineReader {
  readonly showActor: (by: Actor) => DisplayedActor;
  /** May see destinations and the answers of endpoints. */
  readonly mayWrite: boolean;
}

type Entry = Incident_TimelineEntry;

/** An entry with its time, and a unique key. */
interface KeyedEntry {
  readonly key: string;
  readonly atMs: number;
  readonly entry: Entry;
}

/** Oldest first, at most `TIMELINE_MAX`. */
export function timelineOf(
  view: ProjectView,
  incident: IncidentBody,
  reader: TimelineReader,
): Entry[] {
  const begin = entriesOf(view, incident, reader, { limit: TIMELINE_MAX, descending: false });
  if (begin.isWhole && begin.entries.length <= TIMELINE_MAX) {
    return begin.entries.map(({ entry }) => entry);
  }
  const end = entriesOf(view, incident, reader, { limit: END, descending: true });
  const first = begin.entries.slice(0, BEGIN);
  const known = new Set(first.map(({ key }) => key));
  const last = end.entries.filter(({ key }) => !known.has(key)).slice(-END);
  const left = leftOut(first.at(-1)?.atMs ?? 0, last[0]?.atMs ?? 0);
  return [...first.map(({ entry }) => entry), left, ...last.map(({ entry }) => entry)];
}

function leftOut(fromMs: number, toMs: number): Entry {
  const detail =
    `Events between ${utcTime(fromMs)} and ${utcTime(toMs)} are omitted here; ` +
    'ListTransitions and ListDeliveries return all of them';
  return entryOf(fromMs, { event: 'leftOut', detail, fields: { fromMs, untilMs: toMs } });
}

interface Direction {
  readonly limit: number;
  readonly descending: boolean;
}

/** Entries from one end of the timeline, oldest first. `isWhole`: there are no others. */
function entriesOf(
  view: ProjectView,
  incident: IncidentBody,
  reader: TimelineReader,
  direction: Direction,
): { entries: KeyedEntry[]; isWhole: boolean } {
  const transitions = stepsOf(view, incident, direction);
  const steps = inOrder(transitions, direction).flatMap((step) => {
    const sentence = stepSentence(step.event, incident);
    return sentence ? [stepEntry(step, sentence, reader)] : [];
  });
  const deliveries = view.instances('delivery', { ...direction, incident: incident.id });
  const ends = inOrder(deliveries, direction)
    .filter(({ final }) => final)
    .map((delivery) => deliveryEntry(view, delivery, reader));
  const entries = [...steps, ...ends].sort((a, b) => a.atMs - b.atMs);
  return { entries, isWhole: transitions.next === undefined && deliveries.next === undefined };
}

function inOrder<T>({ items }: Page<T>, { descending }: Direction): readonly T[] {
  return descending ? items.toReversed() : items;
}

/** The instance's transitions during the incident, without those of its other incidents. */
function stepsOf(
  view: ProjectView,
  { id, alertInstance, firedMs, ...ends }: IncidentBody,
  direction: Direction,
): Page<RecordedTransition> {
  const endMs = ends.recoveredMs ?? ends.retiredMs;
  const page = view.transitions({
    ...direction,
    machine: 'alertInstance',
    instance: alertInstance,
    sinceMs: firedMs,
    ...(endMs !== null && { untilMs: endMs + AFTERMATH_MS }),
  });
  const items = inOrder(page, direction);
  const fired = items.findIndex((step) => isFiring(step) && step.event.incidentId === id);
  const later = items.findIndex((step, i) => i > fired && isFiring(step));
  const between = items.slice(Math.max(0, fired), later < 0 ? undefined : later);
  // The run that led to the next incident does not belong to this one.
  const own = between.filter(({ to }) => conditionOf(to) !== 'sustaining');
  return { ...page, items: direction.descending ? own.toReversed() : own };
}

function isFiring({ event }: RecordedTransition): boolean {
  return event.type === 'sustained';
}

function stepEntry(
  { atMs, by, sequence, event: step }: RecordedTransition,
  { event, detail }: Sentence,
  { showActor }: TimelineReader,
): KeyedEntry {
  // The sentence includes the note too.
  const note = typeof step.note === 'string' ? { note: step.note } : {};
  const fields = { ...publicFields('alertInstance', step), ...note };
  const entry = entryOf(atMs, { event, by: showActor(by).by, detail, fields });
  return { key: `${sequence} ${event}`, atMs, entry };
}

function deliveryEntry(
  view: ProjectView,
  delivery: Instance<'delivery'>,
  { mayWrite }: TimelineReader,
): KeyedEntry {
  const { project, instance, value, updatedMs } = delivery;
  const context = delivery.context;
  const destination = view.instance('destination', context.destination)?.context;
  const detail = deliverySentence(String(value), context, {
    kind: String(destination?.kind ?? 'destination'),
    ...(mayWrite && { displayName: String(destination?.displayName ?? '') }),
    mayWrite,
  });
  const deliveryName = nameOf(project, 'deliveries', instance);
  const { event, occurrence, reason, attempts } = context;
  const fields = { event, occurrence, attempts: attempts.length, ...(reason && { reason }) };
  const about = { event: String(value), by: 'deliverer', detail, deliveryName, fields };
  return { key: instance, atMs: updatedMs, entry: entryOf(updatedMs, about) };
}

function entryOf(
  atMs: number,
  about: MessageInitShape<typeof Incident_TimelineEntrySchema>,
): Entry {
  return create(Incident_TimelineEntrySchema, { atUnix: unixSeconds(atMs), ...about });
}

interface Sentence {
  /** Name of the event, as displayed in the timeline. */
  readonly event: string;
  readonly detail: string;
}

const MISSING: Readonly<Record<MissingReason, string>> = {
  NO_DATA: 'for an unknown reason',
  VM_STOPPED: 'because the owner stopped the VM',
  CLOCK_AHEAD: "because the VM's clock is ahead and its samples are rejected",
  DATACENTER_STALE: 'because the whole data center is silent',
};

const RETIRED: Readonly<Record<RetireReason, string>> = {
  RULE_CHANGED: 'its rule was changed',
  RULE_PAUSED: 'its rule was paused',
  RULE_DELETED: 'its rule was deleted',
  VM_DELETED: 'its VM was deleted',
};

const SNOOZE_END = /^xstate\.after\.snoozeEnd\./;

/** The sentence of a recorded step; undefined for a step that has none. */
function stepSentence(
  step: RecordedTransition['event'],
  incident: IncidentBody,
): Sentence | undefined {
  const event = String(step.type);
  const unit = metricCatalogue.get(incident.metricId)?.unit ?? '';
  const { threshold } = incident;
  const read =
    typeof step.value === 'number' ? readingBeside(step.value, threshold, unit) : undefined;
  const sentence = (detail: string, name = event): Sentence => ({ event: name, detail });
  switch (event) {
    case 'sustained':
      return sentence(firedSentence(incident, unit, read));
    case 'recovered':
      return sentence(`Recovered: observed ${read ?? 'samples that do not breach'}`);
    case 'dataMissing': {
      const why = MISSING[step.reason as MissingReason] ?? MISSING.NO_DATA;
      return sentence(`No data since ${utcTime(Number(step.sinceMs))}, ${why}; it still fires`);
    }
    case 'dataObserved':
      return sentence('Data arrives again; it fires until the data shows a recovery');
    case 'evaluatorFailed':
      return sentence(
        `The evaluator cannot decide (${oneLine(String(step.reason))}); it still fires`,
      );
    case 'evaluatorHealthy':
      return sentence('The evaluator can decide again');
    case 'acknowledged':
      return sentence(noted('Acknowledged; it still fires', step.note));
    case 'snoozed':
      return sentence(`Snoozed until ${utcTime(Number(step.untilMs))}`);
    case 'unsnoozed':
      return sentence('The snooze was ended early: one notification is sent');
    case 'repeatDue':
      return sentence('A reminder is sent: it still fires', 'repeated');
    case 'corrected':
      return sentence(
        'Late samples show that the condition was not met; notifications already sent are not recalled',
      );
    case 'retired':
      return sentence(
        `Retired because ${RETIRED[step.reason as RetireReason]}; this is not a recovery`,
      );
  }
  if (!SNOOZE_END.test(event)) return undefined;
  return sentence('The snooze expired and it still fires: one notification is sent', 'snoozeEnded');
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
  MAINTENANCE: 'a maintenance window covered it',
  SUPERSEDED: 'a newer state replaced it before it was sent',
  PAUSED: 'the destination was paused',
  DESTINATION_DELETED: 'the destination was deleted',
  RECIPIENT_REMOVED: 'the recipient was removed',
  RECIPIENT_NOT_VERIFIED: 'the recipient has not confirmed the address',
  RECIPIENT_UNSUBSCRIBED: 'the recipient unsubscribed',
  RECIPIENT_BOUNCED: 'mail to the recipient bounces',
  RULE_CHANGED: 'the rule was changed',
  RULE_PAUSED: 'the rule was paused',
  RULE_DELETED: 'the rule was deleted',
  VM_DELETED: 'the VM was deleted',
  EXPIRED: 'no attempt succeeded within 24 hours',
  REFUSED: 'the endpoint rejected it permanently',
};

interface DisplayedDestination {
  readonly kind: string;
  /** Absent when the reader may not see it. */
  readonly displayName?: string;
  /** May see the answers of endpoints. */
  readonly mayWrite: boolean;
}

/** The end of a notification in a sentence. @param state its final state */
function deliverySentence(
  state: string,
  { event, reason, attempts, createdMs }: DeliveryContext,
  { kind, displayName, mayWrite }: DisplayedDestination,
): string {
  const named = displayName ? ` "${oneLine(displayName)}"` : '';
  const message = `${MESSAGES[event]} to ${kind}${named}`;
  const tries = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`;
  const last = attempts.at(-1);
  if (state === 'sent') {
    const tookMs = Math.max(0, (last?.endedMs ?? createdMs) - createdMs);
    return `${message} was accepted after ${duration(tookMs / 1000)}, ${tries}`;
  }
  const why = reason === null ? 'the reason is unknown' : REASONS[reason];
  const answer = last?.httpStatus ? `; HTTP ${last.httpStatus}` : '';
  const error = mayWrite && last?.error ? `; ${oneLine(last.error)}` : answer;
  return `${message} was not sent: ${why} (${reason ?? state}), ${tries}${error}`;
}
