/**
 * A client of a streamed call on the wire: Connect's envelopes in JSON over an HTTP request of its
 * own. A test sees when bytes arrive, may stop reading, and sees how the stream ended.
 */
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { fromBinary } from '@bufbuild/protobuf';
import { ErrorInfoSchema } from '../../src/gen/svc/options/v1/error_pb.ts';

export interface StreamEnd {
  /** Undefined: it ended without an error. `CUT_OFF`: the connection was cut. */
  readonly reason: string | undefined;
  readonly message: string;
}

export interface OpenStream {
  readonly status: number;
  // Messages are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of one method's messages
  readonly messages: any[];
  /** Resolves when this many messages have arrived. */
  received(count: number): Promise<void>;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<StreamEnd>;
  /** Pauses and resumes reading from the socket. */
  pause(): void;
  resume(): void;
  close(): void;
}

const END = 0b10;

/** Calls `path` and resolves once the headers of the answer arrive. Rejects if there are none. */
export async function openStream(
  url: string,
  path: string,
  message: object,
  headers: Readonly<Record<string, string>>,
): Promise<OpenStream> {
  const sent = request(new URL(path, url), {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/connect+json', ...headers },
  });
  sent.end(envelope(0, JSON.stringify(message)));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const messages: unknown[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const wake = (): void => {
    for (const one of waiting) if (messages.length >= one.count) one.resolve();
  };
  const ended = new Promise<StreamEnd>((resolve) => {
    let read = Buffer.alloc(0);
    response.on('data', (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
      for (let end = endOf(read); end <= read.length; end = endOf(read)) {
        const body = JSON.parse(read.subarray(5, end).toString() || '{}');
        if (((read[0] ?? 0) & END) !== 0) resolve(endReported(body));
        else messages.push(body);
        read = read.subarray(end);
      }
      wake();
    });
    response.on('close', () => resolve({ reason: 'CUT_OFF', message: '' }));
    response.on('error', () => resolve({ reason: 'CUT_OFF', message: '' }));
  });
  return {
    status: response.statusCode ?? 0,
    messages,
    received: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        wake();
      }),
    ended,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  };
}

function envelope(flags: number, text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** End of the first envelope; infinite while its length is unknown. */
function endOf(read: Buffer): number {
  return read.length < 5 ? Number.POSITIVE_INFINITY : 5 + read.readUInt32BE(1);
}

interface EndMessage {
  readonly error?: { readonly message?: string; readonly details?: { readonly value: string }[] };
}

function endReported({ error }: EndMessage): StreamEnd {
  const value = error?.details?.[0]?.value;
  const info = value && fromBinary(ErrorInfoSchema, Buffer.from(value, 'base64'));
  return { reason: info ? info.reason : undefined, message: error?.message ?? '' };
}
