/**
 * Last known positions of the streams and the secrets on this disk, in a separate file. A log of
 * SQLite that was cut, and a database that was replaced by an older copy, look like one that ends
 * earlier: only a second place shows that acknowledged work is lost. The file is written every few
 * seconds, after the work is on disk, so it is never ahead of it; a loss within the last interval
 * is not found.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from '../../../actors/platform/supervision.ts';
import { SAMPLES_STREAM } from '../../../actors/telemetry/sample-log.ts';
import { readChangeCount } from '../../../sqlite/platform/change-count.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import { pause } from '../../../streams/platform/pause.ts';
import {
  type Stream,
  StreamMisconfigured,
  type StreamState,
} from '../../../streams/platform/stream.ts';

/** Streams that are in the data folder of a service without NATS. */
export const MARKED_STREAMS: readonly string[] = [EVENTS_STREAM, SAMPLES_STREAM];

/** Databases of such a service that count their changes. */
const COUNTING_FILES = ['secrets.db', 'claims.db'] as const;

/** Name of the file in the data folder. */
export const MARKS_FILE = 'acknowledged.json';
const WRITE_MS = 5_000;

/** Identity of a stream or a database, and its last sequence or change. */
interface Mark {
  readonly identity: string;
  readonly last: number;
}

/** By the name of the stream or of the file. */
export type Marks = Readonly<Record<string, Mark>>;

/** A stream that ends before a message that it had acknowledged. */
export interface LostEnd {
  readonly stream: string;
  /** Last sequence now. */
  readonly last: number;
  /** Last sequence that was acknowledged; later ones may be lost too. */
  readonly acknowledged: number;
}

/** Streams that lost their end since the marks were written. */
export async function lostEnds(
  folder: string,
  stream: Stream,
  names: readonly string[],
): Promise<readonly LostEnd[]> {
  const marks = readMarks(folder);
  const lost: LostEnd[] = [];
  for (const name of names) {
    const mark = marks[name];
    if (mark === undefined) continue;
    const state = await stateOf(stream, name);
    if (state?.identity !== mark.identity || state.lastSequence >= mark.last) continue;
    const { lastSequence } = state;
    lost.push({ stream: name, last: lastSequence, acknowledged: mark.last });
  }
  return lost;
}

/** The part that writes the marks, also once at its end. */
export function marksPart(options: {
  readonly folder: string;
  readonly stream: Stream;
  readonly names: readonly string[];
  readonly clock: Clock;
}): Part {
  const { folder, stream, names, clock } = options;
  const path = join(folder, MARKS_FILE);
  let written = '';
  const write = async (): Promise<void> => {
    const entries: [string, Mark][] = [];
    for (const name of names) {
      const { identity, lastSequence: last } = await stream.state(name);
      entries.push([name, { identity, last }]);
    }
    try {
      for (const name of COUNTING_FILES) {
        const path = join(folder, name);
        const count = existsSync(path) ? readChangeCount(path) : undefined;
        if (count !== undefined) entries.push([name, count]);
      }
      const text = `${JSON.stringify(Object.fromEntries(entries))}\n`;
      if (text === written) return;
      // Not synced: after a power loss an older file, or none, is right as well.
      writeFileSync(path, text, { mode: 0o600 });
      written = text;
    } catch {
      // A full or failed disk, which other parts report. An older mark is right as well.
    }
  };
  return {
    name: 'marks',
    async run(signal) {
      while (!signal.aborted) {
        await write();
        await pause(clock, WRITE_MS, signal);
      }
      await write();
    },
  };
}

/** undefined: the stream is missing, which the start reports. */
async function stateOf(stream: Stream, name: string): Promise<StreamState | undefined> {
  try {
    return await stream.state(name);
  } catch (error) {
    if (error instanceof StreamMisconfigured) return undefined;
    throw error;
  }
}

/** Empty if the folder has no marks, or if a power loss left them unfinished. */
export function readMarks(folder: string): Marks {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, MARKS_FILE), 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Marks) : {};
  } catch {
    return {};
  }
}
