/** Opens ingest: it turns rows of any sender into entries of the sample log, within the limits. */
import type { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import { ClockNotes } from '../../actors/telemetry/ingest/clock-notes.ts';
import { CollectorReadings } from '../../actors/telemetry/ingest/collector-readings.ts';
import { countSamples, createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { IngestLimits, type IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { RefusedReadings } from '../../actors/telemetry/ingest/refused-readings.ts';
import { PartitionWriter } from '../../actors/telemetry/sample-log.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import type { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';

export interface IngestParts {
  readonly base: RoomBase;
  readonly storage: Pick<Storage, 'stream' | 'history' | 'member'>;
  readonly vms: { readonly registry: VmRegistry; readonly datacenters: Datacenters };
  readonly projectLimits: ProjectLimitsReader;
  readonly rates: IngestRates;
}

export function openIngest({ base, storage, vms, projectLimits, rates }: IngestParts) {
  const { clock, closers, metrics } = base;
  const { stream, history, member } = storage;
  const { registry, datacenters } = vms;
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
    refusal: () => member.refusal(),
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
  const ingest = refusedReadings.recording(readings.recording(plain));
  const { sources } = registry;
  return { ingest, ingestLimits, clocks, readings, refusedReadings, sources };
}
