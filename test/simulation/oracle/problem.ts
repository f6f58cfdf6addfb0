/** A finding of an oracle. */

/** The invariants, in the order of the simulation's description. */
export type Invariant =
  | 'nothing acknowledged is lost'
  | 'nothing is made up'
  | 'one incident for each breach'
  | 'no recovery unobserved'
  | 'every notification ends'
  | 'no attempt after the end'
  | 'caps and order hold'
  | 'one body for each delivery'
  | 'the chain holds'
  | 'a restart changes nothing'
  | 'limits hold'
  | 'one accepted attempt for each delivery'
  | 'a revoked key is refused everywhere'
  | 'no data center is stale while rows flow'
  | 'silence is noticed in time'
  | 'one member acts at a time'
  | 'no decision by a wrong clock'
  | 'no program touches what a newer one wrote'
  | 'one source reports a VM'
  | 'it comes to rest'
  | 'no fault of its own';

export interface Problem {
  readonly invariant: Invariant;
  readonly text: string;
  /** Elapsed time of the world at which it becomes visible, ms. */
  readonly atMs: number;
}
