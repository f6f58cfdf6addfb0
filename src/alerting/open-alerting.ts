/** Opens the alerting room: the evaluator over the sample log, and the rules it evaluates. */
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { announceContested } from '../../actors/alerting/contested-vms.ts';
import { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { retainSamples } from '../../actors/alerting/evaluator/sample-retention.ts';
import { watchInstanceLimit } from '../../actors/alerting/instance-limit.ts';
import {
  announceMaintenance,
  createMaintenanceWindows,
} from '../../actors/alerting/maintenance.ts';
import { noticeRefusedReadings } from '../../actors/alerting/refused-readings-notice.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import type { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import type { IngestLimits } from '../../actors/telemetry/ingest/ingest-limits.ts';
import type { RefusedReadings } from '../../actors/telemetry/ingest/refused-readings.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { Membership, Ownership } from '../../streams/platform/membership/membership.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { ready, starting } from '../platform/health.ts';
import type { LostWork, RoomBase } from '../platform/room-base.ts';

export interface AlertingOptions extends RoomBase {
  readonly host: RunningHost;
  readonly stream: Stream;
  readonly history: History;
  readonly member: Membership;
  readonly ownership: Ownership;
  readonly clocks: ClockNotes;
  readonly sources: VmSources;
  readonly datacenters: Pick<Datacenters, 'heardInLog'>;
  readonly ingestLimits: IngestLimits;
  readonly refusedReadings: RefusedReadings;
  readonly lost: LostWork;
}

export function openAlerting(options: AlertingOptions) {
  const { host, stream, history, clock, clocks, ingestLimits, metrics, log, health } = options;
  const { ownership } = options;
  const edgeFaults = metrics.counter('svc_edge_faults_total', 'Edges that could not be decided');
  const evaluator = new SamplePipeline({
    host,
    stream,
    clock,
    history,
    ownership,
    recovery: history,
    clockAhead: (sinceMs) => clocks.ahead(sinceMs),
    onHeard: options.datacenters.heardInLog,
    onFault(what, error) {
      edgeFaults.inc();
      log.error({ err: error, part: 'evaluator' }, `${what} could not be decided`);
    },
  });
  health.watch({ kind: 'sample log' }, () =>
    evaluator.isCaughtUp()
      ? ready
      : starting('The sample log is still being read. No action is needed'),
  );
  const alerting = createAlerting({
    host,
    known: {
      labelSets: (project, vm, metricId) => ingestLimits.labelSets(project, vm, metricId),
      evaluated: (project) => evaluator.quota(project).evaluated,
    },
  });
  const maintenance = createMaintenanceWindows({ host, clock, random: options.random });
  return { alerting, maintenance, evaluator, parts: partsOf(options, evaluator) };
}

function partsOf(options: AlertingOptions, pipeline: SamplePipeline): Part[] {
  const { lost, member } = options;
  const memberFloors = () => member.floors();
  const livenessReport = (partition: number, atMs: number) =>
    pipeline.livenessReport(partition, atMs);
  return [
    { name: 'evaluator', run: (signal) => pipeline.run(signal) },
    { name: 'rules', run: (signal) => keepRules(options, signal) },
    { name: 'maintenance', run: (signal) => announceMaintenance(options, signal) },
    instanceLimitPart(options, pipeline),
    {
      name: 'contested VMs',
      run: (signal) => announceContested({ ...options, onLost: lost('contested VMs') }, signal),
    },
    {
      name: 'refused readings',
      run: (signal) =>
        noticeRefusedReadings(
          { ...options, refused: options.refusedReadings, onLost: lost('refused readings') },
          signal,
        ),
    },
    {
      name: 'ticker',
      run: (signal) => tick({ ...options, livenessReport, onLost: lost('ticker') }, signal),
    },
    {
      name: 'sample retention',
      run: (signal) =>
        retainSamples(
          { ...options, pipeline, memberFloors, onLost: lost('sample retention') },
          signal,
        ),
    },
  ];
}

function instanceLimitPart(options: AlertingOptions, evaluator: SamplePipeline): Part {
  const { host, clock, lost, metrics, ownership } = options;
  metrics.gauge(
    'svc_unevaluated_instances',
    "Alert instances beyond their project's limit, which are not evaluated",
    [],
    (gauge) => {
      const counts = host
        .projects()
        .flatMap((project) => [...evaluator.quota(project).unevaluated.values()]);
      gauge.set(counts.reduce((sum, count) => sum + count, 0));
    },
  );
  const isCaughtUp = () => evaluator.isCaughtUp();
  const deps = { host, clock, ownership, evaluator, isCaughtUp, onLost: lost('instance limit') };
  return { name: 'instance limit', run: (signal) => watchInstanceLimit(deps, signal) };
}
