/**
 * An incident's timeline: what the log recorded of its alert instance from the firing on, and how
 * each of its notifications ended, oldest first, one sentence each. Read when it is asked for, from
 * what audit reads too; a long one is told by its begin and its end.
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
import { utcTime } from '../../../streams/alerting/wording.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import {
  type Incident_TimelineEntry,
  Incident_TimelineEntrySchema,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';
import type { ToldActor } from '../../platform/api/transition-messages.ts';
import { deliverySentence, type Sentence, stepSentence } from './incident-sentences.ts';

/** Entries of one timeline; a longer one shows so many of its begin, and the rest of its end. */
const TIMELINE_MAX = 500;
const BEGIN = 100;
const END = TIMELINE_MAX - BEGIN - 1;

/** What is committed of an incident after its end (a correction by late samples) comes by then, ms. */
const AFTERMATH_MS = 3_600_000;

export interface TimelineReader {
  readonly tellActor: (by: Actor) => ToldActor;
  /** May see where people are told, and what endpoints answered. */
  readonly mayWrite: boolean;
}

type Entry = Incident_TimelineEntry;

/** `key` tells entries apart. */
interface Told {
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
  const begin = toldOf(view, incident, reader, { limit: TIMELINE_MAX, descending: false });
  if (begin.isWhole && begin.told.length <= TIMELINE_MAX) {
    return begin.told.map(({ entry }) => entry);
  }
  const end = toldOf(view, incident, reader, { limit: END, descending: true });
  const first = begin.told.slice(0, BEGIN);
  const known = new Set(first.map(({ key }) => key));
  const last = end.told.filter(({ key }) => !known.has(key)).slice(-END);
  const left = leftOut(first.at(-1)?.atMs ?? 0, last[0]?.atMs ?? 0);
  return [...first.map(({ entry }) => entry), left, ...last.map(({ entry }) => entry)];
}

function leftOut(fromMs: number, toMs: number): Entry {
  const detail =
    `What happened between ${utcTime(fromMs)} and ${utcTime(toMs)} is left out here: ` +
    'ListTransitions and ListDeliveries have all of it';
  return entryOf(fromMs, { event: 'leftOut', detail });
}

interface Direction {
  readonly limit: number;
  readonly descending: boolean;
}

/** Steps and ends of notifications from one side, oldest first; `isWhole`: there are no others. */
function toldOf(
  view: ProjectView,
  incident: IncidentBody,
  reader: TimelineReader,
  direction: Direction,
): { told: Told[]; isWhole: boolean } {
  const transitions = stepsOf(view, incident, direction);
  const steps = inOrder(transitions, direction).flatMap((step) => {
    const sentence = stepSentence(step.event, incident);
    return sentence ? [toldStep(step, sentence, reader)] : [];
  });
  const deliveries = view.instances('delivery', { ...direction, incident: incident.id });
  const ends = inOrder(deliveries, direction)
    .filter(({ final }) => final)
    .map((delivery) => toldDelivery(view, delivery, reader));
  const told = [...steps, ...ends].sort((a, b) => a.atMs - b.atMs);
  return { told, isWhole: transitions.next === undefined && deliveries.next === undefined };
}

function inOrder<T>({ items }: Page<T>, { descending }: Direction): readonly T[] {
  return descending ? items.toReversed() : items;
}

/** The instance's transitions in the incident's time, without those of its other incidents. */
function stepsOf(
  view: ProjectView,
  { id, alertInstance, firedMs, ...ends }: IncidentBody,
  direction: Direction,
): Page<RecordedTransition> {
  const endMs = ends.recoveredMs ?? ends.retiredMs;
  const page = view.transitions({
    ...direction,
    ...{ machine: 'alertInstance', instance: alertInstance, sinceMs: firedMs },
    ...(endMs !== null && { untilMs: endMs + AFTERMATH_MS }),
  });
  const items = inOrder(page, direction);
  const fired = items.findIndex((step) => isFiring(step) && step.event.incidentId === id);
  const later = items.findIndex((step, i) => i > fired && isFiring(step));
  const between = items.slice(Math.max(0, fired), later < 0 ? undefined : later);
  // The run that led to the next incident is none of this one's.
  const own = between.filter(({ to }) => conditionOf(to) !== 'sustaining');
  return { ...page, items: direction.descending ? own.toReversed() : own };
}

function isFiring({ event }: RecordedTransition): boolean {
  return event.type === 'sustained';
}

function toldStep(
  { atMs, by, sequence }: RecordedTransition,
  { event, detail }: Sentence,
  { tellActor }: TimelineReader,
): Told {
  const entry = entryOf(atMs, { event, by: tellActor(by).by, detail });
  return { key: `${sequence} ${event}`, atMs, entry };
}

function toldDelivery(
  view: ProjectView,
  delivery: Instance<'delivery'>,
  { mayWrite }: TimelineReader,
): Told {
  const { project, instance, value, updatedMs } = delivery;
  const context = delivery.context;
  const destination = view.instance('destination', context.destination)?.context;
  const detail = deliverySentence(String(value), context, {
    kind: String(destination?.kind ?? 'destination'),
    ...(mayWrite && { displayName: String(destination?.displayName ?? '') }),
    mayWrite,
  });
  const deliveryName = nameOf(project, 'deliveries', instance);
  const about = { event: String(value), by: 'deliverer', detail, deliveryName };
  return { key: instance, atMs: updatedMs, entry: entryOf(updatedMs, about) };
}

function entryOf(
  atMs: number,
  about: MessageInitShape<typeof Incident_TimelineEntrySchema>,
): Entry {
  return create(Incident_TimelineEntrySchema, { atUnix: unixSeconds(atMs), ...about });
}
