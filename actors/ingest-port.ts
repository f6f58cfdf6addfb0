/** What callers of ingest see: rows in, an answer once they are durable. `ingest.ts` implements it. */
import type { Row } from '../streams/samples/builder.ts';

/** A row as a sender has it; its project comes from the request, never from the sender's labels. */
export interface IngestRow extends Omit<Row, 'project'> {
  /** Name to show; absent or '' = not told, the VM keeps the one it has. */
  readonly displayName?: string;
}

export interface WriteRequest {
  /** Project id. */
  readonly project: string;
  /** The sender's id of this batch: sent again with the same rows, it is answered the same. '' = none. */
  readonly batchId: string;
  readonly rows: readonly IngestRow[];
}

/** LIMIT_EXCEEDED: the project has no room for another VM, or the VM none for another series. */
export type RejectReason = 'NOT_FINITE' | 'CLOCK_AHEAD' | 'OLDER_THAN_RETENTION' | 'LIMIT_EXCEEDED';

export interface RejectedSample {
  /** Index of the row in the request. */
  readonly row: number;
  /** The series refused; '' = the whole row. */
  readonly series: string;
  readonly reason: RejectReason;
}

/** Counts of samples (accepted) and rows (duplicates). */
export interface WriteAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly RejectedSample[];
}

export interface Ingest {
  /** Resolves once every kept row is durable. Throws a `Refusal`: NOT_READY, TOO_MANY_REQUESTS. */
  write(request: WriteRequest): Promise<WriteAnswer>;
}
