/** The response to `WriteSamples`, equal for both ways in which a request is processed. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { WriteAnswer } from '../../../actors/telemetry/ingest/ingest-port.ts';
import {
  messageOf,
  type RejectedSample,
  refusesRow,
} from '../../../actors/telemetry/ingest/rejections.ts';
import type { WriteSamplesResponseSchema } from '../../gen/svc/ingest/v1/ingest_pb.ts';
import { REJECTED_MAX, type SentRows } from './sent-rows.ts';

/**
 * The response. Each rejection names row, field and reason; those beyond `REJECTED_MAX` are only
 * counted, because the response is bounded.
 */
export function answerMessage(
  { accepted, duplicates, rejected }: WriteAnswer,
  sent: Pick<SentRows, 'valueIndexOf' | 'notListed'>,
): MessageInitShape<typeof WriteSamplesResponseSchema> {
  const surplus = Math.max(0, rejected.length - REJECTED_MAX);
  return {
    accepted: BigInt(accepted),
    duplicates: BigInt(duplicates),
    rejected: rejected.slice(0, REJECTED_MAX).map((one) => ({
      row: one.row,
      series: one.series,
      reason: one.reason,
      field: fieldOf(one, sent),
      message: messageOf(one),
      rowRefused: refusesRow(one),
    })),
    rejectedNotListed: BigInt(surplus + sent.notListed),
  };
}

/** Path of the rejected part in the request. */
function fieldOf(
  { row, series, field }: RejectedSample,
  { valueIndexOf }: Pick<SentRows, 'valueIndexOf'>,
): string {
  if (field !== undefined) return `rows[${row}].${field}`;
  if (series === '') return `rows[${row}]`;
  const at = valueIndexOf(row, series);
  return at === undefined ? `rows[${row}].${series}` : `rows[${row}].values[${at}]`;
}
