/**
 * Watch over data centers: whether their collectors still report. Only the data center's own state
 * (live or stale) is committed; whether one VM's telemetry is fresh follows from its last observation.
 * The history of a stale data center stays readable and is never shown as live.
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
  /** How long ago rows of data centers arrived at other members, ms. Absent: there are none. */
  readonly heardElsewhere?: () => ReadonlyMap<string, number>;
  /** Does this member act for `_system`? Every member hears all rows, and that one commits. */
  readonly ownership: Pick<Ownership, 'owns'>;
  /** Called when a change of state could not be committed; the next check tries again. */
  readonly onLost?: (error: unknown) => void;
}

/** When rows of a data center were last received; before the first, when the watch began. */
interface Heard {
  /** Elapsed time, ms. */
  readonly elapsedMs: number;
  /** How long the process had stood still by then, in all, ms. */
  readonly stoodStillMs: number;
  /** Unix ms. */
  readonly atMs: number;
  readonly reported: boolean;
}

/**
 * When each data center was last heard of, by this node. After a restart each has a whole silence
 * of time.
 */
export class Datacenters {
  readonly #deps: DatacentersDeps;
  readonly #heard = new Map<string, Heard>();
  /** Data centers that are checked from the start, even if they never reported. */
  #given: ReadonlySet<string> = new Set();
  /** Elapsed time, ms. */
  #beganMs = 0;
  /**
   * How long this process has stood still so far, ms: stopped, or its machine suspended. What came
   * meanwhile is heard after the first check, so that this time is no silence.
   */
  #stoodStillMs = 0;

  constructor(deps: DatacentersDeps) {
    this.#deps = deps;
  }

  /** Rows from a collector of a data center arrived now; undefined = of this node's own. */
  readonly reported = (datacenter = this.#deps.datacenter): void => {
    this.#heard.set(datacenter, this.#now(true));
  };

  /** How long ago rows of data centers arrived here, ms. */
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
   * Rows of a data center are in the log, received then, Unix ms: its member may have died before it
   * said that it heard them.
   */
  readonly heardInLog = (datacenter: string, receivedMs: number): void => {
    this.#hear(datacenter, Math.max(0, this.#deps.clock.now() - receivedMs));
  };

  /** Takes in what other members have heard since: rows of a data center may arrive at any of them. */
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

  /** Its committed state; `live` for one that was never stale. */
  stateOf(datacenter: string): 'live' | 'stale' {
    const row = this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter);
    return row?.value === 'stale' ? 'stale' : 'live';
  }

  /** Every data center that is watched, with its committed state. */
  states(): ReadonlyMap<string, 'live' | 'stale'> {
    return new Map(Array.from(this.#heard.keys(), (name) => [name, this.stateOf(name)]));
  }

  /**
   * Checks every `checkMs` until `signal`. The given data centers, and those that ever reported, are
   * checked from the start on. A start does not count as a report: a stale data center stays stale
   * until rows arrive.
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
    // What another member had last said may be older than the rows that it took before it died.
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
