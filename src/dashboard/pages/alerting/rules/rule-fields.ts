/**
 * A rule as it stands in its form, and back: pure. Numbers and lengths of time are kept as they are
 * typed, so that a draft loses nothing, and a number that is not typed is absent. Whether a value is
 * allowed, the service decides; here it is only read.
 */
import type { Rule } from '../../../data/catalogue.ts';

/** A rule as the API has it. */
export type RuleSpec = NonNullable<Rule['spec']>;

/** By the names of the spec, so that a refusal that names a field finds it. */
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
  /** Empty = never. */
  readonly repeatIntervalSeconds: string;
  readonly destinationNames: readonly string[];
  /** Empty = the threshold. */
  readonly recoveryThreshold: string;
  /** Empty = one good sample. */
  readonly recoverySeconds: string;
  /** `name=value`, a line each. */
  readonly labels: string;
  readonly runbookText: string;
  readonly runbookUrl: string;
}

export type RuleField = keyof RuleFields;

/** Why a field cannot be read. */
export type RuleProblem = 'missing' | 'noNumber' | 'noDuration' | 'noLabel' | 'noVm';

export const operators = [
  ...(['GREATER_THAN', 'GREATER_THAN_OR_EQUAL', 'LESS_THAN', 'LESS_THAN_OR_EQUAL'] as const),
  ...(['EQUAL', 'NOT_EQUAL'] as const),
];
export const severities = ['INFO', 'WARNING', 'CRITICAL'] as const;

/** A form without a metric and a threshold: neither can be guessed. */
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

/** What the form of a saved rule, or of a template, begins with. `unit` is that of its metric. */
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

/** The rule that the form means; undefined while a field cannot be read. */
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
  // All of them were read, or there would be a problem.
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

/** Every field that cannot be read, and why; empty: `specOf` has a rule. */
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
 * The fields in which two forms mean something else, in the order of the form. `600 s` and `10 min`
 * are the same, and so are VMs in another order.
 */
export function differencesOf(
  mine: { readonly fields: RuleFields; readonly unit: string },
  theirs: { readonly fields: RuleFields; readonly unit: string },
): RuleField[] {
  const [one, other] = [meaningOf(mine.fields, mine.unit), meaningOf(theirs.fields, theirs.unit)];
  return ruleFields.filter((field) => one[field] !== other[field]);
}

/** In the order of the form. */
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

/** Each field as a text that is the same for the same meaning; what cannot be read stays as typed. */
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

/** Whole seconds of `1 h 30 min`, `90 s` or `0`; undefined: a number without a unit says too little. */
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

/** `1 h 30 min`: with every second, as `durationOf` reads it. */
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

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/**
 * The value of a metric as it is typed: a number in the metric's unit, or with a unit of the same
 * kind, such as `4 GiB`, `90 %` or `10 min`. undefined: absent, or no number.
 */
export function quantityOf(text: string, unit: string): number | undefined {
  const given = text.trim();
  if (NUMBER.test(given)) return finite(Number(given));
  if (unit === 'seconds') return durationOf(given);
  const [, number = '', suffix = ''] = /^(\S*?)\s*([a-z%/]+)$/i.exec(given) ?? [];
  if (!NUMBER.test(number)) return undefined;
  if (unit === 'percent') return suffix === '%' ? finite(Number(number)) : undefined;
  const power = BYTE_UNITS.indexOf(suffix.replace(/\/s$/, ''));
  if (!unit.startsWith('bytes') || power < 0) return undefined;
  return finite(Number(number) * 1024 ** power);
}

/** The value as `quantityOf` reads it, exactly. */
export function quantityText(value: number, unit: string): string {
  if (unit === 'seconds' && Number.isInteger(value) && value >= 0) return durationText(value);
  if (!unit.startsWith('bytes') || value === 0) return String(value);
  const power = BYTE_UNITS.findLastIndex((_, i) => Number.isInteger(value / 1024 ** i));
  if (power <= 0) return String(value);
  return `${value / 1024 ** power} ${BYTE_UNITS[power]}${unit.endsWith('_per_second') ? '/s' : ''}`;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** undefined: a line is no `name=value`. */
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
