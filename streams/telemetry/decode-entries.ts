/** Entries of the SAMPLES log with their places, and the operator that decodes them. */
import { map, type OperatorFunction } from 'rxjs';
import type { LogEntry } from './entry.ts';
import { decodeEntry } from './entry-codec.ts';

/** An entry as its source has it: the stored bytes, or decoded already. */
export interface LoggedEntry {
  /** Position in the stream. */
  readonly sequence: number;
  readonly partition: number;
  /** When the stream stored it, Unix ms. */
  readonly storedMs: number;
  readonly entry: LogEntry | Uint8Array;
}

/** A decoded entry with its place. */
export interface PlacedEntry extends LoggedEntry {
  readonly entry: LogEntry;
}

/** Decodes stored bytes. Fails with `DamagedBytes` when they are anything but what was encoded. */
export function decodeEntries(): OperatorFunction<LoggedEntry, PlacedEntry> {
  return map(decoded);
}

/** The entry, decoded. Throws `DamagedBytes`. */
export function decoded(logged: LoggedEntry): PlacedEntry {
  const { sequence, partition, storedMs, entry } = logged;
  if (!(entry instanceof Uint8Array)) return { sequence, partition, storedMs, entry };
  return { sequence, partition, storedMs, entry: decodeEntry(entry) };
}
