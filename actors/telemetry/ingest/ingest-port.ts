/**
 * Ingest as its callers see it: rows in, an answer once they are durable. `ingest.ts` implements
 * it.
 */
import type { IngestRow, SenderReach } from '../../vms/sent-row.ts';

export interface WriteRequest {
  /** Project id. */
  readonly project: string;
  /** Absent: this node's own collectors, which know where their machines are. */
  readonly reach?: SenderReach;
  /** Which of the node's own collectors, such as `libvirt`; absent: none of them. */
  readonly source?: string;
  /** The sender's id of this batch: sent again with the same rows, it is answered the same. '' = none. */
  readonly batchId: string;
  readonly rows: readonly IngestRow[];
}

/**
 * LIMIT_EXCEEDED: the project may not have another VM, series or row, or the VM not another series,
 * boot id or state reason.
 * OTHER_DATACENTER: the VM belongs to a data center that the sender does not report.
 * OTHER_VM: an agent sends for its own VM alone. NOT_EXPANDED: and of it expanded series alone,
 * which only it sends. TOLD_BY_AGENT: a collector sends a series of a VM whose agent sends it.
 * REPORTED_ELSEWHERE: another collector reports the VM, or it has left the sender.
 * BAD_LABEL: the value of a label has line breaks, controls or bidirectional controls.
 */
export type RejectReason =
  | 'NOT_FINITE'
  | 'CLOCK_AHEAD'
  | 'OLDER_THAN_RETENTION'
  | 'LIMIT_EXCEEDED'
  | 'OTHER_DATACENTER'
  | 'OTHER_VM'
  | 'REPORTED_ELSEWHERE'
  | 'NOT_EXPANDED'
  | 'BAD_LABEL'
  | 'TOLD_BY_AGENT';

export interface RejectedSample {
  /** Index of the row in the request. */
  readonly row: number;
  /**
   * The series refused, or the field of the row: `vcpus`, `state`, `displayName`; '' = the row, which
   * is refused for its `bootId` or `stateReason` too.
   */
  readonly series: string;
  readonly reason: RejectReason;
}

/** Counts of samples (accepted) and rows (duplicates). */
export interface WriteAnswer {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly RejectedSample[];
  /** Position in SAMPLES of the last row that was stored; 0: none was. */
  readonly sequence: number;
}

export interface Ingest {
  /** Resolves once every kept row is durable. Throws a `Refusal`: NOT_READY, TOO_MANY_REQUESTS. */
  write(request: WriteRequest): Promise<WriteAnswer>;
}
