/**
 * Last-used times of credentials, updated in memory on each request and written in one batch every
 * five minutes. A kill loses the last minutes, but no request waits for a disk.
 */
import type { LastUsedStore } from '../../../sqlite/platform/secrets/secret-store.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import type { Log } from '../../platform/log.ts';

export interface LastUsed {
  record(credential: string): void;
  /** Unix ms; undefined = never used. */
  of(credential: string): number | undefined;
  /** Writes the pending times, and stops. */
  close(): void;
}

/** Coarse by design (KEY-05). */
const FLUSH_MS = 5 * 60_000;

export function createLastUsed(options: {
  readonly store: LastUsedStore;
  readonly clock: Clock;
  readonly log: Log;
}): LastUsed {
  const { store, clock, log } = options;
  const noted = new Map<string, number>();
  let cancel: CancelWakeUp | undefined;

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    if (noted.size === 0) return;
    try {
      store.record([...noted].map(([credential, atMs]) => ({ credential, atMs })));
      noted.clear();
    } catch (error) {
      // The times stay in memory, so the next flush writes them.
      log.warn({ err: error }, 'The last-used times of keys could not be written');
    }
  };
  return {
    record: (credential) => {
      noted.set(credential, clock.now());
      cancel ??= clock.wakeAfter(FLUSH_MS, flush);
    },
    of: (credential) => noted.get(credential) ?? store.get(credential),
    close: flush,
  };
}
