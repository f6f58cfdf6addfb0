/**
 * The content of a notification, before a kind formats it: plain text read from the rows, much of
 * it written by users. Every kind escapes and cuts it by its own rules. Missing values are reported
 * as missing, never as zero.
 */

import type { IncidentBody } from '../../../../actors/alerting/incident.ts';
import {
  alone,
  type GroupMember,
  isGroup,
  liveMembers,
} from '../../../../actors/delivery/delivery-group.ts';
import type { ProjectBody } from '../../../../actors/identity/members.ts';
import type { ProjectView } from '../../../../actors/platform/host/host-port.ts';
import { cutText } from '../../../../actors/platform/plain-text.ts';
import type { DeliveryContext } from '../../../../machines/delivery/delivery.ts';
import type { NotificationEvent } from '../../../../machines/platform/effects.ts';
import { readingBeside } from '../../../../streams/alerting/quantity.ts';
import { condition, duration, utcTime } from '../../../../streams/alerting/wording.ts';
import type { ObservedValue } from '../../../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../../../streams/telemetry/metrics/catalogue.ts';
import { parseLabels } from '../../../../streams/telemetry/samples/batch.ts';
import { nameOf } from '../../../platform/api/resource-name.ts';
import type { RenderOptions } from './notification-kind.ts';

/** One line of a table, both plain text. Users may have written the value. */
export interface Fact {
  readonly name: string;
  readonly value: string;
}

/** The content that every kind formats in its own way. */
export interface Message {
  readonly event: NotificationEvent;
  /** INFO, WARNING or CRITICAL; '' for a test. */
  readonly severity: string;
  /** One line: the event and its subject. */
  readonly title: string;
  /** The rule's runbook, displayed right below the title; absent if the rule has none. */
  readonly runbook?: Runbook;
  /** One or two sentences. */
  readonly summary: string;
  /** Most important first: a kind with limited space omits the last ones. */
  readonly facts: readonly Fact[];
  /**
   * One line for each incident of a group: its VM and its reading. Absent for a single incident. A
   * kind displays as many as fit into its limit.
   */
  readonly members?: readonly Fact[];
  /** Link to the incident or destination. */
  readonly url: string;
  readonly linkText: string;
  /** Absent for tests, and for incidents without a window. */
  readonly chart?: WindowFacts;
}

/** Instructions of a rule's author. At least one of the two is not ''. */
export interface Runbook {
  readonly text: string;
  /** http or https. */
  readonly url: string;
}

/** The observations that decided an incident, for a chart. */
export interface WindowFacts {
  /** Oldest first. */
  readonly window: readonly ObservedValue[];
  readonly threshold: number;
  readonly unit: string;
}

/** Throws if the delivery's incident has no record, which is a bug. */
export function messageOf(
  view: ProjectView,
  delivery: DeliveryContext,
  options: Pick<RenderOptions, 'publicUrl' | 'id'>,
): Message {
  if (delivery.event === 'TEST') return testMessage(view, delivery, options);
  const members = isGroup(delivery) ? liveMembers(view, options.id, delivery) : [];
  const [first, second] = members;
  if (first && second) return groupMessage(view, delivery, members, options);
  return incidentMessage(view, first ? alone(delivery, first) : delivery, options);
}

function incidentMessage(
  view: ProjectView,
  delivery: DeliveryContext,
  options: Pick<RenderOptions, 'publicUrl'>,
): Message {
  const incident = incidentOf(view, delivery.incident);
  const subject = subjectOf(view, incident);
  const window = view.record('incidentWindow', incident.id)?.body;
  const unit = unitOf(incident);
  return {
    event: delivery.event,
    severity: incident.severity,
    title: titleOf(delivery.event, subject, incident),
    ...runbookOf(incident),
    summary: summaryOf(delivery, incident, subject),
    facts: factsOf(view, delivery, incident, subject),
    url: `${options.publicUrl}/${nameOf(view.project, 'incidents', incident.id)}`,
    linkText: 'Open the incident',
    ...(window &&
      window.window.length > 0 && {
        chart: { window: window.window, threshold: incident.threshold, unit },
      }),
  };
}

/** One message for incidents of one rule, in the order in which they fired. */
function groupMessage(
  view: ProjectView,
  delivery: DeliveryContext,
  members: readonly GroupMember[],
  { publicUrl }: Pick<RenderOptions, 'publicUrl'>,
): Message {
  const incidents = members.map((member) => incidentOf(view, member.incident));
  const [first] = incidents;
  if (!first) throw new Error('The group to render has no members');
  const isRecovery = delivery.event === 'RECOVERED';
  const count = `${incidents.length} incidents`;
  return {
    event: delivery.event,
    severity: first.severity,
    title: titleOf(delivery.event, count, first),
    ...runbookOf(first),
    summary: isRecovery
      ? `${count} of the rule recovered.`
      : `${count} of the rule meet the condition: ${conditionOf(first)}.`,
    facts: [
      { name: 'Severity', value: first.severity },
      { name: 'Data centers', value: datacentersOf(incidents) },
      ...Object.entries(first.ruleLabels ?? {}).map(labelFact),
      { name: 'Rule', value: first.ruleDisplayName },
      { name: 'Project', value: projectNameOf(view) },
    ].filter(({ value }) => value !== ''),
    members: incidents.map((incident) => memberFact(view, incident)),
    url: `${publicUrl}/projects/${view.project}/incidents`,
    linkText: 'Open the incidents',
  };
}

/** Characters of a subject in a title, so that the rule after it can be seen too. */
const TITLE_SUBJECT_MAX = 60;

/** The VM comes first: lists of mails and chats display only the beginning of a title. */
function titleOf(
  event: NotificationEvent,
  subject: string,
  { ruleDisplayName }: IncidentBody,
): string {
  return `${STATE_WORDS[event]}: ${cutText(subject, TITLE_SUBJECT_MAX)}: ${ruleDisplayName}`;
}

function datacentersOf(incidents: readonly IncidentBody[]): string {
  const names = incidents.map(({ datacenter, vmDatacenter }) => datacenter ?? vmDatacenter ?? '');
  return [...new Set(names)].filter((name) => name !== '').join(', ');
}

function memberFact(view: ProjectView, incident: IncidentBody): Fact {
  const labels = Object.values(parseLabels(incident.labels));
  const { startedMs, recoveredMs } = incident;
  const when = recoveredMs === null ? `since ${utcTime(startedMs)}` : `at ${utcTime(recoveredMs)}`;
  const name = [subjectOf(view, incident), ...labels].join(' ');
  return { name, value: `${reading(incident)}, ${when}` };
}

function incidentOf(view: ProjectView, id: string): IncidentBody {
  const incident = view.record('incident', id)?.body;
  if (!incident) throw new Error(`The incident ${id} has no record`);
  return incident;
}

function runbookOf({ runbookText: text = '', runbookUrl: url = '' }: IncidentBody) {
  return text === '' && url === '' ? {} : { runbook: { text, url } };
}

/** The event in words, as used at the start of titles. */
const STATE_WORDS: Readonly<Record<NotificationEvent, string>> = {
  FIRING: 'Firing',
  REPEATED: 'Still firing',
  RECOVERED: 'Recovered',
  TEST: 'Test',
};

function testMessage(
  view: ProjectView,
  delivery: DeliveryContext,
  { publicUrl }: Pick<RenderOptions, 'publicUrl'>,
): Message {
  const row = view.instance('destination', delivery.destination);
  const displayName = row?.context.displayName ?? '';
  return {
    event: 'TEST',
    severity: '',
    title: 'Test notification',
    summary: 'Notifications of this destination reach you here. No alert has fired.',
    facts: [
      { name: 'Project', value: projectNameOf(view) },
      { name: 'Destination', value: displayName },
    ],
    // The list that contains its delivery, because a message does not know its own name.
    url: `${publicUrl}/projects/${view.project}/deliveries`,
    linkText: 'Open the deliveries',
  };
}

function factsOf(
  view: ProjectView,
  delivery: DeliveryContext,
  incident: IncidentBody,
  subject: string,
): Fact[] {
  const labels = Object.entries(parseLabels(incident.labels));
  const isOfDatacenter = isDatacenterWide(incident);
  const facts: (Fact | undefined)[] = [
    { name: 'Severity', value: incident.severity },
    { name: isOfDatacenter ? 'Data center' : 'VM', value: subject },
    ...(isOfDatacenter
      ? [silentVms(incident)]
      : [datacenterOf(incident), ...labels.map(labelFact)]),
    ...Object.entries(incident.ruleLabels ?? {}).map(labelFact),
    { name: 'Condition', value: conditionOf(incident) },
    {
      name: delivery.event === 'RECOVERED' ? 'Observed' : 'Observed then',
      value: observed(incident),
    },
    { name: 'Began', value: utcTime(incident.startedMs) },
    { name: 'Fired', value: utcTime(incident.firedMs) },
    time('Recovered', incident.recoveredMs),
    dataFact(incident),
    incident.evaluatorError
      ? { name: 'Evaluation', value: `failing: ${incident.evaluatorError}` }
      : undefined,
    incident.correctedAfterNotification
      ? { name: 'Corrected', value: 'late samples showed that the condition was not met' }
      : undefined,
    delivery.event === 'REPEATED'
      ? { name: 'Reminder', value: String(delivery.occurrence) }
      : undefined,
    { name: 'Rule', value: incident.ruleDisplayName },
    { name: 'Project', value: projectNameOf(view) },
  ];
  return facts.filter((fact) => fact !== undefined);
}

function labelFact([name, value]: readonly [string, string]): Fact {
  return { name, value };
}

function datacenterOf({ vmDatacenter }: IncidentBody): Fact | undefined {
  return vmDatacenter ? { name: 'Data center', value: vmDatacenter } : undefined;
}

function summaryOf(delivery: DeliveryContext, incident: IncidentBody, subject: string): string {
  const { metricId } = incident;
  if (delivery.event === 'RECOVERED') {
    const lasted = incident.recoveredMs === null ? '' : lastedFor(incident);
    return `${metricId} of ${subject} no longer meets the condition${lasted}.`;
  }
  const since = `since ${utcTime(incident.startedMs)}`;
  const still = delivery.event === 'REPEATED' ? 'still meets' : 'has met';
  return `${metricId} of ${subject} ${still} the condition ${since}.`;
}

function lastedFor({ startedMs, recoveredMs }: IncidentBody): string {
  return ` after ${duration(Math.max(0, (recoveredMs ?? startedMs) - startedMs) / 1000)}`;
}

function conditionOf(incident: IncidentBody): string {
  const { metricId, operator, threshold, sustainedSeconds } = incident;
  return condition({ metricId, operator, threshold, sustainedSeconds, unit: unitOf(incident) });
}

/** Value and time of the last decision. A missing value is never zero. */
function observed(incident: IncidentBody): string {
  const { value, valueMs } = incident;
  const at = value === null || valueMs === null ? '' : ` at ${utcTime(valueMs)}`;
  return `${reading(incident)}${at}`;
}

function reading(incident: IncidentBody): string {
  const { value, threshold } = incident;
  return value === null ? 'no reading' : readingBeside(value, threshold, unitOf(incident));
}

const MISSING_WORDS = {
  NO_DATA: 'no data is observed',
  VM_STOPPED: 'the owner stopped the VM',
  CLOCK_AHEAD: "the VM's clock is ahead, so its samples are rejected",
  DATACENTER_STALE: 'the whole data center is silent',
} as const;

/** Missing data is reported as missing. It is neither a recovery nor a value. */
function dataFact({ dataMissingSinceMs, dataMissingReason }: IncidentBody): Fact | undefined {
  if (dataMissingSinceMs === null) return undefined;
  const why = MISSING_WORDS[dataMissingReason ?? 'NO_DATA'];
  return { name: 'Data', value: `missing since ${utcTime(dataMissingSinceMs)}: ${why}` };
}

function time(name: string, ms: number | null): Fact | undefined {
  return ms === null ? undefined : { name, value: utcTime(ms) };
}

/** An incident of a whole data center names no VM. */
function isDatacenterWide({ vm, datacenter }: IncidentBody): boolean {
  return vm === '' && datacenter !== undefined;
}

function silentVms({ heldVmCount }: IncidentBody): Fact | undefined {
  return heldVmCount === undefined ? undefined : { name: 'Silent VMs', value: String(heldVmCount) };
}

function subjectOf(view: ProjectView, incident: IncidentBody): string {
  if (isDatacenterWide(incident)) return incident.datacenter ?? '';
  const vm = view.record('vm', incident.vm)?.body;
  return vm?.displayName || incident.vm;
}

function unitOf({ metricId }: IncidentBody): string {
  return metricCatalogue.get(metricId)?.unit ?? '';
}

function projectNameOf(view: ProjectView): string {
  const body: ProjectBody | undefined = view.record('project', view.project)?.body;
  return body?.displayName || view.project;
}
