/** Streams for the operator: their content, their number of copies, and changing that number. */
import type {
  StreamCopies,
  StreamDescription,
} from '../../streams/platform/jetstream/stream-copies.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import { COPIES, type Copies, type Stream } from '../../streams/platform/stream.ts';
import type { AdminRoutes } from './admin-server.ts';
import { optionalText } from './operator.ts';

export const STREAMS_PATH = '/v1/streams';

/** A stream. For an embedded one, neither its size nor its consumers are counted. */
export type DisplayedStream = Omit<StreamDescription, 'bytes' | 'consumers'> &
  Partial<Pick<StreamDescription, 'bytes' | 'consumers'>>;

/** Response of `STREAMS_PATH`. */
export interface StreamsAnswer {
  readonly on: 'NATS' | 'SQLite';
  readonly streams: readonly DisplayedStream[];
}

export interface StreamRouteDeps {
  readonly stream: Pick<Stream, 'state'>;
  /** Absent if the streams are embedded. */
  readonly copies?: StreamCopies;
  /** The embedded streams. */
  readonly embedded: readonly { readonly name: string; readonly subjects: readonly string[] }[];
}

export function streamRoutes({ stream, copies, embedded }: StreamRouteDeps): AdminRoutes {
  return {
    async [STREAMS_PATH](_signal, _onProgress, body): Promise<StreamsAnswer> {
      const given = optionalText(body, 'replicas');
      const wanted = given === undefined ? undefined : parseCopies(given);
      if (copies !== undefined) {
        const streams = await (wanted === undefined ? copies.describe() : copies.set(wanted));
        return { on: 'NATS', streams };
      }
      if (wanted !== undefined && wanted !== 1) {
        const where = 'docs/operations/cluster.md describes the move to three nats-servers';
        const message = `The streams are embedded in this process and have one copy: ${where}`;
        throw invalidField('replicas', message);
      }
      const streams = embedded.map(async ({ name, subjects }): Promise<DisplayedStream> => {
        const { messages } = await stream.state(name);
        const one = { wanted: 1, set: 1, current: 1 };
        return { name, subjects, messages, copies: one, followers: [] };
      });
      return { on: 'SQLite', streams: await Promise.all(streams) };
    },
  };
}

function parseCopies(text: string): Copies {
  const found = COPIES.find((copies) => String(copies) === text);
  if (found !== undefined) return found;
  throw invalidField('replicas', `--replicas is ${text}; it must be one of ${COPIES.join(', ')}`);
}
