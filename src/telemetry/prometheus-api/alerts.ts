/**
 * Alert rules and alerts in the format of Prometheus's `/api/v1/rules` and `/api/v1/alerts`. The
 * rules are the service's own: it evaluates them itself, and the returned expression is only for
 * viewing the same metric.
 */
import { PromqlError } from '../promql/errors.ts';
import { type AlertFacts, alertLabels, type VmNameOf } from '../query/series/alert-series.ts';
import type { Parameters } from './query-requests.ts';

/** An alert that is active now. */
export interface ActiveAlert extends AlertFacts {
  readonly state: 'pending' | 'firing';
  /** First breaching observation, Unix ms. */
  readonly activeMs: number;
  /** Newest value of the condition; undefined: unknown. */
  readonly value?: number | undefined;
}

/** An enabled rule with its alerts. */
export interface AlertingRule {
  readonly id: string;
  readonly displayName: string;
  /** PromQL. */
  readonly expression: string;
  readonly sustainedSeconds: number;
  readonly recoverySeconds: number;
  readonly severity: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Reason why it is not evaluated completely; undefined: it is. */
  readonly error?: string | undefined;
  readonly alerts: readonly ActiveAlert[];
}

/** Reads a project's rules as they are now. */
export interface AlertingRules {
  readonly rules: (project: string) => Promise<readonly AlertingRule[]>;
  readonly vmName: (project: string) => VmNameOf;
}

/** Interval at which rules are decided without new samples, seconds. */
const INTERVAL_SECONDS = 15;

interface AlertsRequest {
  readonly project: string;
  readonly parameters: Parameters;
  readonly nowMs: number;
  readonly alertingRules: AlertingRules;
}

/** `data` of `/api/v1/alerts`: every alert that is pending or firing. */
export async function alertsData({
  project,
  alertingRules: alerting,
}: AlertsRequest): Promise<object> {
  const rules = await alerting.rules(project);
  return { alerts: rules.flatMap((rule) => alertsOf(project, rule, alerting)) };
}

/**
 * `data` of `/api/v1/rules`: one group with all rules of the project. Takes `type`, `rule_name[]`,
 * `rule_group[]`, `file[]` and `exclude_alerts`. Throws `PromqlError` bad_data, in Prometheus's
 * words.
 */
export async function rulesData(request: AlertsRequest): Promise<object> {
  const { project, parameters, alertingRules: alerting } = request;
  const group = { name: 'alert rules', file: `projects/${project}` };
  const type = parameters.get('type').toLowerCase();
  if (!['', 'alert', 'record'].includes(type)) {
    throw new PromqlError('bad_data', `not supported value ${JSON.stringify(type)}`);
  }
  const isRequested = (parameter: string, name: string): boolean => {
    const requested = parameters.all(parameter);
    return requested.length === 0 || requested.includes(name);
  };
  const isGroupRequested =
    type !== 'record' &&
    isRequested('rule_group[]', group.name) &&
    isRequested('file[]', group.file);
  const all = isGroupRequested ? await alerting.rules(project) : [];
  const rules = all.filter(({ displayName }) => isRequested('rule_name[]', displayName));
  if (rules.length === 0) return { groups: [] };
  const evaluated = { evaluationTime: 0, lastEvaluation: new Date(request.nowMs).toISOString() };
  const withAlerts = parameters.get('exclude_alerts') !== 'true';
  const displayed = rules.map((rule) => ({
    state: stateOf(rule.alerts),
    name: rule.displayName,
    query: rule.expression,
    duration: rule.sustainedSeconds,
    keepFiringFor: rule.recoverySeconds,
    labels: { ...rule.labels, severity: rule.severity.toLowerCase(), rule: rule.id },
    annotations: rule.annotations,
    ...(withAlerts && { alerts: alertsOf(project, rule, alerting) }),
    health: rule.error === undefined ? 'ok' : 'err',
    ...(rule.error !== undefined && { lastError: rule.error }),
    ...evaluated,
    type: 'alerting',
  }));
  return {
    groups: [{ ...group, rules: displayed, interval: INTERVAL_SECONDS, limit: 0, ...evaluated }],
  };
}

function alertsOf(project: string, rule: AlertingRule, { vmName }: AlertingRules): object[] {
  return rule.alerts.map((alert) => {
    const pairs = alertLabels(project, alert, vmName(project));
    return {
      labels: Object.fromEntries(pairs.filter(([, value]) => value !== '')),
      annotations: rule.annotations,
      state: alert.state,
      activeAt: new Date(alert.activeMs).toISOString(),
      value: alert.value === undefined ? '' : exponential(alert.value),
    };
  });
}

function stateOf(alerts: readonly ActiveAlert[]): 'firing' | 'pending' | 'inactive' {
  if (alerts.some(({ state }) => state === 'firing')) return 'firing';
  return alerts.length > 0 ? 'pending' : 'inactive';
}

/** Like Go's format 'e': at least two digits of exponent. */
function exponential(value: number): string {
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}
