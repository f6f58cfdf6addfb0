/**
 * Watches whether a data center's collectors still report. Only the data center's own state is
 * committed (live or stale); whether one VM's telemetry is fresh follows from its last observation
 * and now. A stale data center's history stays readable and is never presented as live.
 */
import type { Clock } from '../streams/clock.ts';
import { SYSTEM_PROJECT } from '../streams/commit/commit.ts';
import { pause } from '../streams/pause.ts';
import { StreamUnavailable } from '../streams/stream.ts';
import type { Host } from './host-port.ts';

export interface DatacentersDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** Silence after which a data center is stale: 3 sampling intervals, ms. */
  readonly silenceMs: number;
}

export class Datacenters {
  readonly #deps: DatacentersDeps;
  /** Elapsed time (ms) and calendar time of the last rows received, by data center. */
  readonly #reported = new Map<string, { elapsedMs: number; atMs: number }>();

  constructor(deps: DatacentersDeps) {
    this.#deps = deps;
  }

  /** Rows from a collector of this data center arrived now. */
  reported(datacenter: string): void {
    const { clock } = this.#deps;
    this.#reported.set(datacenter, { elapsedMs: clock.elapsed(), atMs: clock.now() });
  }

  /** Its committed state; `live` also for one that has never been seen stale. */
  stateOf(datacenter: string): 'live' | 'stale' {
    const row = this.#deps.host.view(SYSTEM_PROJECT).instance('datacenter', datacenter);
    return row?.value === 'stale' ? 'stale' : 'live';
  }

  /** Checks every `checkMs` until `signal`; the given data centers are judged from the start on. */
  async run(datacenters: readonly string[], checkMs: number, signal: AbortSignal): Promise<void> {
    for (const datacenter of datacenters) this.reported(datacenter);
    while (!signal.aborted) {
      for (const [datacenter, last] of this.#reported) await this.#check(datacenter, last);
      await pause(this.#deps.clock, checkMs, signal);
    }
  }

  async #check(datacenter: string, last: { elapsedMs: number; atMs: number }): Promise<void> {
    const silentMs = this.#deps.clock.elapsed() - last.elapsedMs;
    const state = silentMs > this.#deps.silenceMs ? 'stale' : 'live';
    if (state === this.stateOf(datacenter)) return;
    try {
      await this.#commit(datacenter, state, last.atMs);
    } catch (error) {
      // The next check commits it: the state is derived anew each time.
      if (!(error instanceof StreamUnavailable)) throw error;
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
        const event =
          state === 'stale' ? { type: 'silenceNoticed', sinceMs } : { type: 'reported' };
        draft.send('datacenter', datacenter, { ...event, at });
      },
    });
  }
}
