/**
 * Checks whether the collectors of data centers still report. Only the data center's own state
 * (live or stale) is committed; whether one VM's telemetry is fresh follows from its last
 * observation. The history of a stale data center stays readable and is never presented as live.
 */

import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Host } from '../platform/host/host-port.ts';
import { isRetryable } from '../platform/retryable.ts';

/** The silence that makes a data center stale, and the host that records it. */
export interface DatacentersDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** The data center of this node. */
  readonly datacenter: string;
  /** Silence after which a data center is stale: 3 sampling intervals, ms. */
  readonly silenceMs: number;
  /** Time since rows of data centers arrived at other members, ms. Absent: there are no others. */
  readonly heardElsewhere?: () => ReadonlyMap<string, number>;
  /**
   * True if this member acts for `_system`. Every member receives all rows, and that one commits.
   */
  readonly ownership: Pick<Ownership, 'owns'>;
  /** Called when a change of state could not be committed. The next check retries. */
  readonly onLost?: (error: unknown) => void;
}

/**
 * Time when rows of a data center were last received; before the first row, the start of the check.
 */
interface Heard {
  /** Elapsed time, ms. */
  readonly elapsedMs: number;
  /** Total time for which the process has been suspended, ms. */
  readonly stoodStillMs: number;
  /** Unix ms. */
  readonly atMs: number;
  readonly reported: boolean;
}

/**
 * The time when this node last received rows of each data center. After a restart, each has a full
 * silence period.
 */
export class Datacenters {
  readonly #deps: DatacentersDeps;
  readonly #heard = new Map<string, Heard>();
  /** Data centers that are checked from the start, even if they have never reported. */
  #given: ReadonlySet<string> = new Set();
  /** Elapsed time, ms. */
  #beganMs = 0;
  /**
   * Total time for which this process has stood still so far, ms: stopped, or its machine
   * suspended. Rows that arrived in that time are received after the first check, so it does not
   * count as silence.
   */
  #stoodStillMs = 0;

  constructor(deps: DatacentersDeps) {
    this.#deps = deps;
  }

  /**
   * Rows from a collector of a data center arrived now; undefined = of this node's own data center.
   */
  readonly reported = (datacenter = this.#deps.datacenter): void => {
    this.#heard.set(datacenter, this.#now(true));
  };

  /** Time since rows of data centers arrived here, ms. */
  ages(): Record<string, number> {
    const elapsedMs = this.#deps.clock.elapsed();
    const reported = [...this.#heard].filter(([, heard]) => heard.reported);
    return Object.fromEntries(reported.map(([name, heard]) => [name, elapsedMs - heard.elapsedMs]));
  }

  #now(reported: boolean, agoMs = 0): Heard {
    const { clock } = this.#deps;
    const stoodStillMs = this.#stoodStillMs;
    return {
      elapsedMs: clock.elapsed() - agoMs,
      stoodStillMs,
      atMs: clock.now() - agoMs,
      reported,
    };
  }

  /**
   * Rows of a data center, received at that time (Unix ms), are in the log. Their member may have
   * died before it reported them.
   */
  readonly heardInLog = (datacenter: string, receivedMs: number): void => {
    this.#hear(datacenter, Math.max(0, this.#deps.clock.now() - receivedMs));
  };

  /** Adds the reports of other members, because rows of a data center may arrive at any of them. */
  #hearOthers(): void {
    for (const [datacenter, agoMs] of this.#deps.heardElsewhere?.() ?? []) {
      this.#hear(datacenter, agoMs);
    }
  }

  #hear(datacenter: string, agoMs: number): void {
    const there = this.#now(true, agoMs);
    const here = this.#heard.get(datacenter);
    if (here === undefined || !here.reported || here.elapsedMs < there.elapsedMs) {
      this.#heard.set(datacenter, there);
    }
  }

  /** Its committed state; `live` if it was never stale. */
  stateOf(datacenter: string): 'live' | 'stale' {
    const row = this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter);
    return row?.value === 'stale' ? 'stale' : 'live';
  }

  /** Every checked data center, with its committed state. */
  states(): ReadonlyMap<string, 'live' | 'stale'> {
    return new Map(Array.from(this.#heard.keys(), (name) => [name, this.stateOf(name)]));
  }

  /**
   * Checks every `checkMs` until `signal`. The given data centers, and those that ever reported,
   * are checked from the start on. A start does not count as a report: a stale data center stays
   * stale until rows arrive.
   */
  async run(datacenters: readonly string[], checkMs: number, signal: AbortSignal): Promise<void> {
    this.#given = new Set(datacenters);
    this.#beganMs = this.#deps.clock.elapsed();
    for (const datacenter of [...datacenters, ...this.#committed()]) {
      if (!this.#heard.has(datacenter)) this.#heard.set(datacenter, this.#now(false));
    }
    while (!signal.aborted) {
      this.#hearOthers();
      for (const [datacenter, last] of this.#heard) {
        if (this.#deps.ownership.owns(SYSTEM_PROJECT)) await this.#check(datacenter, last);
      }
      await this.#pause(checkMs, signal);
    }
  }

  async #pause(checkMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const beganMs = clock.elapsed();
    await pause(clock, checkMs, signal);
    const lateMs = clock.elapsed() - beganMs - checkMs;
    if (lateMs > checkMs) this.#stoodStillMs += lateMs;
  }

  /** The first report of any other data center is committed, so that a restart remembers it. */
  #isRemembered(datacenter: string): boolean {
    if (this.#given.has(datacenter)) return true;
    return this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter) !== undefined;
  }

  #committed(): string[] {
    const view = this.#deps.host.view(SYSTEM_PROJECT);
    const rows = itemsOf(1_000, (page) => view.instances('datacenter', page));
    return Array.from(rows, ({ instance }) => instance);
  }

  async #check(datacenter: string, last: Heard): Promise<void> {
    const { clock, silenceMs } = this.#deps;
    const silentMs = clock.elapsed() - last.elapsedMs - (this.#stoodStillMs - last.stoodStillMs);
    const state = silentMs > silenceMs ? 'stale' : 'live';
    // The last report of another member may be older than the rows that it received before it died.
    if (state === 'stale' && clock.elapsed() - this.#beganMs <= silenceMs) return;
    if (state === 'live' && !last.reported) return;
    if (state === this.stateOf(datacenter) && this.#isRemembered(datacenter)) return;
    try {
      await this.#commit(datacenter, state, last.atMs);
    } catch (error) {
      // The next check derives the state again, and commits it.
      if (!isRetryable(error)) throw error;
      this.#deps.onLost?.(error);
    }
  }

  #commit(datacenter: string, state: 'live' | 'stale', sinceMs: number): Promise<unknown> {
    return this.#deps.host.submit({
      project: SYSTEM_PROJECT,
      by: { kind: 'service', name: 'datacenters' },
      decide(draft) {
        const { at } = draft;
        if (!draft.instance('datacenter', datacenter)) {
          draft.start('datacenter', datacenter, { at, name: datacenter });
        }
        const isStale = state === 'stale';
        draft.send('datacenter', datacenter, {
          ...(isStale ? { type: 'silenceNoticed', sinceMs } : { type: 'reported' }),
          at,
        });
      },
    });
  }
}
