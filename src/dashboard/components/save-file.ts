/** Saves a file for the user: built here from the page's data and sent nowhere. */
import { serverClock } from '../data/clock.ts';

/** A browser reads the file at once; keeping it longer would waste memory. */
const KEPT_MS = 60_000;

/** Offers the concatenated parts as a file. @param type media type */
export function saveFile(parts: readonly string[], name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  serverClock.wakeAfter(KEPT_MS, () => URL.revokeObjectURL(url));
}
