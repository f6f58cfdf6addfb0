/** An incident in words and in the parts of its names. Pure; used by the list and the page. */
import { idOf } from '../../../data/names.ts';
import type { Incident } from '../../../data/watch.ts';
import {
  type Format,
  formatClock,
  formatDay,
  formatDuration,
  formatReadingBeside,
  formatThreshold,
  formatTimeField,
  parseTimeField,
  readTimeField,
} from '../../../messages/format.ts';
import { operatorSigns, texts } from './incident-texts.ts';

/** Where it fires: the VM by its name at the time, or the data center. */
export function placeOf(incident: Incident): string {
  if (incident.vmName === '') return texts.page.dataCenter(incident.datacenter);
  const vm = incident.vmDisplayName || idOf(incident.vmName);
  return [vm, ...Object.values(incident.labels)].join(' · ');
}

/** The rule by its name when it fired. */
export function titleOf({ ruleDisplayName, metricId }: Incident): string {
  return ruleDisplayName || metricId;
}

/** The value at the last evaluation; undefined if none was observed. */
export function valueText(
  { value, threshold }: Pick<Incident, 'value' | 'threshold'>,
  unit: string,
  format: Format,
): string | undefined {
  return value === undefined ? undefined : formatReadingBeside(value, threshold, unit, format);
}

/** `> 90 %`. */
function thresholdText(
  { operator, threshold }: Pick<Incident, 'operator' | 'threshold'>,
  unit: string,
  format: Format,
): string {
  return `${operatorSigns[operator] ?? operator} ${formatThreshold(threshold, unit, format)}`;
}

/** `> 90 % for 5 min`. */
export function conditionText(incident: Incident, unit: string, format: Format): string {
  const threshold = thresholdText(incident, unit, format);
  const { sustainedSeconds } = incident;
  if (sustainedSeconds === 0) return threshold;
  return texts.page.sustained(threshold, formatDuration(sustainedSeconds));
}

/** True while members can act on it. */
export function isOpen({ state }: Pick<Incident, 'state'>): boolean {
  return state === 'FIRING';
}

/** End of the snooze, Unix ms; undefined if it is not snoozed or the snooze is over. */
export function snoozedUntilMs(
  { snoozedUntilUnix }: Pick<Incident, 'snoozedUntilUnix'>,
  nowMs: number,
): number | undefined {
  if (snoozedUntilUnix === undefined) return undefined;
  const untilMs = Number(snoozedUntilUnix) * 1_000;
  return untilMs > nowMs ? untilMs : undefined;
}

const MINUTE_MS = 60_000;
/** The service rejects longer snoozes. */
const SNOOZE_MS_MAX = 7 * 24 * 60 * MINUTE_MS;

/** Value of a time field: `2026-11-23T08:00`, in local time or UTC. */
export function fieldOf(ms: number, isUtc: boolean): string {
  return formatTimeField(ms, isUtc).slice(0, 16);
}

/**
 * Unix ms of such a field; undefined if it is empty, in the past, or more than seven days ahead.
 */
export function untilOf(field: string, isUtc: boolean, nowMs: number): number | undefined {
  const ms = parseTimeField(field, isUtc, nowMs);
  return ms !== undefined && ms > nowMs && ms <= nowMs + SNOOZE_MS_MAX ? ms : undefined;
}

/** Reason why the field names no moment; undefined if it does, or is empty. */
export function untilProblem(field: string, isUtc: boolean): string | undefined {
  const read = readTimeField(field, isUtc);
  return read && 'problem' in read ? read.problem : undefined;
}

/** Latest possible end of a snooze, with a minute of margin for the request. */
export function latestUntilMs(nowMs: number): number {
  return nowMs + SNOOZE_MS_MAX - MINUTE_MS;
}

/** `08:00`, or `24 Nov 08:00` on another day. */
export function untilText(untilMs: number, nowMs: number, format: Format): string {
  const clock = formatClock(untilMs, format);
  const day = formatDay(untilMs, format);
  return day === formatDay(nowMs, format) ? clock : `${day} ${clock}`;
}
