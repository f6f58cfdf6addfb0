/**
 * Who acts for a project: ticks, markers, edges, timers, retention, mails to owners. Every member of
 * a cluster folds the same logs, and one of them at a time acts on what follows from them.
 */

/** What a member asks before it acts; asked again each time, because a lease may end at any moment. */
export interface Ownership {
  /** Does this member act for the project (or `_system`) now? */
  owns(project: string): boolean;
  /** Epoch of the lease under which it acts for the partition; undefined: it does not act. */
  epochOf(partition: number): number | undefined;
  /** Calls `listener` when this member has begun or ended to act for something. Returns its undo. */
  onChange(listener: () => void): () => void;
}

/** The only process of its streams: it acts for everything, under a lease that never ends. */
export const soleOwner: Ownership = {
  owns: () => true,
  epochOf: () => 0,
  onChange: () => () => {},
};
