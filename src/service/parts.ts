/**
 * The running parts and their supervision: each runs until it is stopped, is started again when
 * it fails, and tells `/readyz` how it is. One that fails takes no other with it.
 */

import type { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { retainSamples } from '../../actors/alerting/evaluator/sample-retention.ts';
import { watchInstanceLimit } from '../../actors/alerting/instance-limit.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import { retain } from '../../actors/audit/retention.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import { type Part, type Supervision, supervise } from '../../actors/platform/supervision.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import type { SecretStore } from '../../sqlite/platform/secret-store.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Closers } from '../platform/closers.ts';
import { type Health, ready } from '../platform/health.ts';
import { faulty, historyCheck, partCheck } from '../platform/health-checks.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Settings } from '../platform/settings/settings.ts';

export interface PartsOptions {
  readonly settings: Settings;
  readonly host: RunningHost;
  readonly stream: Stream;
  readonly history: History;
  readonly pipeline: SamplePipeline;
  readonly datacenters: Datacenters;
  readonly lost: LostWork;
  /** The parts of the delivery room. */
  readonly delivery: readonly Part[];
  readonly secrets: Pick<SecretStore, 'excerpts'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly closers: Closers;
}

/** Counts what a part could not do because the stream did not answer. */
export type LostWork = (part: string) => () => void;

export function countLostWork(metrics: Metrics): LostWork {
  const lost = metrics.counter(
    'svc_part_lost_work_total',
    'Work that a part could not do because the stream did not answer',
    ['part'],
  );
  return (part) => () => lost.inc({ part });
}

/** How often data centers are checked for silence, ms. */
const DATACENTER_CHECK_MS = 5_000;

/** All parts, not ready until `start`; the closer stops those that run, last one first. */
export function createParts(options: PartsOptions): { start(): void } {
  const { clock, random, health, log, metrics, closers, pipeline, history } = options;
  const failures = metrics.counter('svc_part_failures_total', 'Failures of running parts', [
    'part',
  ]);
  const parts = partsOf(options);
  let supervision: Supervision | undefined;
  closers.add('parts', () => supervision?.stop());
  const running = { health: () => supervision?.health() ?? [] };
  for (const { name } of parts) {
    health.watch({ kind: name }, partCheck(running, { name, essential: true }));
  }
  health.watch({ kind: 'sample log' }, () =>
    pipeline.isCaughtUp()
      ? ready
      : faulty('notReady', 'The sample log is being read: this ends by itself'),
  );
  health.watch({ kind: 'history' }, historyCheck(history));
  return {
    start() {
      supervision = supervise({
        ...{ parts, clock, random },
        onFailure(part, error) {
          failures.inc({ part: part.name });
          log.error({ err: error, part: part.name }, 'A part failed and is started again');
        },
      });
    },
  };
}

function partsOf(options: PartsOptions): Part[] {
  const { clock, datacenters, host, lost, pipeline, settings } = options;
  const census = (partition: number, atMs: number) => pipeline.census(partition, atMs);
  return [
    { name: 'evaluator', run: (signal) => pipeline.run(signal) },
    { name: 'rules', run: (signal) => keepRules(options, signal) },
    instanceLimitPart(options),
    {
      name: 'ticker',
      run: (signal) => tick({ ...options, census, onLost: lost('ticker') }, signal),
    },
    {
      name: 'datacenters',
      run: (signal) => datacenters.run([settings.datacenter], DATACENTER_CHECK_MS, signal),
    },
    {
      name: 'sample retention',
      run: (signal) => retainSamples({ ...options, onLost: lost('sample retention') }, signal),
    },
    {
      name: 'timers',
      run: (signal) =>
        runTimers(
          {
            host,
            clock,
            owns: () => true,
            onFault: (timer, error) =>
              options.log.error({ err: error, instance: timer.instance }, 'A timer did not fire'),
          },
          signal,
        ),
    },
    ...options.delivery,
    retentionPart(options),
  ];
}

const DAY_MS = 86_400_000;

/** Lets go of what has been kept for its time. */
function retentionPart(options: PartsOptions): Part {
  const { host, clock, lost, metrics, secrets, settings } = options;
  const removed = metrics.counter(
    'svc_retention_removed_total',
    'Things let go of after the time they are kept',
    ['kind'],
  );
  const deps = {
    ...{ host, clock, auditKeptMs: settings.auditRetentionDays * DAY_MS, owns: () => true },
    forgetExcerpts: (deliveries: readonly string[]) => secrets.excerpts.delete(deliveries),
    onRemoved: (kind: string, count: number) => removed.inc({ kind }, count),
    onLost: lost('retention'),
  };
  return { name: 'retention', run: (signal) => retain(deps, signal) };
}

function instanceLimitPart(options: PartsOptions): Part {
  const { host, clock, lost, metrics, pipeline: evaluator } = options;
  metrics.gauge(
    'svc_unevaluated_instances',
    "Alert instances that are not evaluated, because their project's limit is reached",
    [],
    (gauge) => {
      const counts = host
        .projects()
        .flatMap((project) => [...evaluator.quota(project).unevaluated.values()]);
      gauge.set(counts.reduce((sum, count) => sum + count, 0));
    },
  );
  const isCaughtUp = () => evaluator.isCaughtUp();
  const deps = { host, clock, evaluator, isCaughtUp, onLost: lost('instance limit') };
  return { name: 'instance limit', run: (signal) => watchInstanceLimit(deps, signal) };
}
