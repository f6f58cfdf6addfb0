/**
 * Live changes of incidents: one stream per browser. A browser opens at most six connections to a
 * host (HTTP/1.1), so with one stream per tab the seventh tab would wait forever. Tabs coordinate
 * with a Web Lock: its holder runs the stream and relays it to the others over a BroadcastChannel.
 * Another tab takes the lock when the holder closes or falls silent.
 *
 *     service ──stream──> holder of the lock ──channel──> all tabs, itself included
 *
 * Whenever changes may have been missed (a new stream, a new holder), tabs must list again.
 */
import type { Clock } from './clock.ts';
import type { ResponseOf } from './rpc-types.ts';

/** An incident as returned by lists and by the watch. */
export type Incident = ResponseOf<'AlertService', 'listIncidents'>['incidents'][number];

/** Messages that the holder of the lock relays. */
export type Relayed =
  | { readonly kind: 'changes'; readonly incidents: readonly Incident[] }
  /** Nothing changed. */
  | { readonly kind: 'heartbeat' }
  /** A stream has started: earlier changes may have been missed. */
  | { readonly kind: 'begun' }
  /** The stream broke. */
  | { readonly kind: 'lost' }
  /** From a tab that joins; the holder replies with a heartbeat. */
  | { readonly kind: 'joined' };

/** Longest silence of a working stream, ms; the service sends a heartbeat every 30 s. */
export const SILENCE_MS_MAX = 75_000;
const RECONNECT_MS_MIN = 1_000;
const RECONNECT_MS_MAX = 30_000;

export interface WatchPorts {
  readonly clock: Clock;
  /**
   * One stream: calls `receive` for each message until it ends. Rejects with the reason. The first
   * call confirms that the stream is open.
   */
  readonly stream: (
    signal: AbortSignal,
    receive: (message: { readonly incidents: readonly Incident[] }) => void,
  ) => Promise<void>;
  /** Runs `whileHeld` while this tab holds the lock. `steal` takes it from a silent holder. */
  readonly lock: (
    options: { readonly steal: boolean; readonly signal: AbortSignal },
    whileHeld: (lost: AbortSignal) => Promise<void>,
  ) => Promise<void>;
  /** Sends to the other tabs. */
  readonly relay: (message: Relayed) => void;
}

export interface WatchEvents {
  changed(incidents: readonly Incident[]): void;
  /** Load the list again: changes may have been missed. */
  listAnew(): void;
  /** `live` while changes arrive at once. */
  status(state: 'live' | 'connecting'): void;
}

export interface Watch {
  /** A message relayed by another tab. */
  receive(message: Relayed): void;
  stop(): void;
}

/**
 * Opens the watch in this tab: it follows the relayed stream, and runs the stream when it gets the
 * lock.
 */
export function openWatch(ports: WatchPorts, events: WatchEvents): Watch {
  const stopped = new AbortController();
  let cancelSilence: () => void = () => undefined;
  let isStreaming = false;
  const heard = (message: Relayed): void => {
    if (message.kind === 'joined') {
      if (isStreaming) ports.relay({ kind: 'heartbeat' });
      return;
    }
    cancelSilence();
    cancelSilence = ports.clock.wakeAfter(SILENCE_MS_MAX, onSilence);
    events.status(message.kind === 'lost' ? 'connecting' : 'live');
    if (message.kind === 'changes') events.changed(message.incidents);
    if (message.kind === 'begun') events.listAnew();
  };
  const publish = (message: Relayed): void => {
    isStreaming = message.kind !== 'lost';
    ports.relay(message);
    heard(message);
  };
  let attempt = new AbortController();
  let isSilent = false;
  const onSilence = (): void => {
    events.status('connecting');
    events.listAnew();
    cancelSilence = ports.clock.wakeAfter(SILENCE_MS_MAX, onSilence);
    isSilent = true;
    attempt.abort();
  };
  const compete = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      attempt = new AbortController();
      const steal = isSilent;
      isSilent = false;
      const signal = AbortSignal.any([attempt.signal, stopped.signal]);
      try {
        await ports.lock({ steal, signal }, (lost) =>
          lead(ports, AbortSignal.any([lost, stopped.signal]), publish),
        );
      } catch {
        isStreaming = false;
        // Taken by another tab, or abandoned in order to steal it: this tab follows or requests the
        // lock again.
        if (!isSilent) await elapsed(ports.clock, RECONNECT_MS_MIN, stopped.signal);
      }
    }
  };

  cancelSilence = ports.clock.wakeAfter(SILENCE_MS_MAX, onSilence);
  ports.relay({ kind: 'joined' });
  void compete();
  return {
    receive: heard,
    stop() {
      stopped.abort();
      cancelSilence();
    },
  };
}

/** Runs one stream after another until the lock is lost. */
async function lead(
  ports: WatchPorts,
  lost: AbortSignal,
  publish: (message: Relayed) => void,
): Promise<void> {
  for (let failures = 0; !lost.aborted; failures += 1) {
    const broken = new AbortController();
    let cancel = ports.clock.wakeAfter(SILENCE_MS_MAX, () => broken.abort());
    let hasBegun = false;
    try {
      await ports.stream(AbortSignal.any([lost, broken.signal]), ({ incidents }) => {
        cancel();
        cancel = ports.clock.wakeAfter(SILENCE_MS_MAX, () => broken.abort());
        failures = 0;
        if (!hasBegun) publish({ kind: 'begun' });
        hasBegun = true;
        publish(incidents.length > 0 ? { kind: 'changes', incidents } : { kind: 'heartbeat' });
      });
    } catch {
      // Calls find out why the service is unreachable; this loop only reopens the stream.
    } finally {
      cancel();
    }
    if (lost.aborted) return;
    publish({ kind: 'lost' });
    await elapsed(
      ports.clock,
      Math.min(RECONNECT_MS_MAX, RECONNECT_MS_MIN * 2 ** Math.min(failures, 5)),
      lost,
    );
  }
}

function elapsed(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.wakeAfter(ms, resolve);
    signal.addEventListener(
      'abort',
      () => {
        cancel();
        resolve();
      },
      { once: true },
    );
  });
}
