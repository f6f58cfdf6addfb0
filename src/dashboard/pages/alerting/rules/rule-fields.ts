/**
 * Converts a rule to its form fields and back. Pure. Numbers and durations are kept as typed, so
 * that a draft loses nothing; a number that was not typed is absent. The service decides whether a
 * value is allowed; here it is only parsed.
 */
import type { Rule } from '../../../data/catalogue.ts';
import { ALL_BYTE_UNITS, exactUnit } from '../../../messages/format.ts';

/** A rule as defined by the API. */
export type RuleSpec = NonNullable<Rule['spec']>;

/** Named like the fields of the spec, so that a rejection of a field can be attributed. */
export interface RuleFields {
  readonly displayName: string;
  readonly metricId: string;
  readonly operator: RuleSpec['operator'];
  readonly threshold: string;
  readonly sustainedSeconds: string;
  readonly severity: RuleSpec['severity'];
  readonly allVms: boolean;
  readonly vmNames: readonly string[];
  readonly enabled: boolean;
  /** Empty for never. */
  readonly repeatIntervalSeconds: string;
  readonly destinationNames: readonly string[];
  /** Empty for the threshold. */
  readonly recoveryThreshold: string;
  /** Empty for one good sample. */
  readonly recoverySeconds: string;
  /** One `name=value` per line. */
  readonly labels: string;
  readonly runbookText: string;
  readonly runbookUrl: string;
}

export type RuleField = keyof RuleFields;

/** Why a field cannot be parsed. */
export type RuleProblem = 'missing' | 'noNumber' | 'noDuration' | 'noLabel' | 'noVm';

export const operators = [
  ...(['GREATER_THAN', 'GREATER_THAN_OR_EQUAL', 'LESS_THAN', 'LESS_THAN_OR_EQUAL'] as const),
  ...(['EQUAL', 'NOT_EQUAL'] as const),
];
export const severities = ['INFO', 'WARNING', 'CRITICAL'] as const;

/** A form without a metric and a threshold, because neither can be guessed. */
export const blankRule: RuleFields = {
  displayName: '',
  metricId: '',
  operator: 'GREATER_THAN',
  threshold: '',
  sustainedSeconds: '5 min',
  severity: 'WARNING',
  allVms: true,
  vmNames: [],
  enabled: true,
  repeatIntervalSeconds: '',
  destinationNames: [],
  recoveryThreshold: '',
  recoverySeconds: '',
  labels: '',
  runbookText: '',
  runbookUrl: '',
};

/** Initial form of a saved rule or a template. `unit` is that of its metric. */
export function fieldsOf(spec: RuleSpec, unit: string): RuleFields {
  const { threshold, recoveryThreshold, recoverySeconds, repeatIntervalSeconds } = spec;
  return {
    displayName: spec.displayName,
    metricId: spec.metricId,
    operator: spec.operator,
    threshold: threshold === undefined ? '' : quantityText(threshold, unit),
    sustainedSeconds: durationText(spec.sustainedSeconds),
    severity: spec.severity,
    allVms: spec.allVms,
    vmNames: spec.vmNames,
    enabled: spec.enabled ?? true,
    repeatIntervalSeconds: repeatIntervalSeconds === 0 ? '' : durationText(repeatIntervalSeconds),
    destinationNames: spec.destinationNames,
    recoveryThreshold: recoveryThreshold === undefined ? '' : quantityText(recoveryThreshold, unit),
    recoverySeconds: recoverySeconds === undefined ? '' : durationText(recoverySeconds),
    labels: Object.entries(spec.labels)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    runbookText: spec.runbookText,
    runbookUrl: spec.runbookUrl,
  };
}

/** The rule described by the form; undefined while a field cannot be parsed. */
export function specOf(fields: RuleFields, unit: string): RuleSpec | undefined {
  const { displayName, metricId, operator, severity, allVms, enabled } = fields;
  const threshold = quantityOf(fields.threshold, unit);
  const sustainedSeconds = durationOf(fields.sustainedSeconds);
  const recoveryThreshold = quantityOf(fields.recoveryThreshold, unit);
  const recoverySeconds = durationOf(fields.recoverySeconds);
  const repeat = isBlank(fields.repeatIntervalSeconds) ? '0' : fields.repeatIntervalSeconds;
  const repeatIntervalSeconds = durationOf(repeat);
  const labels = labelsOf(fields.labels);
  if (Object.keys(problemsOf(fields, unit)).length > 0) return undefined;
  // All of them were parsed, otherwise there would be a problem.
  if (threshold === undefined || sustainedSeconds === undefined) return undefined;
  if (repeatIntervalSeconds === undefined || labels === undefined) return undefined;
  return {
    displayName,
    metricId,
    operator,
    threshold,
    sustainedSeconds,
    severity,
    allVms,
    enabled,
    vmNames: allVms ? [] : [...fields.vmNames],
    repeatIntervalSeconds,
    destinationNames: [...fields.destinationNames],
    ...(recoveryThreshold !== undefined && { recoveryThreshold }),
    ...(recoverySeconds !== undefined && { recoverySeconds }),
    labels,
    runbookText: fields.runbookText.trim(),
    runbookUrl: fields.runbookUrl.trim(),
  };
}

/** The fields that cannot be parsed, with the reason; empty if `specOf` returns a rule. */
export function problemsOf(
  fields: RuleFields,
  unit: string,
): Readonly<Partial<Record<RuleField, RuleProblem>>> {
  const duration = (text: string, blank?: RuleProblem): RuleProblem | undefined => {
    if (isBlank(text)) return blank;
    return durationOf(text) === undefined ? 'noDuration' : undefined;
  };
  const quantity = (text: string, blank?: RuleProblem): RuleProblem | undefined => {
    if (isBlank(text)) return blank;
    return quantityOf(text, unit) === undefined ? 'noNumber' : undefined;
  };
  const all: Partial<Record<RuleField, RuleProblem | undefined>> = {
    displayName: isBlank(fields.displayName) ? 'missing' : undefined,
    metricId: fields.metricId === '' ? 'missing' : undefined,
    threshold: quantity(fields.threshold, 'missing'),
    sustainedSeconds: duration(fields.sustainedSeconds, 'missing'),
    vmNames: !fields.allVms && fields.vmNames.length === 0 ? 'noVm' : undefined,
    repeatIntervalSeconds: duration(fields.repeatIntervalSeconds),
    recoveryThreshold: quantity(fields.recoveryThreshold),
    recoverySeconds: duration(fields.recoverySeconds),
    labels: labelsOf(fields.labels) === undefined ? 'noLabel' : undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, problem]) => problem !== undefined));
}

/**
 * The fields whose meaning differs between two forms, in form order. `600 s` equals `10 min`, and
 * the order of VMs does not matter.
 */
export function differencesOf(
  mine: { readonly fields: RuleFields; readonly unit: string },
  theirs: { readonly fields: RuleFields; readonly unit: string },
): RuleField[] {
  const [one, other] = [meaningOf(mine.fields, mine.unit), meaningOf(theirs.fields, theirs.unit)];
  return ruleFields.filter((field) => one[field] !== other[field]);
}

/** In form order. */
export const ruleFields: readonly RuleField[] = [
  ...([
    'displayName',
    'severity',
    'metricId',
    'operator',
    'threshold',
    'sustainedSeconds',
  ] as const),
  ...(['recoveryThreshold', 'recoverySeconds', 'allVms', 'vmNames', 'labels'] as const),
  ...(['runbookText', 'runbookUrl'] as const),
  ...(['destinationNames', 'repeatIntervalSeconds', 'enabled'] as const),
];

/**
 * Normalizes each field so that equal meanings have equal texts; values that cannot be parsed stay
 * as typed.
 */
function meaningOf(fields: RuleFields, unit: string): Record<RuleField, string> {
  const quantity = (text: string) => String(quantityOf(text, unit) ?? text.trim());
  const duration = (text: string) => String(durationOf(text) ?? text.trim());
  const labels = labelsOf(fields.labels);
  return {
    displayName: fields.displayName,
    metricId: fields.metricId,
    operator: fields.operator,
    severity: fields.severity,
    threshold: quantity(fields.threshold),
    recoveryThreshold: quantity(fields.recoveryThreshold),
    sustainedSeconds: duration(fields.sustainedSeconds),
    recoverySeconds: duration(fields.recoverySeconds),
    repeatIntervalSeconds: duration(fields.repeatIntervalSeconds) || '0',
    allVms: String(fields.allVms),
    vmNames: fields.allVms ? '' : fields.vmNames.toSorted().join(' '),
    destinationNames: fields.destinationNames.toSorted().join(' '),
    labels: labels ? JSON.stringify(Object.entries(labels).toSorted()) : fields.labels,
    runbookText: fields.runbookText.trim(),
    runbookUrl: fields.runbookUrl.trim(),
    enabled: String(fields.enabled),
  };
}

const isBlank = (text: string): boolean => text.trim() === '';

const DURATION_UNITS = { d: 86_400, h: 3_600, min: 60, s: 1 } as const;

/**
 * Whole seconds of `1 h 30 min`, `90 s` or `0`; undefined for other text, including a number
 * without a unit, which is ambiguous.
 */
export function durationOf(text: string): number | undefined {
  const given = text.trim();
  if (given === '0') return 0;
  if (!/^(\d+\s*(d|h|min|s)\s*)+$/.test(given)) return undefined;
  let seconds = 0;
  for (const [, count, unit] of given.matchAll(/(\d+)\s*(d|h|min|s)/g)) {
    seconds += Number(count) * DURATION_UNITS[unit as keyof typeof DURATION_UNITS];
  }
  return Number.isSafeInteger(seconds) ? seconds : undefined;
}

/** `1 h 30 min`: precise to the second, in the format that `durationOf` parses. */
export function durationText(seconds: number): string {
  if (!Number.isInteger(seconds) || seconds <= 0) return seconds === 0 ? '0 s' : `${seconds} s`;
  const parts: string[] = [];
  let rest = seconds;
  for (const [unit, length] of Object.entries(DURATION_UNITS)) {
    const count = Math.floor(rest / length);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest %= length;
  }
  return parts.join(' ');
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * Parses the value of a metric: a number in the metric's unit, or with a unit of the same kind,
 * such as `4 GiB`, `90 %` or `10 min`. Undefined if it is empty or not a number.
 */
export function quantityOf(text: string, unit: string): number | undefined {
  const given = text.trim();
  if (NUMBER.test(given)) return finite(Number(given));
  if (unit === 'seconds') return durationOf(given);
  const [, number = '', suffix = ''] = /^(\S*?)\s*([a-z%/]+)$/i.exec(given) ?? [];
  if (!NUMBER.test(number)) return undefined;
  if (unit === 'percent') return suffix === '%' ? finite(Number(number)) : undefined;
  const name = suffix.replace(/\/s$/, '').replace(/^KB$/, 'kB');
  const byteUnit = ALL_BYTE_UNITS.find((one) => one.name === name);
  if (!unit.startsWith('bytes') || !byteUnit) return undefined;
  return finite(Number(number) * byteUnit.size);
}

/** Formats the value exactly, as `quantityOf` parses it. */
export function quantityText(value: number, unit: string): string {
  if (unit === 'seconds' && Number.isInteger(value) && value >= 0) return durationText(value);
  if (!unit.startsWith('bytes') || value === 0) return String(value);
  const { size, name } = exactUnit(value);
  if (size === 1) return String(value);
  return `${value / size} ${name}${unit.endsWith('_per_second') ? '/s' : ''}`;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** Undefined if a line is not `name=value`. */
function labelsOf(text: string): Record<string, string> | undefined {
  const labels: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (isBlank(line)) continue;
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(at, 0)).trim();
    if (name === '') return undefined;
    labels[name] = line.slice(at + 1).trim();
  }
  return labels;
}
