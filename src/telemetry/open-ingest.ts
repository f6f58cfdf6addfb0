/** Opens ingest: it turns rows of any sender into entries of the sample log, within the limits. */
import type { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { CollectorReadings } from '../../actors/telemetry/ingest/collector-readings.ts';
import { countSamples, createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits, type IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { RefusedReadings } from '../../actors/telemetry/ingest/refused-readings.ts';
import { PartitionWriter } from '../../actors/telemetry/sample-log.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import type { VmRegistry } from '../../actors/vms/vm-directory.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { RoomBase } from '../platform/room-base.ts';

export interface IngestOptions extends Pick<RoomBase, 'clock' | 'metrics' | 'closers'> {
  readonly stream: Stream;
  readonly history: History;
  readonly registry: VmRegistry;
  readonly datacenters: Datacenters;
  readonly projectLimits: ProjectLimitsReader;
  readonly ingestRates: IngestRates;
}

export function openIngest(options: IngestOptions) {
  const { clock, stream, history, registry, datacenters, closers, metrics } = options;
  const { projectLimits, ingestRates: rates } = options;
  history.boundProjects(projectLimits);
  const writer = new PartitionWriter({ stream, clock });
  closers.add('sample writer', () => writer.settled());
  const clocks = new ClockNotes();
  const samples = metrics.counter('svc_samples_total', 'Samples received', ['outcome']);
  const refused = metrics.counter(
    'svc_samples_rejected_total',
    'Rejected samples and rows, by the reason reported to the sender',
    ['reason'],
  );
  const ingestLimits = new IngestLimits(registry, {
    limits: projectLimits,
    memory: history,
    onShortMemory: (rows) => refused.inc({ reason: 'TOO_MANY_REQUESTS' }, rows),
  });
  const readings = new CollectorReadings(clock);
  const plain = createIngest({
    clock,
    writer,
    registry,
    limits: ingestLimits,
    rates,
    clocks,
    onRows: datacenters.reported,
    onSamples: countSamples({ samples, refused }),
  });
  const leftOut = metrics.counter(
    'svc_samples_left_out_total',
    'Readings that sources left out because they cannot be stored, by cause',
    ['reason'],
  );
  const refusedReadings = new RefusedReadings({
    clock,
    onLeftOut: (reason, count) => leftOut.inc({ reason }, count),
  });
  const ingest = refusedReadings.noting(readings.noting(plain));
  const { sources } = registry;
  return { ingest, ingestLimits, clocks, readings, refusedReadings, sources };
}
