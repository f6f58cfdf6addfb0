/**
 * Rule templates, one for each common need (API-23). Each spec can be saved as it is. The
 * description ends with the limitation of its metric, taken from the catalogue so that it is
 * written in one place.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';

/** A rule template, as `ListAlertRuleTemplates` returns it. */
export interface RuleTemplate {
  readonly id: string;
  /** Purpose, then limitation. */
  readonly description: string;
  readonly spec: AlertRuleSpec;
}

type Row = readonly [
  id: string,
  purpose: string,
  condition: Pick<
    AlertRuleSpec,
    | 'displayName'
    | 'metricId'
    | 'operator'
    | 'threshold'
    | 'sustainedSeconds'
    | 'severity'
    | 'recoveryThreshold'
    | 'recoverySeconds'
  >,
];

const rows: readonly Row[] = [
  [
    'cpu',
    'All vCPUs together have been nearly fully busy for 10 minutes.',
    {
      displayName: 'CPU is high',
      metricId: 'cpu_utilization_pct',
      severity: 'WARNING',
      operator: 'GREATER_THAN',
      threshold: 90,
      sustainedSeconds: 600,
      recoveryThreshold: 80,
      recoverySeconds: 120,
    },
  ],
  [
    'guest-memory',
    'Nearly all of the memory that the guest sees has been in use for 10 minutes.',
    {
      displayName: 'Guest memory is nearly used up',
      metricId: 'memory_used_pct',
      operator: 'GREATER_THAN',
      threshold: 95,
      sustainedSeconds: 600,
      severity: 'WARNING',
      recoveryThreshold: 90,
      recoverySeconds: 120,
    },
  ],
  [
    'filesystem-usage',
    'A mounted file system is nearly full. Each mount is evaluated separately, if the guest agent reports it.',
    {
      displayName: 'File system is nearly full',
      metricId: 'filesystem_used_pct',
      operator: 'GREATER_THAN',
      threshold: 90,
      sustainedSeconds: 300,
      severity: 'WARNING',
      recoveryThreshold: 85,
    },
  ],
  [
    'unexpected-stop',
    'A VM stopped unexpectedly: it crashed, or its hypervisor lost it. A VM that its owner shut down does not fire.',
    {
      displayName: 'VM stopped unexpectedly',
      metricId: 'unexpected_stop',
      operator: 'EQUAL',
      threshold: 1,
      sustainedSeconds: 0,
      severity: 'CRITICAL',
    },
  ],
  [
    'telemetry-unavailable',
    'No data of a VM has been observed for 5 minutes. This says nothing about the VM itself, and its end does not recover other rules.',
    {
      displayName: 'Telemetry is unavailable',
      metricId: 'telemetry_age_seconds',
      operator: 'GREATER_THAN',
      threshold: 300,
      sustainedSeconds: 0,
      severity: 'WARNING',
    },
  ],
];

/** In listing order. */
export const RULE_TEMPLATES: readonly RuleTemplate[] = rows.map(([id, purpose, condition]) => ({
  id,
  description: `${purpose} ${limitationOf(condition.metricId)}`,
  spec: {
    ...condition,
    allVms: true,
    vmNames: [],
    enabled: true,
    repeatIntervalSeconds: 0,
    destinationNames: [],
  },
}));

function limitationOf(metricId: string): string {
  const descriptor = metricCatalogue.get(metricId);
  if (!descriptor) throw new Error(`A template uses ${metricId}, which is not a metric`);
  return descriptor.limitation;
}
