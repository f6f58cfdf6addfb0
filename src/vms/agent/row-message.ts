/** A row in the form of `WriteSamples`, from a row as observed by a source. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ObservedRow } from '../../../actors/telemetry/collectors/collector.ts';
import { messageOf } from '../../../actors/telemetry/ingest/rejections.ts';
import { parseLabels, splitSeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import { Row_State, type RowSchema } from '../../gen/svc/ingest/v1/ingest_pb.ts';

/** Names the VM by its id alone, because the request names the project. */
export function rowMessage(row: ObservedRow): MessageInitShape<typeof RowSchema> {
  return {
    vmName: row.vm,
    displayName: row.displayName,
    bootId: row.bootId,
    observedUnixMs: BigInt(row.observedMs),
    sequence: BigInt(row.sequence),
    ...(row.vcpus !== undefined && { vcpus: row.vcpus }),
    state: Row_State[row.state],
    stateReason: row.stateReason,
    leftOut: (row.leftOut ?? []).map((reading) => ({
      series: reading.series,
      reason: reading.reason,
      message: messageOf(reading),
    })),
    values: row.values.map(([key, value]) => {
      const { name, labels } = splitSeriesKey(key);
      return { series: name, labels: parseLabels(labels), value };
    }),
  };
}
