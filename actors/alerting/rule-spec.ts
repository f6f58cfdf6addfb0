/**
 * Validates a requested rule field by field, so that the result can be evaluated. Each refusal
 * names the field, the value and the allowed values. References to VMs and destinations are checked
 * inside the decision, at the project's head.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { OPERATORS, type Operator } from '../../streams/telemetry/entry.ts';
import { AGE_METRIC, EVALUATED_METRICS } from '../../streams/telemetry/metrics/catalogue.ts';
import { READING_MAX } from '../../streams/telemetry/metrics/series-catalogue.ts';
import { isFreeLabelName } from '../../streams/telemetry/samples/batch.ts';
import { isOneLine, NOT_ONE_LINE } from '../platform/plain-text.ts';

const SEVERITIES = ['INFO', 'WARNING', 'CRITICAL'] as const;

/** The rule as requested. Absent and unspecified fields are undefined. */
export interface RequestedRuleSpec {
  readonly displayName: string;
  readonly metricId: string;
  readonly operator: string | undefined;
  readonly threshold: number | undefined;
  readonly sustainedSeconds: number;
  readonly severity: string | undefined;
  readonly allVms: boolean;
  readonly vmNames: readonly string[];
  readonly enabled: boolean | undefined;
  readonly repeatIntervalSeconds: number;
  readonly destinationNames: readonly string[];
  readonly recoveryThreshold: number | undefined;
  readonly recoverySeconds: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** '' = none, also for the URL. */
  readonly runbookText: string;
  readonly runbookUrl: string;
}

const DISPLAY_NAME_MAX = 200;
const SUSTAINED_SECONDS_MAX = 86_400;
/** One sampling interval, which the age of telemetry regularly reaches. */
const AGE_SECONDS_MIN = 30;
const REPEAT_SECONDS_MIN = 60;
const REPEAT_SECONDS_MAX = 7 * 86_400;
const SELECTED_VMS_MAX = 1_000;
const LABELS_MAX = 20;
const LABEL_LENGTH_MAX = 200;
const RUNBOOK_LENGTH_MAX = 2_000;
const RUNBOOK_URL_LENGTH_MAX = 500;

/** The rule to evaluate. Throws a `Refusal`: INVALID_FIELD with `field`, or UNKNOWN_METRIC. */
export function validateRuleSpec(spec: RequestedRuleSpec): AlertRuleSpec {
  checkName(spec.displayName);
  checkMetric(spec.metricId);
  const operator = oneOf('operator', spec.operator, OPERATORS);
  const severity = oneOf('severity', spec.severity, SEVERITIES);
  const threshold = finite('threshold', spec.threshold);
  if (spec.metricId === AGE_METRIC) checkTelemetry(operator, threshold, spec.recoveryThreshold);
  seconds('sustainedSeconds', spec.sustainedSeconds, SUSTAINED_SECONDS_MAX);
  checkRepeat(spec.repeatIntervalSeconds);
  checkSelection(spec);
  checkLabels(spec.labels);
  checkRunbook(spec);
  const { recoveryThreshold, recoverySeconds } = spec;
  if (recoveryThreshold !== undefined) finite('recoveryThreshold', recoveryThreshold);
  if (recoverySeconds !== undefined) {
    seconds('recoverySeconds', recoverySeconds, SUSTAINED_SECONDS_MAX);
  }
  return {
    displayName: spec.displayName,
    metricId: spec.metricId,
    operator,
    threshold,
    sustainedSeconds: spec.sustainedSeconds,
    severity,
    allVms: spec.allVms,
    vmNames: [...new Set(spec.vmNames)],
    enabled: spec.enabled ?? true,
    repeatIntervalSeconds: spec.repeatIntervalSeconds,
    destinationNames: [...new Set(spec.destinationNames)],
    ...(recoveryThreshold === undefined ? {} : { recoveryThreshold }),
    ...(recoverySeconds === undefined ? {} : { recoverySeconds }),
    ...(Object.keys(spec.labels).length === 0 ? {} : { labels: spec.labels }),
    ...(spec.runbookText === '' ? {} : { runbookText: spec.runbookText }),
    ...(spec.runbookUrl === '' ? {} : { runbookUrl: spec.runbookUrl }),
  };
}

function checkName(name: string): void {
  if (name.trim() === '')
    throw invalidInSpec('displayName', 'displayName is empty. Choose a name for the rule');
  if (name.length > DISPLAY_NAME_MAX) {
    throw invalidInSpec(
      'displayName',
      `displayName has ${name.length} characters; at most ${DISPLAY_NAME_MAX} are allowed`,
    );
  }
  if (!isOneLine(name)) throw invalidInSpec('displayName', `displayName ${NOT_ONE_LINE}`);
}

function checkMetric(metricId: string): void {
  if (EVALUATED_METRICS.has(metricId)) return;
  const known = [...EVALUATED_METRICS].join(', ');
  throw new Refusal(
    'UNKNOWN_METRIC',
    `metricId "${metricId}" cannot be evaluated. Known metrics: ${known}`,
    { metricId, known },
  );
}

/** In normal operation, the age grows until a sample arrives, once per sampling interval. */
function checkTelemetry(
  operator: Operator,
  threshold: number,
  recoveryThreshold = threshold,
): void {
  if (operator !== 'GREATER_THAN' && operator !== 'GREATER_THAN_OR_EQUAL') {
    throw invalidInSpec(
      'operator',
      `operator is "${operator}"; ${AGE_METRIC} requires GREATER_THAN or GREATER_THAN_OR_EQUAL`,
    );
  }
  for (const [field, value] of [
    ['threshold', threshold],
    ['recoveryThreshold', recoveryThreshold],
  ] as const) {
    if (value >= AGE_SECONDS_MIN) continue;
    throw invalidInSpec(
      field,
      `${field} is ${value}; ${AGE_METRIC} requires at least ${AGE_SECONDS_MIN} s`,
    );
  }
}

function checkRepeat(value: number): void {
  if (value === 0) return;
  seconds('repeatIntervalSeconds', value, REPEAT_SECONDS_MAX);
  if (value < REPEAT_SECONDS_MIN) {
    throw invalidInSpec(
      'repeatIntervalSeconds',
      `repeatIntervalSeconds is ${value}; it must be 0 (never) or at least ${REPEAT_SECONDS_MIN}`,
    );
  }
}

function checkSelection({ allVms, vmNames }: RequestedRuleSpec): void {
  if (allVms && vmNames.length > 0) {
    throw invalidInSpec('vmNames', 'allVms and vmNames cannot be combined. Send only one of them');
  }
  if (!allVms && vmNames.length === 0) {
    throw invalidInSpec('vmNames', 'No VM is selected. Set allVms, or name VMs in vmNames');
  }
  if (vmNames.length > SELECTED_VMS_MAX) {
    throw invalidInSpec(
      'vmNames',
      `vmNames has ${vmNames.length} names; at most ${SELECTED_VMS_MAX} are allowed. Or set allVms`,
    );
  }
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  if (entries.length > LABELS_MAX) {
    throw invalidInSpec(
      'labels',
      `labels has ${entries.length} entries; at most ${LABELS_MAX} are allowed`,
    );
  }
  for (const [name, value] of entries) {
    if (name.length > LABEL_LENGTH_MAX || value.length > LABEL_LENGTH_MAX) {
      throw invalidInSpec('labels', `A label is longer than ${LABEL_LENGTH_MAX} characters`);
    }
    if (!isFreeLabelName(name)) {
      const seen = JSON.stringify(name);
      throw invalidInSpec(
        'labels',
        `labels contains ${seen}. Use letters, digits and underscores, without a leading __, and no reserved name`,
      );
    }
    if (!isOneLine(value)) throw invalidInSpec('labels', `labels.${name} ${NOT_ONE_LINE}`);
  }
}

/**
 * Users open this link from messages, so it must have no other scheme, no user, and only printable
 * characters.
 */
function checkRunbook({ runbookText: text, runbookUrl: url }: RequestedRuleSpec): void {
  if (text.length > RUNBOOK_LENGTH_MAX) {
    const message = `runbookText has ${text.length} characters; at most ${RUNBOOK_LENGTH_MAX} are allowed`;
    throw invalidInSpec('runbookText', message);
  }
  if (!text.split(/\r?\n/).every(isOneLine)) {
    throw invalidInSpec('runbookText', 'runbookText contains characters that cannot be displayed');
  }
  if (url === '') return;
  const isPrintable = url.length <= RUNBOOK_URL_LENGTH_MAX && /^https?:\/\/[!-~]+$/i.test(url);
  const parsed = isPrintable ? URL.parse(url) : null;
  if (parsed && parsed.username === '' && parsed.password === '') return;
  throw invalidInSpec(
    'runbookUrl',
    `runbookUrl must be an http or https URL without a user, of at most ${RUNBOOK_URL_LENGTH_MAX} characters`,
  );
}

function oneOf<T extends string>(field: string, value: string | undefined, known: readonly T[]): T {
  const found = known.find((each) => each === value);
  if (found !== undefined) return found;
  const seen = value === undefined ? 'missing' : `"${value}"`;
  throw invalidInSpec(field, `${field} is ${seen}; it must be one of ${known.join(', ')}`);
}

function finite(field: string, value: number | undefined): number {
  if (value !== undefined && Math.abs(value) <= READING_MAX) return value;
  const seen = value === undefined ? 'missing' : value;
  throw invalidInSpec(
    field,
    `${field} is ${seen}; it must be a number from -2^64 to 2^64, beyond which no metric has a value`,
  );
}

function seconds(field: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= max) return;
  throw invalidInSpec(field, `${field} is ${value}; it must be whole seconds from 0 to ${max}`);
}

function invalidInSpec(field: string, message: string): Refusal {
  return invalidField(`spec.${field}`, message);
}
