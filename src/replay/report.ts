/**
 * A readable report of a replay: one line per incident and per delivery, with times in UTC and the
 * recording's own dates. The text depends only on recording and rules, so that it can be stored and
 * compared.
 */
import { tableLines } from '../platform/table.ts';
import type { ReplayResult } from './replay.ts';
import type { ReplayedDelivery, ReplayedIncident } from './replayed.ts';

/** Incidents and deliveries as text, which always ends with a line break. */
export function reportText({ incidents, deliveries }: ReplayResult): string {
  return [
    `Incidents: ${incidents.length}`,
    ...(incidents.length > 0 ? ['', ...incidentLines(incidents)] : []),
    '',
    `Deliveries: ${deliveries.length}`,
    ...(deliveries.length > 0 ? ['', ...deliveryLines(deliveries)] : []),
    '',
  ].join('\n');
}

/** The first lines in which two reports differ, for users; '' if they are the same. */
export function reportDifference(expected: string, seen: string): string {
  if (expected === seen) return '';
  const [before, after] = [expected.split('\n'), seen.split('\n')];
  const at = after.findIndex((line, i) => line !== before[i]);
  const line = at < 0 ? after.length : at;
  return `line ${line + 1}\n- ${before[line] ?? '(nothing)'}\n+ ${after[line] ?? '(nothing)'}\n`;
}

function incidentLines(incidents: readonly ReplayedIncident[]): string[] {
  return tableLines(
    ['VM', 'RULE', 'STARTED', 'FIRED', 'ENDED', 'LAST VALUE', 'STATE'].map(titled),
    incidents.map((incident) => [
      `${incident.vm || 'data center'}${incident.labels}`,
      incident.rule,
      timeText(incident.startedMs),
      timeText(incident.firedMs),
      incident.recoveredMs === null ? '-' : timeText(incident.recoveredMs),
      valueText(incident.value),
      stateText(incident),
    ]),
  );
}

function deliveryLines(deliveries: readonly ReplayedDelivery[]): string[] {
  return tableLines(
    ['AT', 'EVENT', 'TO', 'VM', 'RULE', 'OUTCOME'].map(titled),
    deliveries.map(({ atMs, event, occurrence, destination, vm, labels, rule, outcome }) => [
      timeText(atMs),
      event === 'REPEATED' ? `${event} ${occurrence}` : event,
      destination,
      `${vm || 'data center'}${labels}`,
      rule,
      outcome,
    ]),
  );
}

function titled(title: string): { title: string } {
  return { title };
}

function stateText(incident: ReplayedIncident): string {
  const { state, dataMissingSinceMs, correctedAfterNotification } = incident;
  const words: string[] = [state];
  if (dataMissingSinceMs !== null) words.push(`no data since ${timeText(dataMissingSinceMs)}`);
  if (correctedAfterNotification) words.push('corrected by late samples');
  return words.join(', ');
}

/** `2013-07-16 12:50:37`, UTC. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

/** Six digits are enough for a reading. Absent is not zero. */
function valueText(value: number | null): string {
  return value === null ? '-' : String(Number(value.toPrecision(6)));
}
