/** Why an incident fired, in a few sentences for people. What is not known is said to be so. */
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import { duration, OPERATOR_WORDS, quantity, utcTime } from '../../../streams/alerting/wording.ts';
import { GAP_TOLERANCE_MS, type ObservedValue } from '../../../streams/telemetry/entry.ts';
import { AGE_METRIC } from '../../../streams/telemetry/metrics/catalogue.ts';
import type { Recomputation } from '../../telemetry/query/explain/recompute-incident.ts';

/** Times are Unix ms. */
export interface ExplainedGap {
  readonly startMs: number;
  readonly endMs: number;
  readonly tolerated: boolean;
}

export interface Explained {
  readonly incident: IncidentBody;
  /** Of the metric catalogue. */
  readonly unit: string;
  readonly window: readonly ObservedValue[];
  readonly windowThinned: boolean;
  readonly gaps: readonly ExplainedGap[];
  readonly firedObservedMs: number;
  readonly recomputation: Recomputation;
}

export function explanationText(explained: Explained): string {
  const { incident } = explained;
  const decided = incident.metricId === AGE_METRIC ? silence(explained) : breaches(explained);
  const sentences = [
    decided,
    ...gapSentences(explained),
    lateness(explained),
    incident.correctedAfterNotification
      ? 'Late samples showed afterwards that the condition had not held throughout'
      : '',
    `${recomputed(explained)}`,
  ];
  return sentences
    .filter((one) => one !== '')
    .map((one) => `${one}.`)
    .join(' ');
}

function breaches({ incident, unit, window, windowThinned, firedObservedMs }: Explained): string {
  const { metricId, operator, threshold, sustainedSeconds, startedMs } = incident;
  const was = `${metricId} was ${OPERATOR_WORDS[operator] ?? operator} ${quantity(threshold, unit)}`;
  const asked = sustainedSeconds === 0 ? 'one sample' : duration(sustainedSeconds);
  const span = `from ${utcTime(startedMs)} to ${utcTime(firedObservedMs)}`;
  const enough = `the rule asks for ${asked}`;
  if (window.length === 0) return `${was} ${span}, of which no sample was stored; ${enough}`;
  if (window.length === 1) {
    return `${was} in one sample, ${quantity(window[0]?.value ?? Number.NaN, unit)} at ${utcTime(firedObservedMs)}; ${enough}`;
  }
  const each = windowThinned
    ? `all samples, ${window.length} of which are kept,`
    : `each of ${window.length} samples`;
  return `${was} in ${each} ${span}; ${enough}`;
}

function silence({ incident, firedObservedMs }: Explained): string {
  const { threshold, sustainedSeconds, startedMs, datacenter, heldVmCount } = incident;
  const who =
    incident.vm === '' && datacenter !== undefined
      ? `${heldVmCount ?? 'Many'} VMs of data center ${datacenter}, silent together,`
      : 'The VM';
  const lasting = sustainedSeconds === 0 ? '' : ` and for ${duration(sustainedSeconds)} more`;
  return `${who} had not been heard for ${duration(threshold)} at ${utcTime(startedMs)}${lasting}, up to ${utcTime(firedObservedMs)}`;
}

function gapSentences({ gaps }: Explained): string[] {
  const tolerance = duration(GAP_TOLERANCE_MS / 1000);
  const within = gaps.filter(({ tolerated }) => tolerated);
  const beyond = gaps.filter(({ tolerated }) => !tolerated);
  const longest = Math.max(0, ...within.map(({ startMs, endMs }) => endMs - startMs));
  const count = within.length === 1 ? 'A gap' : `${within.length} gaps`;
  return [
    within.length > 0
      ? `${count} of up to ${duration(longest / 1000)} did not interrupt that: ${tolerance} are tolerated`
      : '',
    ...beyond.map(({ startMs, endMs }) => {
      const length = duration((endMs - startMs) / 1000);
      return `Nothing was observed for ${length} before ${utcTime(endMs)}, more than the ${tolerance} that are tolerated: what came before does not count`;
    }),
  ];
}

/** Only where it was decided well after the samples say. */
function lateness({ incident, firedObservedMs }: Explained): string {
  const lateMs = incident.firedMs - firedObservedMs;
  if (lateMs <= GAP_TOLERANCE_MS) return '';
  return `It was decided at ${utcTime(incident.firedMs)}, ${duration(lateMs / 1000)} after that: samples or the evaluator came late`;
}

function recomputed({ recomputation: { status, detail } }: Explained): string {
  if (status === 'NOT_POSSIBLE') return `It cannot be decided again: ${lower(detail)}`;
  return detail;
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}
