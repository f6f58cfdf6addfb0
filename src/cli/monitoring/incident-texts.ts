/** Incidents for display: several as a table, one with its timeline, one explained. */
import { exactQuantity, readingBeside } from '../../../streams/alerting/quantity.ts';
import { condition } from '../../../streams/alerting/wording.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import {
  type ExplainIncidentResponse,
  ExplainIncidentResponse_Recomputation_Status,
  type Incident,
  Incident_MissingReason,
  Incident_RetireReason,
  Incident_State,
} from '../../gen/svc/monitoring/v1/incident_pb.ts';
import {
  AlertInstance_DataState,
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { idCell, listing, long, minor, moment, sentences, stateCell } from '../client/listing.ts';
import { facts, table } from '../client/output.ts';
import { displayedName, enumText, fullName, localTime, NOT_OBSERVED } from '../client/texts.ts';
import type { Screen } from '../command.ts';
import type { PeopleNames } from './people-names.ts';
import { windowChart } from './window-chart.ts';

export function incidentTable(
  incidents: readonly Incident[],
  screen: Screen | undefined,
  names: PeopleNames,
): string {
  return listing(
    screen,
    [
      long('rule'),
      long('VM'),
      'state',
      'severity',
      'started',
      minor('ended'),
      minor('data'),
      long('attention'),
      'incident',
    ],
    incidents.map((incident) => [
      displayedName(incident.ruleDisplayName, incident.ruleName),
      subjectText(incident),
      stateCell(stateText(incident)),
      stateCell(enumText(AlertRuleSpec_Severity, incident.severity)),
      moment(incident.startedUnix),
      moment(incident.recoveredUnix ?? incident.retiredUnix),
      enumText(AlertInstance_DataState, incident.dataState),
      attentionText(incident, names),
      idCell(incident.name),
    ]),
    'No matching incidents',
  );
}

/** The facts of one incident, followed by its timeline. */
export function incidentText(
  incident: Incident,
  screen: Screen | undefined,
  names: PeopleNames,
): string {
  const { name, ruleName, ruleDisplayName, severity, startedUnix, firedUnix } = incident;
  const factLines = facts([
    ['incident', name],
    ['runbook', incident.runbookText],
    ['runbook link', incident.runbookUrl],
    ['state', stateText(incident)],
    ['severity', enumText(AlertRuleSpec_Severity, severity)],
    ['rule', `${ruleDisplayName} (${ruleName}, version ${incident.ruleVersion})`],
    [
      'VM',
      incident.vmName === ''
        ? subjectText(incident)
        : `${fullName(incident.vmDisplayName, incident.vmName)}${labelsText(incident.labels)}`,
    ],
    ['data center', incident.vmDatacenter],
    ['labels', labelsText(incident.ruleLabels).trim()],
    ['condition', conditionOf(incident)],
    [
      'value',
      incident.value === undefined
        ? NOT_OBSERVED
        : readingBeside(incident.value, incident.threshold, unitOf(incident.metricId)),
    ],
    ['started', localTime(startedUnix)],
    ['fired', localTime(firedUnix)],
    ['recovered', localTime(incident.recoveredUnix)],
    ['retired', localTime(incident.retiredUnix)],
    ['data', dataText(incident)],
    ['evaluator', incident.evaluatorError],
    ['attention', attentionText(incident, names)],
    ['reminders', incident.repeats > 0 ? String(incident.repeats) : ''],
    [
      'note',
      incident.correctedAfterNotification
        ? 'late samples showed that the condition had not held'
        : '',
    ],
  ]);
  const timeline = listing(
    screen,
    ['time', 'event', long('by'), sentences(''), minor('fields')],
    incident.timeline.map(({ atUnix, event, by, detail, fields = {} }) => [
      moment(atUnix),
      event,
      names.get(by) ?? by,
      detail,
      fieldsText(fields),
    ]),
    'No steps are recorded any more',
  );
  return `${factLines}\n${timeline}`;
}

/** Fields ending in `Ms` above this value are times, Unix ms; below it they are durations. */
const TIME_MS_MIN = 1e12;

/** Fields of an event except its name and time; times are formatted. */
function fieldsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([name]) => name !== 'type' && name !== 'at')
    .map(([name, value]) => {
      const isTime = name.endsWith('Ms') && typeof value === 'number' && value > TIME_MS_MIN;
      if (isTime) return `${name.slice(0, -'Ms'.length)}=${localTime(Math.floor(value / 1000))}`;
      return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
    })
    .join(' ');
}

/** The decision in words, the window as a chart, and its samples. */
export function explanationText(explanation: ExplainIncidentResponse): string {
  const { incident, condition: rule, window, windowThinned, gaps, recomputation } = explanation;
  const unit = rule?.unit ?? '';
  const samples = window.map(({ observedUnixMs, value, breaches }) => {
    return { atMs: Number(observedUnixMs), value, breaches };
  });
  const chart = windowChart({
    samples,
    threshold: rule?.threshold ?? 0,
    unit,
    gaps: gaps.map(({ startUnixMs, endUnixMs, tolerated }) => {
      return { startMs: Number(startUnixMs), endMs: Number(endUnixMs), tolerated };
    }),
  });
  const factLines = facts([
    ['incident', incident?.name ?? ''],
    ['condition', incident ? conditionOf(incident) : ''],
    ['recovery', recoveryText(explanation)],
    [
      're-evaluated',
      enumText(ExplainIncidentResponse_Recomputation_Status, recomputation?.status ?? 0),
    ],
    ['window', windowThinned ? 'thinned: first, last, smallest and largest are kept' : ''],
  ]);
  const rows = table(
    ['observed', { title: 'value', align: 'right' }, 'breaches'],
    samples.map(({ atMs, value, breaches }) => [
      localTime(Math.floor(atMs / 1000)),
      readingBeside(value, rule?.threshold ?? 0, unit),
      breaches ? 'yes' : 'no',
    ]),
    'It fired because samples were missing',
  );
  const parts = [explanation.summary, chart.join('\n'), factLines.trimEnd(), rows];
  return parts.filter((part) => part !== '').join('\n\n');
}

/**
 * A recovery threshold on the breaching side has no effect, because a breaching value is not good.
 */
function recoveryText({ condition: rule }: ExplainIncidentResponse): string {
  if (rule?.recoveryThreshold === undefined && rule?.recoverySeconds === undefined) return '';
  const { threshold, recoveryThreshold = threshold, operator, unit, recoverySeconds = 0 } = rule;
  const levels = [threshold, recoveryThreshold] as const;
  const name = enumText(AlertRuleSpec_Operator, operator);
  let level = recoveryThreshold;
  if (name.startsWith('GREATER')) level = Math.min(...levels);
  if (name.startsWith('LESS')) level = Math.max(...levels);
  return `past ${exactQuantity(level, unit)} for ${recoverySeconds} s`;
}

function conditionOf({ metricId, operator, threshold, sustainedSeconds }: Incident): string {
  const name = enumText(AlertRuleSpec_Operator, operator);
  return condition({
    metricId,
    operator: name,
    threshold,
    sustainedSeconds,
    unit: unitOf(metricId),
  });
}

function unitOf(metricId: string): string {
  return metricCatalogue.get(metricId)?.unit ?? '';
}

function stateText({ state, retireReason }: Incident): string {
  const why = enumText(Incident_RetireReason, retireReason);
  return `${enumText(Incident_State, state)}${why ? ` (${why})` : ''}`;
}

/** The VM, or the data center with many silent VMs. */
export function subjectText(incident: Incident): string {
  const { vmName, vmDisplayName, labels, datacenter, heldVmCount } = incident;
  if (vmName !== '') return `${displayedName(vmDisplayName, vmName)}${labelsText(labels)}`;
  return `${heldVmCount} VMs of ${datacenter}`;
}

export function labelsText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length > 0 ? ` ${pairs.join(' ')}` : '';
}

function dataText({ dataState, dataMissingSinceUnix, dataMissingReason }: Incident): string {
  const state = enumText(AlertInstance_DataState, dataState);
  if (dataMissingSinceUnix === undefined) return state;
  const why = enumText(Incident_MissingReason, dataMissingReason);
  return `${state} since ${localTime(dataMissingSinceUnix)}${why ? ` (${why})` : ''}`;
}

/** The snooze comes first: it is short and temporary. */
function attentionText({ acknowledged, snoozedUntilUnix }: Incident, names: PeopleNames): string {
  const by = acknowledged?.by ?? '';
  const note = acknowledged?.note ? `: ${acknowledged.note}` : '';
  const parts = [
    snoozedUntilUnix ? `snoozed until ${localTime(snoozedUntilUnix)}` : '',
    acknowledged ? `acknowledged by ${names.get(by) ?? by}${note}` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
