/**
 * The core between the streams, put together: ingest, the sample pipeline, alerting and delivery.
 * What clients reach is put together in `service.ts`, what runs all the time in `parts.ts`.
 */
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import { ProjectLimitsReader } from '../../actors/platform/project-limits-reader.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { PartitionWriter } from '../../actors/telemetry/ingest/partition-writer.ts';
import { Datacenters } from '../../actors/vms/datacenters.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Resolve } from '../delivery/notify/http/guarded-agent.ts';
import { openDelivery } from '../delivery/open-delivery.ts';
import type { Closers } from '../platform/closers.ts';
import { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import type { ProjectBounds } from '../platform/gate/open-gate.ts';
import type { Health } from '../platform/health.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { countLostWork, createParts, type LostWork } from './parts.ts';
import type { Storage } from './storage.ts';

/** What an embedding program or a test may hand in, in place of the machine's own. */
export interface ServicePorts {
  readonly clock?: Clock;
  readonly random?: Random;
  /** In place of the stream that the settings name; it stays the caller's to close. */
  readonly stream?: Stream;
  /** How webhook hosts become addresses. */
  readonly resolve?: Resolve;
  /** Artificial time of each embedded disk write, ms: for measurements. */
  readonly fsyncDelayMs?: number;
}

/** What every part is built on. */
export interface ServiceBase {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly closers: Closers;
}

type CoreOptions = ServiceBase &
  Storage &
  Pick<ProjectBounds, 'gate' | 'ingestRates'> & { host: RunningHost; ports: ServicePorts };

/**
 * Ingest, evaluation, alerting and delivery: everything between the streams. Its parts run from
 * `start` on, and are closed after the edges, whose last requests wait for them.
 */
export function buildCore(options: CoreOptions) {
  const { settings, clock, host, stream, history, metrics, log } = options;
  const lost = countLostWork(metrics);
  const projectLimits = new ProjectLimitsReader(host);
  history.boundProjects((project) => projectLimits.of(project).headBytes);
  const { ingest, registry, datacenters, clocks, limits } = buildIngest(
    options,
    lost,
    projectLimits,
  );
  const publicUrl = { current: settings.publicUrl ?? '' };
  const delivery = openDelivery({
    ...options,
    publicUrl: () => publicUrl.current,
    resolve: options.ports.resolve,
  });
  const edgeFaults = metrics.counter('svc_edge_faults_total', 'Edges that could not be decided');
  const pipeline = new SamplePipeline({
    ...{ host, stream, clock, history, recovery: history },
    clockAhead: (sinceMs) => clocks.ahead(sinceMs),
    onFault(what, error) {
      edgeFaults.inc();
      log.error({ err: error, part: 'evaluator' }, `${what} could not be decided`);
    },
  });
  const parts = createParts({
    ...{ ...options, pipeline, datacenters, lost, delivery: delivery.parts },
  });
  const alerting = createAlerting({
    host,
    known: {
      labelSets: (project, vm, metricId) => limits.labelSets(project, vm, metricId),
      evaluated: (project) => pipeline.quota(project).evaluated,
    },
  });
  const limitUse = new ProjectLimitUse({
    ...{ ...options, registry, evaluator: pipeline, ingestLimits: limits, memory: history },
  });
  return {
    ...{ ingest, registry, alerting, delivery, datacenters, clocks, evaluator: pipeline },
    limitUse,
    start(baseUrl: string) {
      publicUrl.current = baseUrl;
      parts.start();
    },
  };
}

/** Where samples come in, and what they tell of their data center. */
function buildIngest(options: CoreOptions, lost: LostWork, projectLimits: ProjectLimitsReader) {
  const { settings, clock, host, stream, closers, metrics, history } = options;
  const datacenters = new Datacenters({
    ...{ host, clock, onLost: lost('datacenters') },
    silenceMs: 3 * settings.sampleIntervalSeconds * 1000,
  });
  const writer = new PartitionWriter({ stream, clock });
  closers.add('sample writer', () => writer.settled());
  const registry = new VmRegistry({
    ...{ host, clock, datacenter: settings.datacenter, limits: projectLimits },
  });
  const clocks = new ClockNotes();
  const samples = metrics.counter('svc_samples_total', 'Samples received', ['outcome']);
  const refused = metrics.counter(
    'svc_samples_rejected_total',
    'Samples and rows refused, by the reason that their sender was given',
    ['reason'],
  );
  const limits = new IngestLimits(registry, {
    limits: projectLimits,
    memory: history,
    onShortMemory: (rows) => refused.inc({ reason: 'TOO_MANY_REQUESTS' }, rows),
  });
  const ingest = createIngest({
    clock,
    writer,
    registry,
    limits,
    rates: options.ingestRates,
    clocks,
    onRows: (datacenter) => datacenters.reported(datacenter ?? settings.datacenter),
    onSamples(accepted, rejected) {
      samples.inc({ outcome: 'accepted' }, accepted);
      if (rejected.length > 0) samples.inc({ outcome: 'rejected' }, rejected.length);
      for (const { reason } of rejected) refused.inc({ reason });
    },
  });
  return { ingest, registry, datacenters, clocks, limits };
}
