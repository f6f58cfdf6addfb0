/**
 * Whether the service can be reached, seen from every call and from the watch. The banner shows it:
 * while it lasts, all that is on the page is from before.
 */
import { signal } from '@preact/signals';
import { serverClock } from './clock.ts';

/** Since when the service cannot be reached, Unix ms; undefined while it can. */
export const disconnectedSinceMs = signal<number | undefined>(undefined);

/** Notified by whoever spoke with the service, or tried to. */
export const connection = {
  reached(): void {
    disconnectedSinceMs.value = undefined;
  },
  lost(): void {
    disconnectedSinceMs.value ??= serverClock.now();
  },
};
