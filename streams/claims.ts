/**
 * The port for things that may happen once: a key is claimed by whoever comes first, on every node.
 * Off the commit path, because a stranger's tries must not become commits.
 */

export interface Claims {
  /**
   * true: this call claimed the key, durably; false: it was claimed before. A claim is forgotten
   * after `untilMs` (Unix ms). Rejects when it cannot be told.
   */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
}
