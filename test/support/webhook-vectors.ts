/**
 * test/vectors/webhook.json, computed in another language (see webhook.py beside it): the requests
 * that a sender must make, and the results of a receiver for others. The Go module reads the same
 * file.
 */
import { readFileSync } from 'node:fs';

export interface SentVector {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly timestampUnix: number;
  readonly body: string;
  readonly secrets: readonly string[];
  /** All headers that contribute to a signature. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ReceivedVector {
  /** Purpose of the vector. */
  readonly name: string;
  readonly nowUnix: number;
  readonly secrets: readonly string[];
  /** Names and values; a name may occur twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: VectorBody;
  /** Result of a successful verification. */
  readonly verified?: object;
  /** Reason for a refusal. */
  readonly error?: string;
}

type VectorBody =
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly repeated: string; readonly times: number };

export const webhookVectors = JSON.parse(
  readFileSync(new URL('../vectors/webhook.json', import.meta.url), 'utf8'),
) as { readonly sent: readonly SentVector[]; readonly received: readonly ReceivedVector[] };

/** Bytes of a vector's body. */
export function bodyOf({ body }: ReceivedVector): Buffer {
  if ('text' in body) return Buffer.from(body.text);
  if ('base64' in body) return Buffer.from(body.base64, 'base64');
  return Buffer.from(body.repeated.repeat(body.times));
}

/** Headers of a vector as node:http returns them: a repeated name has a list. */
export function headersOf({ headers }: ReceivedVector): Record<string, string | string[]> {
  const all: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const before = all[name];
    all[name] = before === undefined ? value : [before, value].flat();
  }
  return all;
}
