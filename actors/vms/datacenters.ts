/**
 * Watches whether a data center's collectors still report. Only the data center's own state is
 * committed (live or stale); whether one VM's telemetry is fresh follows from its last observation
 * and now. A stale data center's history stays readable and is never presented as live.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Host } from '../platform/host/host-port.ts';
import { isRetryable } from '../platform/retryable.ts';

export interface DatacentersDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** Silence after which a data center is stale: 3 sampling intervals, ms. */
  readonly silenceMs: number;
  /** A change of state that could not be committed now: the next check tries again. */
  readonly onLost?: (error: unknown) => void;
}

/** When rows of a data center were last received; before the first, since when they could be. */
interface Heard {
  /** Elapsed time, ms. */
  readonly elapsedMs: number;
  /** Unix ms. */
  readonly atMs: number;
  readonly reported: boolean;
}

export class Datacenters {
  readonly #deps: DatacentersDeps;
  readonly #heard = new Map<string, Heard>();
  /** Judged at every start, whether or not they were ever heard. */
  #given: ReadonlySet<string> = new Set();

  constructor(deps: DatacentersDeps) {
    this.#deps = deps;
  }

  /** Rows from a collector of this data center arrived now. */
  reported(datacenter: string): void {
    this.#heard.set(datacenter, this.#now(true));
  }

  #now(reported: boolean): Heard {
    const { clock } = this.#deps;
    return { elapsedMs: clock.elapsed(), atMs: clock.now(), reported };
  }

  /** Its committed state; `live` also for one that has never been seen stale. */
  stateOf(datacenter: string): 'live' | 'stale' {
    const row = this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter);
    return row?.value === 'stale' ? 'stale' : 'live';
  }

  /**
   * Checks every `checkMs` until `signal`. The given data centers, and those that ever reported, are
   * judged from the start on, but a start is no report: one that was stale stays so until rows
   * arrive.
   */
  async run(datacenters: readonly string[], checkMs: number, signal: AbortSignal): Promise<void> {
    this.#given = new Set(datacenters);
    for (const datacenter of [...datacenters, ...this.#committed()]) {
      if (!this.#heard.has(datacenter)) this.#heard.set(datacenter, this.#now(false));
    }
    while (!signal.aborted) {
      for (const [datacenter, last] of this.#heard) await this.#check(datacenter, last);
      await pause(this.#deps.clock, checkMs, signal);
    }
  }

  /** Of all others the first report is committed: a restart must not forget that they exist. */
  #isRemembered(datacenter: string): boolean {
    if (this.#given.has(datacenter)) return true;
    return this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter) !== undefined;
  }

  #committed(): string[] {
    const view = this.#deps.host.view(SYSTEM_PROJECT);
    const found: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const page = view.instances('datacenter', { limit: 1000, ...(after && { after }) });
      found.push(...page.items.map(({ instance }) => instance));
      after = page.next;
      more = after !== undefined;
    }
    return found;
  }

  async #check(datacenter: string, last: Heard): Promise<void> {
    const silentMs = this.#deps.clock.elapsed() - last.elapsedMs;
    const state = silentMs > this.#deps.silenceMs ? 'stale' : 'live';
    if (state === 'live' && !last.reported) return;
    if (state === this.stateOf(datacenter) && this.#isRemembered(datacenter)) return;
    try {
      await this.#commit(datacenter, state, last.atMs);
    } catch (error) {
      // The next check commits it: the state is derived each time.
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
