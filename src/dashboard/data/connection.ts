/**
 * Whether the service is reachable, according to all calls and the watch. The banner shows it:
 * while disconnected, all data on the page is old.
 */
import { signal } from '@preact/signals';
import { serverClock } from './clock.ts';

/** Unix ms since when the service is unreachable; undefined while it is reachable. */
export const disconnectedSinceMs = signal<number | undefined>(undefined);

/** Notified by every caller of the service, on success and on failure. */
export const connection = {
  reached(): void {
    disconnectedSinceMs.value = undefined;
  },
  lost(): void {
    disconnectedSinceMs.value ??= serverClock.now();
  },
};
