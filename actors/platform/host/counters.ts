/** Counters of a host since its start: every fault has a number here. */

export interface HostCounters {
  /** Commits of this node that were applied. */
  commits: number;
  /** Decisions in them. */
  decisions: number;
  /** Messages of EVENTS that were applied, of any node. */
  applied: number;
  /** Messages skipped because another commit had followed the same predecessor. */
  superseded: number;
  /** Messages skipped because their writer had a history other than the stream's. */
  foreign: number;
  /** Batches decided again after another node's commit. */
  conflicts: number;
  /**
   * Appends repeated because their outcome was unknown, because they were refused early, or because
   * they were lost.
   */
  appendRetries: number;
  /** Submissions rejected because the stream did not respond. */
  unavailable: number;
  /** Decisions that failed because of a fault of ours (no `Refusal`). */
  decisionFaults: number;
  /** Submissions refused because the project's queue was full. */
  queueFull: number;
  /** Number of times that reading or applying EVENTS failed and was restarted. */
  readFailures: number;
  /** Listeners of `onApplied` that threw. */
  listenerFaults: number;
  /** Commits whose project's time went back, because the clock was set back. */
  setBacks: number;
}

/** All at 0. */
export function createCounters(): HostCounters {
  return {
    commits: 0,
    decisions: 0,
    applied: 0,
    superseded: 0,
    foreign: 0,
    conflicts: 0,
    appendRetries: 0,
    unavailable: 0,
    decisionFaults: 0,
    queueFull: 0,
    readFailures: 0,
    listenerFaults: 0,
    setBacks: 0,
  };
}
