/** Hands a file to the person who asked for it: made here, of what the page has, and sent nowhere. */
import { serverClock } from '../data/clock.ts';

/** A browser reads the file at once; afterwards it would only take memory. */
const KEPT_MS = 60_000;

/** Offers the parts, one after the other, as a file. @param type media type */
export function saveFile(parts: readonly string[], name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  serverClock.wakeAfter(KEPT_MS, () => URL.revokeObjectURL(url));
}
