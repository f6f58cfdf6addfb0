/**
 * Ingest as its callers see it: rows in, a response once they are durable. `ingest.ts` implements
 * it.
 */
import type { IngestRow, SenderReach } from '../../vms/sent-row.ts';
import type { RejectedSample, Rejection } from './rejections.ts';

export interface WriteRequest {
  /** Project id. */
  readonly project: string;
  /** Absent: this node's own collectors, whose machines are known. */
  readonly reach?: SenderReach;
  /** Name of the node's own collector, such as `libvirt`; absent: none of them. */
  readonly source?: string;
  /**
   * The sender's id of this batch; if it is sent again with the same rows, it gets the same
   * response. '' = none.
   */
  readonly batchId: string;
  readonly rows: readonly IngestRow[];
  /** Index in the request of each row; absent: all of its rows, in order. */
  readonly indexes?: readonly number[];
  /** Parts of the request that its reader has rejected for their form. */
  readonly rejected?: readonly RejectedSample[];
  /** Readings that the source itself could not send, by the id of their VM. */
  readonly leftOut?: readonly LeftOutReading[];
}

/** A reading or a field that a source left out because it cannot be stored. */
export interface LeftOutReading extends Rejection {
  readonly vm: string;
}

/** Counts of samples (accepted) and rows (duplicates). */
export interface WriteAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly RejectedSample[];
  /** Position in SAMPLES of the last stored row; 0: none was stored. */
  readonly sequence: number;
}

export interface Ingest {
  /** Resolves once every kept row is durable. Throws a `Refusal`: NOT_READY, TOO_MANY_REQUESTS. */
  write(request: WriteRequest): Promise<WriteAnswer>;
}
