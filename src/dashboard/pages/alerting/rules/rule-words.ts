/** A rule in words: its condition, and the value of each field of its form. Pure. */
import type { Rule } from '../../../data/catalogue.ts';
import { idOf } from '../../../data/names.ts';
import { names } from '../../../messages/en.ts';
import { type Format, formatDuration, formatThreshold } from '../../../messages/format.ts';
import { metricName } from '../../vms/texts.ts';
import { operatorSigns } from '../incidents/incident-texts.ts';
import { quantityOf, type RuleField, type RuleFields, type RuleSpec } from './rule-fields.ts';
import { texts } from './rule-texts.ts';

/** `CPU > 90 % for 10 min`. */
export function conditionWords(spec: RuleSpec, unit: string, format: Format): string {
  const { metricId, operator, threshold, sustainedSeconds } = spec;
  if (threshold === undefined) return metricName(metricId);
  const sign = operatorSigns[operator] ?? operator;
  const value = formatThreshold(threshold, unit, format);
  const condition = texts.conditionOf(metricName(metricId), sign, value);
  if (sustainedSeconds === 0) return condition;
  return texts.sustained(condition, formatDuration(sustainedSeconds));
}

/** State of the rule for its badge. A paused rule counts as paused once that is applied. */
export function stateOf({ spec, syncStatus }: Pick<Rule, 'spec' | 'syncStatus'>): string {
  return syncStatus === 'APPLIED' && spec?.enabled === false ? 'PAUSED' : syncStatus;
}

export const fieldTitles: Readonly<Record<RuleField, string>> = {
  displayName: texts.form.displayName,
  metricId: texts.form.metric,
  operator: texts.form.operator,
  threshold: texts.form.threshold,
  sustainedSeconds: texts.form.sustained,
  severity: texts.form.severity,
  allVms: texts.form.allVms,
  vmNames: texts.form.chosenVms,
  enabled: texts.form.enabled,
  repeatIntervalSeconds: texts.form.repeat,
  destinationNames: texts.form.destinations,
  recoveryThreshold: texts.form.recoveryThreshold,
  recoverySeconds: texts.form.recoverySeconds,
  labels: texts.form.labels,
  runbookText: texts.form.runbook,
  runbookUrl: texts.form.runbookUrl,
};

/** Display names that a rule does not carry itself. */
export interface RuleNames {
  readonly vms: ReadonlyMap<string, string>;
  readonly destinations: ReadonlyMap<string, string>;
}

/** The display value of a field; empty if the field is empty. */
export function fieldWords(field: RuleField, fields: RuleFields, known: RuleNames): string {
  switch (field) {
    case 'metricId':
      return fields.metricId && metricName(fields.metricId);
    case 'operator':
      return operatorTitle(fields.operator);
    case 'severity':
      return names[fields.severity] ?? fields.severity;
    case 'allVms':
    case 'enabled':
      return fields[field] ? texts.conflict.yes : texts.conflict.no;
    case 'vmNames':
      return titlesOf(fields.vmNames, known.vms);
    case 'destinationNames':
      return titlesOf(fields.destinationNames, known.destinations);
    default:
      return fields[field];
  }
}

/** Display names, or else ids. */
export function titlesOf(
  resources: readonly string[],
  titles: ReadonlyMap<string, string>,
): string {
  return resources.map((name) => titles.get(name) || idOf(name)).join(', ');
}

export function operatorTitle(operator: string): string {
  const titles: Readonly<Record<string, string>> = texts.operators;
  return titles[operator] ?? operator;
}

/** The typed value as a reading, if that differs from the input: `4294967296` is `4 GiB`. */
export function meaningText(typed: string, unit: string, format: Format): string | undefined {
  const value = quantityOf(typed, unit);
  if (value === undefined || unit === '') return undefined;
  const text = formatThreshold(value, unit, format);
  return text === typed.trim() ? undefined : text;
}

/** A unit in words; undefined if it is unknown. */
export function unitWords(unit: string): string | undefined {
  const words: Readonly<Record<string, string>> = texts.units;
  return words[unit];
}

/** Example of a threshold in the unit. */
export function exampleIn(unit: string): string {
  const examples: Readonly<Record<string, string>> = texts.examples;
  return examples[unit] ?? texts.examples.percent;
}
