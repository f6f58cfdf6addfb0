/** Opens the alerting room: the evaluator over the sample log, and the rules it evaluates. */
import { join } from 'node:path';
import { createAlerting } from '../../actors/alerting/alerting.ts';
import { announceContested } from '../../actors/alerting/contested-vms.ts';
import { Checkpoints } from '../../actors/alerting/evaluator/checkpoints.ts';
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
import { watchSampleLog } from '../../actors/telemetry/sample-log-watch.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import { CheckpointFiles } from '../../sqlite/alerting/checkpoint-files.ts';
import { PARTITIONS } from '../../streams/platform/stream.ts';
import { type PartHealth, ready, starting } from '../platform/health.ts';
import type { LostWork, RoomBase, Storage } from '../platform/room-base.ts';

export interface AlertingParts {
  readonly base: RoomBase;
  readonly storage: Pick<Storage, 'stream' | 'history' | 'member' | 'ownership'>;
  readonly host: RunningHost;
  readonly vms: { readonly datacenters: Pick<Datacenters, 'heardInLog'> };
  readonly intake: {
    readonly clocks: ClockNotes;
    readonly sources: VmSources;
    readonly ingestLimits: IngestLimits;
    readonly refusedReadings: RefusedReadings;
  };
  readonly lost: LostWork;
}

/** Folder of the checkpoints of evaluation, in the data folder. */
const CHECKPOINTS_FOLDER = 'checkpoints';

export function openAlerting(parts: AlertingParts) {
  const { host, intake } = parts;
  const { base } = parts;
  const { clock, random, health } = base;
  const evaluator = openEvaluator(parts);
  health.watch({ kind: 'sample log', neededFor: 'acting' }, () =>
    evaluator.isCaughtUp()
      ? ready
      : starting('The sample log is still being read. No action is needed'),
  );
  health.watch({ kind: 'evaluation' }, () => evaluationCheck(evaluator));
  base.metrics.gauge(
    'svc_partitions_apart',
    'Partitions whose evaluation is rebuilt apart from the others',
    [],
    (gauge) => gauge.set(evaluator.apart().length),
  );
  health.watch({ kind: 'newest rows' }, () =>
    evaluator.isHistoryWhole()
      ? ready
      : starting('The newest rows are still being read from the sample log. No action is needed'),
  );
  const alerting = createAlerting({
    host,
    known: {
      labelSets: (project, vm, metricId) => intake.ingestLimits.labelSets(project, vm, metricId),
      evaluated: (project) => evaluator.quota(project).evaluated,
    },
  });
  const maintenance = createMaintenanceWindows({ host, clock, random });
  return { alerting, maintenance, evaluator, parts: runningParts(parts, evaluator) };
}

function openEvaluator({ base, storage, host, vms, intake }: AlertingParts): SamplePipeline {
  const { clock, metrics, log, settings } = base;
  const { stream, history, ownership } = storage;
  const edgeFaults = metrics.counter('svc_edge_faults_total', 'Edges that could not be decided');
  const partitionFaults = metrics.counter(
    'svc_partition_faults_total',
    'Faults in the evaluation of a partition, each of which rebuilds it',
  );
  const checkpointFaults = metrics.counter(
    'svc_checkpoint_faults_total',
    'Checkpoints of evaluation that could not be written or used',
  );
  const checkpoints = new Checkpoints({
    store: new CheckpointFiles(join(settings.data, CHECKPOINTS_FOLDER)),
    stream,
    clock,
    host,
    onRestored(partitions, sequence) {
      const of = `${partitions} of ${PARTITIONS} partitions`;
      log.info({ part: 'evaluator', sequence }, `Evaluation of ${of} continues from checkpoints`);
    },
    onFault(what, error) {
      checkpointFaults.inc();
      log.warn({ err: error, part: 'evaluator' }, `${what}; evaluation continues without it`);
    },
  });
  return new SamplePipeline({
    host,
    stream,
    clock,
    history,
    ownership,
    checkpoints,
    recovery: history,
    clockAhead: (sinceMs) => intake.clocks.ahead(sinceMs),
    onHeard: vms.datacenters.heardInLog,
    onFault(what, error) {
      edgeFaults.inc();
      log.error({ err: error, part: 'evaluator' }, `${what} could not be decided`);
    },
    onPartitionFault({ partition, error, waitMs }) {
      partitionFaults.inc();
      const what = `The evaluation of partition ${partition} failed and is rebuilt in ${waitMs / 1000} s`;
      log.error({ err: error, part: 'evaluator', partition }, what);
    },
  });
}

/** Partitions that are rebuilt are degraded only, because the others continue. */
function evaluationCheck(evaluator: Pick<SamplePipeline, 'apart' | 'unjudged'>): PartHealth {
  const apart = evaluator.apart();
  if (apart.length === 0) return ready;
  const failed = apart.flatMap(({ partition, fault }) =>
    fault === undefined ? [] : [`The evaluation of partition ${partition} failed: ${fault}`],
  );
  const names = apart.map(({ partition }) => partition).join(', ');
  const unjudged = evaluator.unjudged();
  const without = 'Outages of data centers are judged without VMs of partitions';
  return {
    state: 'degraded',
    reason: [
      ...failed,
      `These partitions are rebuilt from the sample log, and the others continue: ${names}`,
      ...(unjudged.length > 0 ? [`${without} ${unjudged.join(', ')}`] : []),
    ].join('. '),
    summary: 'Alert rules of some projects are not evaluated for the moment',
  };
}

function runningParts(parts: AlertingParts, pipeline: SamplePipeline): Part[] {
  const { base, storage, host, intake, lost } = parts;
  const { stream, history, member, ownership } = storage;
  const { clock } = base;
  const acting = { host, clock, ownership };
  return [
    { name: 'evaluator', run: (signal) => pipeline.run(signal) },
    { name: 'rules', run: (signal) => keepRules({ ...acting, stream }, signal) },
    { name: 'maintenance', run: (signal) => announceMaintenance(acting, signal) },
    instanceLimitPart(parts, pipeline),
    {
      name: 'contested VMs',
      run(signal) {
        const { sources } = intake;
        return announceContested({ ...acting, sources, onLost: lost('contested VMs') }, signal);
      },
    },
    {
      name: 'refused readings',
      run(signal) {
        const refused = intake.refusedReadings;
        const onLost = lost('refused readings');
        return noticeRefusedReadings({ ...acting, refused, onLost }, signal);
      },
    },
    {
      name: 'ticker',
      run(signal) {
        const livenessReport = (partition: number, atMs: number) =>
          pipeline.livenessReport(partition, atMs);
        return tick({ ...acting, stream, livenessReport, onLost: lost('ticker') }, signal);
      },
    },
    {
      name: 'sample retention',
      run(signal) {
        const memberFloors = (partition: number) => member.floorsOf(partition);
        const onLost = lost('sample retention');
        const deps = { ...acting, stream, history, pipeline, memberFloors, onLost };
        return retainSamples(deps, signal);
      },
    },
    ...(member.isAlone ? [] : [sampleLogPart(parts, pipeline)]),
  ];
}

/** Streams on servers can be deleted under the running service; those in files cannot. */
function sampleLogPart({ base, storage }: AlertingParts, { stored }: SamplePipeline): Part {
  const { clock, log } = base;
  const { stream, history } = storage;
  const part = 'sample log watch';
  return {
    name: part,
    run(signal) {
      const deps = {
        stream,
        clock,
        history,
        stored,
        onMadeAgain: () =>
          log.warn(
            { part },
            'The stream SAMPLES_0 was deleted and recreated: rows in memory are flushed to history',
          ),
        onFault: (error: unknown) =>
          log.warn({ part, err: error }, 'The sample log was not looked at; it will be retried'),
      };
      return watchSampleLog(deps, signal);
    },
  };
}

function instanceLimitPart(
  { base, storage, host, lost }: AlertingParts,
  evaluator: SamplePipeline,
): Part {
  base.metrics.gauge(
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
  const isCurrent = (project: string) => evaluator.isCurrent(project);
  const { clock } = base;
  const { ownership } = storage;
  const deps = { host, clock, ownership, evaluator, isCurrent, onLost: lost('instance limit') };
  return { name: 'instance limit', run: (signal) => watchInstanceLimit(deps, signal) };
}
