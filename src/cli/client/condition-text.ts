/** The condition of a rule on one line: `cpu_utilization_pct > 90 for 600 s`. */
import { exactQuantity } from '../../../streams/alerting/quantity.ts';
import { metricCatalogue } from '../../../streams/telemetry/metrics/catalogue.ts';
import { type AlertRuleSpec, AlertRuleSpec_Operator } from '../../gen/svc/monitoring/v1/rule_pb.ts';
import { enumText } from './texts.ts';

/** Symbols in displayed conditions; `--operator` accepts them too. */
export const OPERATOR_SYMBOLS: Readonly<Record<string, string>> = {
  GREATER_THAN: '>',
  GREATER_THAN_OR_EQUAL: '>=',
  LESS_THAN: '<',
  LESS_THAN_OR_EQUAL: '<=',
  EQUAL: '=',
  NOT_EQUAL: '!=',
};

export function conditionText(spec: AlertRuleSpec | undefined): string {
  if (!spec) return '';
  const symbol = OPERATOR_SYMBOLS[enumText(AlertRuleSpec_Operator, spec.operator)] ?? '?';
  const wait = spec.sustainedSeconds > 0 ? ` for ${spec.sustainedSeconds} s` : '';
  return `${spec.metricId} ${symbol} ${thresholdText(spec)}${wait}`;
}

/** Bytes in the unit in which they were typed; other values without a unit. */
function thresholdText({ metricId, threshold }: AlertRuleSpec): string {
  if (threshold === undefined) return '';
  const unit = metricCatalogue.get(metricId)?.unit ?? '';
  const text = unit.startsWith('bytes') ? exactQuantity(threshold, unit) : '';
  return /[kKMGTP]i?B/.test(text) ? text : String(threshold);
}
