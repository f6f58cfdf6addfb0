/** An incident in words and in the parts of its names: pure, for the list and for its page. */
import { idOf } from '../../../data/names.ts';
import type { Incident } from '../../../data/watch.ts';
import {
  type Format,
  formatClock,
  formatDay,
  formatDuration,
  formatReading,
  formatTimeField,
  parseTimeField,
} from '../../../messages/format.ts';
import { operatorSigns, texts } from './incident-texts.ts';

/** Where it fires: the VM by its name as it was then, or the data center. */
export function placeOf(incident: Incident): string {
  if (incident.vmName === '') return texts.page.dataCenter(incident.datacenter);
  const vm = incident.vmDisplayName || idOf(incident.vmName);
  return [vm, ...Object.values(incident.labels)].join(' · ');
}

/** The rule by its name, as it was when it fired. */
export function titleOf({ ruleDisplayName, metricId }: Incident): string {
  return ruleDisplayName || metricId;
}

/** The value at the last decision; undefined: none was observed. */
export function valueText(
  { value }: Pick<Incident, 'value'>,
  unit: string,
  format: Format,
): string | undefined {
  return value === undefined ? undefined : formatReading(value, unit, format);
}

/** `> 90 %`. */
function thresholdText(
  { operator, threshold }: Pick<Incident, 'operator' | 'threshold'>,
  unit: string,
  format: Format,
): string {
  return `${operatorSigns[operator] ?? operator} ${formatReading(threshold, unit, format)}`;
}

/** `> 90 % for 5 min`. */
export function conditionText(incident: Incident, unit: string, format: Format): string {
  const threshold = thresholdText(incident, unit, format);
  const { sustainedSeconds } = incident;
  if (sustainedSeconds === 0) return threshold;
  return texts.page.sustained(threshold, formatDuration(sustainedSeconds));
}

/** True while somebody can act on it. */
export function isOpen({ state }: Pick<Incident, 'state'>): boolean {
  return state === 'FIRING';
}

/** End of the snooze, Unix ms; undefined: it is not snoozed, or the time is over. */
export function snoozedUntilMs(
  { snoozedUntilUnix }: Pick<Incident, 'snoozedUntilUnix'>,
  nowMs: number,
): number | undefined {
  if (snoozedUntilUnix === undefined) return undefined;
  const untilMs = Number(snoozedUntilUnix) * 1_000;
  return untilMs > nowMs ? untilMs : undefined;
}

const MINUTE_MS = 60_000;
/** The service refuses a longer snooze. */
const SNOOZE_MS_MAX = 7 * 24 * 60 * MINUTE_MS;

/** What a field for a time holds: `2026-11-23T08:00`, by the clock of the person or in UTC. */
export function fieldOf(ms: number, isUtc: boolean): string {
  return formatTimeField(ms, isUtc).slice(0, 16);
}

/** Unix ms of such a field; undefined: it is empty, past, or more than seven days ahead. */
export function untilOf(field: string, isUtc: boolean, nowMs: number): number | undefined {
  const ms = parseTimeField(field, isUtc);
  return ms !== undefined && ms > nowMs && ms <= nowMs + SNOOZE_MS_MAX ? ms : undefined;
}

/** The latest time that a snooze may have, with a minute for the way to the service. */
export function latestUntilMs(nowMs: number): number {
  return nowMs + SNOOZE_MS_MAX - MINUTE_MS;
}

/** `08:00`, or `24 Nov 08:00` where it is another day. */
export function untilText(untilMs: number, nowMs: number, format: Format): string {
  const clock = formatClock(untilMs, format);
  const day = formatDay(untilMs, format);
  return day === formatDay(nowMs, format) ? clock : `${day} ${clock}`;
}
