/**
 * Plain HTTP requests of client commands: sign-in, PromQL, and a CI platform's token endpoint. No
 * redirect is followed, because it would carry the credential on to another host; an answer has a
 * bound in time and in bytes.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { codeFromHttpStatus, errorFromJson } from '@connectrpc/connect/protocol-connect';
import { NoAnswer } from './faults.ts';

export interface PlainRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** One request. Throws `NoAnswer` when none came, or one that is too large. */
export async function askPlainly(request: PlainRequest): Promise<PlainAnswer> {
  const { method, url, headers = {}, body, timeoutMs } = request;
  const { host } = new URL(url);
  try {
    const answer = await fetch(url, {
      ...{ method, headers, redirect: 'manual' },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: answer.status, headers: answer.headers, text: await boundedText(answer) };
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    throw new NoAnswer(`${host} gave no answer: ${causeOf(error)}`);
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new NoAnswer('The answer is too large to be one of ours');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The message leaves the address out: it may hold more than a host. */
function causeOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'the time is over';
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : String(cause);
}

/** The refusal in an answer of a plain route, in the form of an RPC error. */
export function asApiFault({ status, headers, text }: PlainAnswer): Error {
  const fallback = new ConnectError(
    `The service answered HTTP ${status}`,
    codeFromHttpStatus(status),
  );
  try {
    return errorFromJson(JSON.parse(text) as JsonValue, headers, fallback);
  } catch {
    // Not Connect's JSON: a gateway in between answered, and its status says all there is.
    return fallback;
  }
}
