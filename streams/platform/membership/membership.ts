/**
 * The port of membership: a process's view of its cluster, and the projects for which it acts. A
 * process alone has a fixed answer (`sole-member.ts`); a member of a cluster agrees on it with the
 * others (`member.ts`).
 */
import type { MemberProgress, MemberView } from './roster.ts';

/**
 * Checked by a member before it acts for a project: ticks, markers, edges, timers, retention, mails
 * to owners. It checks each time, because a lease may end at any moment.
 */
export interface Ownership {
  /** True if this member now acts for the project (or `_system`). */
  owns(project: string): boolean;
  /** Epoch of the lease under which it acts for the partition; undefined if it does not act. */
  epochOf(partition: number): number | undefined;
  /**
   * Position in SAMPLES up to which the owner of the partition has decided; undefined if unknown.
   */
  decidedBy(partition: number): number | undefined;
  /**
   * Calls `listener` when this member starts or stops acting for something. Returns a function that
   * removes it.
   */
  onChange(listener: () => void): () => void;
}

/** A process's knowledge of its cluster, and its rights in it. */
export interface Membership extends Ownership {
  readonly node: string;
  /** true: no other process can share its streams. */
  readonly isAlone: boolean;
  /** Every known member, including those that ended within the last hour. */
  members(): readonly MemberView[];
  /** Minimum lead of the calendar clock over the stream's, ms; negative: behind. */
  clockAheadMs(): number;
  /**
   * Why this member may not vouch for a credential or decide anything: it could not renew its
   * record, so it may have missed a revocation, or its clock is wrong. undefined: it may.
   */
  refusal(): string | undefined;
  /** Puts the result of `progress` into each record from now on. */
  report(progress: () => MemberProgress): void;
  /** The member has caught up and takes its part from now on. */
  begin(): void;
  /** Renews the record at once, because others wait for its content. */
  announce(): void;
  /**
   * Resolves once every live member has applied EVENTS up to `sequence`: at once if all are
   * healthy, after 5 s if one has fallen silent. Rejects with the signal's reason, or if the stream
   * is unavailable.
   */
  untilApplied(sequence: number, signal: AbortSignal): Promise<void>;
  /** Time since rows of data centers arrived at other members, ms. */
  heardElsewhere(): ReadonlyMap<string, number>;
  /** Positions in SAMPLES from which the live members still need the log of a partition. */
  floorsOf(partition: number): readonly number[];
  /** Hands everything over. Call it once nothing acts any more. */
  leave(): Promise<void>;
}
