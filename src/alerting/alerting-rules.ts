/**
 * Rules and active alerts of a project for readers that speak Prometheus. The rows of alert
 * instances supply firing alerts, and the evaluator all others.
 */
import type { EvaluatorView } from '../../actors/alerting/evaluator/evaluator-port.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import { liveInstances } from '../../actors/platform/host/live-instances.ts';
import { vmDirectoryOf } from '../../actors/vms/vm-directory.ts';
import { conditionOf } from '../../machines/alerting/alert-instance.ts';
import type { AlertRuleContext, AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import type {
  ActiveAlert,
  AlertingRule,
  AlertingRules,
} from '../telemetry/prometheus-api/alerts.ts';
import type { AlertFacts, PendingAlert } from '../telemetry/query/series/alert-series.ts';

export interface AlertingRulesDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly evaluator: Pick<EvaluatorView, 'instances'>;
}

/** The reader, and the alerts that do not fire yet, for queries of `ALERTS`. */
export function createAlertingRules({ host, evaluator }: AlertingRulesDeps): AlertingRules & {
  readonly pending: (project: string) => readonly PendingAlert[];
} {
  const directory = vmDirectoryOf(host);

  function factsOf(project: string, key: AlertKey, { spec }: AlertRuleContext): AlertFacts {
    return {
      rule: key.rule,
      vm: key.vm,
      labels: key.labels,
      ruleDisplayName: spec.displayName,
      severity: spec.severity,
      ...(spec.labels !== undefined && { ruleLabels: spec.labels }),
      datacenter: directory.vms(project).get(key.vm)?.datacenter ?? '',
    };
  }

  function pending(project: string): PendingAlert[] {
    const view = host.view(project);
    return evaluator.instances(project).flatMap((instance) => {
      const { state, sinceMs, rule } = instance;
      if (state !== 'SUSTAINING' || sinceMs === undefined) return [];
      const context = view.instance('alertRule', rule)?.context;
      return context ? [{ ...factsOf(project, instance, context), sinceMs }] : [];
    });
  }

  return {
    pending,
    vmName: (project) => (vm) => directory.vms(project).get(vm)?.displayName ?? '',
    async rules(project) {
      const view = host.view(project);
      await directory.load(project);
      const active = new Map<string, ActiveAlert[]>();
      const add = (alert: ActiveAlert): void => {
        const alerts = active.get(alert.rule) ?? [];
        active.set(alert.rule, alerts);
        alerts.push(alert);
      };
      for (const { sinceMs, ...alert } of pending(project)) {
        add({ ...alert, state: 'pending', activeMs: sinceMs });
      }
      for await (const { value, context } of liveInstances(view, 'alertInstance')) {
        const rule = view.instance('alertRule', context.rule)?.context;
        if (conditionOf(value) !== 'firing' || !context.incident || !rule) continue;
        const { startedMs: activeMs, value: newest } = context.incident;
        const known = { state: 'firing', activeMs, value: newest ?? undefined } as const;
        add({ ...factsOf(project, context, rule), ...known });
      }
      const rules: AlertingRule[] = [];
      for await (const { instance, context } of liveInstances(view, 'alertRule')) {
        if (context.spec.enabled) rules.push(ruleOf(instance, context, active.get(instance) ?? []));
      }
      return rules;
    },
  };
}

type AlertKey = Pick<AlertFacts, 'rule' | 'vm' | 'labels'>;

function ruleOf(
  id: string,
  { spec, syncError }: AlertRuleContext,
  alerts: readonly ActiveAlert[],
): AlertingRule {
  return {
    id,
    displayName: spec.displayName,
    severity: spec.severity,
    alerts,
    expression: expressionOf(spec),
    sustainedSeconds: spec.sustainedSeconds,
    recoverySeconds: spec.recoverySeconds ?? 0,
    labels: spec.labels ?? {},
    annotations: annotationsOf(spec),
    error: syncError ?? undefined,
  };
}

/** Under the names that Prometheus rules commonly use. */
function annotationsOf({ runbookText, runbookUrl }: AlertRuleSpec): Record<string, string> {
  return {
    ...(runbookText !== undefined && { runbook: runbookText }),
    ...(runbookUrl !== undefined && { runbook_url: runbookUrl }),
  };
}

const OPERATORS: Readonly<Record<string, string>> = {
  GREATER_THAN: '>',
  GREATER_THAN_OR_EQUAL: '>=',
  LESS_THAN: '<',
  LESS_THAN_OR_EQUAL: '<=',
  EQUAL: '==',
  NOT_EQUAL: '!=',
};

/**
 * PromQL over the same series. The service's own evaluation differs in gaps and edges: see
 * docs/alerting.md.
 */
function expressionOf(spec: AlertRuleSpec): string {
  const { metricId, operator, threshold, allVms, vmNames } = spec;
  const ids = vmNames.map((name) => name.slice(name.lastIndexOf('/') + 1));
  const of = allVms ? '' : `{vm=~${JSON.stringify(ids.map(escapeRegExp).join('|'))}}`;
  return `${metricExpression(metricId, of)} ${OPERATORS[operator] ?? operator} ${threshold}`;
}

function metricExpression(metricId: string, of: string): string {
  const metric = metricCatalogue.get(metricId);
  if (!metric) return metricId + of;
  const { derivation, promqlName } = metric;
  switch (derivation.from) {
    case 'rate':
      return `sum by (vm) (rate(${derivation.series}${of}[2m]))`;
    case 'percentage':
      return `100 * ${derivation.numerator}${of} / ${derivation.denominator}${of}`;
    case 'memoryUsed':
      return derivation.as === 'bytes'
        ? promqlName + of
        : `100 * ${promqlName}${of} / svc_vm_memory_total_bytes${of}`;
    case 'age':
      return `time() - ${promqlName}${of}`;
    case 'unexpectedStop':
      return `1 - ${promqlName}${of}`;
    case 'gauge':
    case 'utilization':
    case 'running':
      return promqlName + of;
  }
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
