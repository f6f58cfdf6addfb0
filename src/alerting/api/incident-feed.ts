/**
 * The changes of a project's incidents for one reader, as commits are applied: a queue with a
 * bound, because who reads more slowly than incidents change must not fill our memory. It ends
 * once, with a reason, and holds nothing from then on.
 */
import type { IncidentBody } from '../../../actors/alerting/incident.ts';
import { type Host, isRecordOf } from '../../../actors/platform/host/host-port.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';

/** An incident as one commit left it. */
export interface IncidentChange {
  readonly body: IncidentBody;
  /** Position of the commit in EVENTS. */
  readonly sequence: number;
}

/**
 * Changes that wait for their reader at most: twice the instances of a project, which may all fire
 * in one breath. What waits is shared with the other readers of the same commits.
 */
export const WAITING_MAX = 20_000;

export class IncidentFeed {
  readonly #stopFollowing: () => void;
  #waiting: IncidentChange[] = [];
  #ended: Refusal | undefined;
  #wake: (() => void) | undefined;

  constructor(host: Pick<Host, 'onApplied'>, project: string) {
    this.#stopFollowing = host.onApplied(({ commit, sequence }) => {
      if (commit.project !== project) return;
      for (const { records } of commit.decisions) {
        for (const record of records) {
          if (!isRecordOf(record, 'incident') || record.body === null) continue;
          this.#add({ body: record.body, sequence });
        }
      }
    });
  }

  /** Ends the feed; the first reason counts. What waited is dropped. */
  end(why: Refusal): void {
    if (this.#ended) return;
    this.#ended = why;
    this.close();
  }

  /** Why it has ended; undefined while it has not. */
  get ended(): Refusal | undefined {
    return this.#ended;
  }

  /** Up to `limit` changes that wait, oldest first; empty = none. Throws why the feed has ended. */
  take(limit: number): readonly IncidentChange[] {
    if (this.#ended) throw this.#ended;
    return this.#waiting.splice(0, limit);
  }

  /** Resolves when there is something to take, or when `wakeUp` is called. */
  async waited(): Promise<void> {
    if (this.#waiting.length > 0 || this.#ended) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Lets `waited` resolve although nothing has come. */
  wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Follows no more commits. */
  close(): void {
    this.#stopFollowing();
    this.#waiting = [];
    this.wakeUp();
  }

  #add(change: IncidentChange): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(change);
    else {
      const message = `${WAITING_MAX} changes waited to be read: watch again, and read faster`;
      this.end(new Refusal('TOO_MANY_REQUESTS', message));
    }
    this.wakeUp();
  }
}
