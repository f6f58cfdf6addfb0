/**
 * Calls of the API from the command line, based on the generated descriptors. A call is retried
 * only if that is harmless: it changes nothing, or it has a request id and is resent unchanged. The
 * outcome of a change without a response is never guessed.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  getOption,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { codeFromHttpStatus, errorFromJson } from '@connectrpc/connect/protocol-connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { pause } from '../../../streams/platform/pause.ts';
import { policy } from '../../gen/svc/options/v1/policy_pb.ts';
import { SCHEMA_VERSION, SCHEMA_VERSION_HEADER } from '../../platform/http/schema-version.ts';
import { programVersion } from '../../platform/version.ts';
import {
  certificateProblem,
  DEFAULT_RETRIES,
  isRepeatable,
  isUnreached,
  isUntrusted,
  isWithoutAnswer,
  networkCodeOf,
  type RetryRule,
  retryWaitMs,
} from '../../sdk/retry.ts';
import type { ClientPorts } from '../command.ts';
import type { Access } from './access.ts';
import { NoAnswer } from './faults.ts';

export interface ApiOptions {
  readonly access: Access;
  readonly clock: ClientPorts['clock'];
  /** Timeout of one attempt, ms. */
  readonly timeoutMs: number;
  /** Called with a message before a call is retried. */
  readonly onAgain: (sentence: string) => void;
}

/** On a terminal, an unreachable service is reported at once. */
export const RETRIES: RetryRule = { ...DEFAULT_RETRIES, waitsForAbsent: false };
/**
 * Maximum response size, bytes. Responses are at most 4 MiB; anything larger is not from this
 * service.
 */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** The API, for one caller at one endpoint. */
export class Api {
  readonly access: Access;
  readonly #options: ApiOptions;
  readonly #transport: Transport;
  /** True if a change was made or may have been made. */
  #mayHaveChanged = false;

  constructor(options: ApiOptions) {
    this.access = options.access;
    this.#options = options;
    this.#transport = createConnectTransport({
      baseUrl: options.access.endpoint,
      httpVersion: '1.1',
      useBinaryFormat: false,
      readMaxBytes: ANSWER_BYTES_MAX,
    });
  }

  /**
   * One call. Throws `ConnectError` for a refusal by the service, `NoAnswer` without a response.
   */
  async call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    // Created once: a retry sends the same message, including its request id.
    const message = create(method.input, request);
    const mayRepeat = isRepeatable(method, message);
    let isSent = false;
    for (let tries = 1; ; tries++) {
      try {
        const answer = await this.#once(method, message as MessageInitShape<I>);
        this.#mayHaveChanged ||= isChange(method);
        return answer;
      } catch (error) {
        isSent ||= mayHaveArrived(error);
        this.#mayHaveChanged ||= isSent && isChange(method);
        const waitMs = mayRepeat ? retryWaitMs(error, tries, RETRIES) : undefined;
        if (waitMs === undefined) throw this.#asFault(error, method, { message, isSent });
        this.#options.onAgain(`${whatHappened(error)}; retrying the same request`);
        await pause(this.#options.clock, waitMs);
      }
    }
  }

  async #once<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageInitShape<I>,
  ): Promise<MessageShape<O>> {
    const { access, timeoutMs } = this.#options;
    const headers = {
      ...access.headers(),
      'user-agent': `svc/${programVersion}`,
      [SCHEMA_VERSION_HEADER]: String(SCHEMA_VERSION),
    };
    try {
      const answer = await this.#transport.unary(method, undefined, timeoutMs, headers, message);
      access.recordCookies(answer.header.getSetCookie());
      return answer.message;
    } catch (error) {
      if (error instanceof ConnectError) access.recordCookies(error.metadata.getSetCookie());
      throw error;
    }
  }

  #asFault(
    error: unknown,
    method: DescMethodUnary,
    { message, isSent }: { readonly message: object; readonly isSent: boolean },
  ): unknown {
    if (!(error instanceof ConnectError && isWithoutAnswer(error))) return error;
    const { endpoint } = this.#options.access;
    const sentence = `${endpoint} did not respond: ${whatHappened(error)}`;
    const { requestId } = message as { requestId?: string };
    if (!this.#mayHaveChanged && isUnreached(error)) return new NoAnswer(sentence, SERVICE_AWAY);
    if (!requestId || !isSent) return new NoAnswer(sentence);
    return new NoAnswer(
      sentence,
      `It is unknown whether ${method.name} was applied. Run the same command with\n` +
        `--request-id ${requestId}. A request id is never applied twice.\n` +
        'Do not use a new id.',
    );
  }
}

/** What to do if the service did not receive the request. */
export const SERVICE_AWAY =
  'Nothing was changed. Check that the service is running ("svc serve", "systemctl status svc"),\n' +
  'and check its address: --endpoint or SVC_ENDPOINT';

function isChange(method: DescMethodUnary): boolean {
  return getOption(method, policy).mutation;
}

/** False if the request was refused or could not be delivered. */
function mayHaveArrived(error: unknown): boolean {
  if (!(error instanceof ConnectError) || !isWithoutAnswer(error)) return false;
  return !isUnreached(error) && !isUntrusted(error);
}

function whatHappened(error: unknown): string {
  if (!(error instanceof ConnectError)) return String(error);
  const code = networkCodeOf(error);
  if (isUnreached(error)) return `connection refused or host unreachable (${code})`;
  if (code !== undefined) return certificateProblem(code) ?? `the connection failed (${code})`;
  if (error.code === Code.DeadlineExceeded) return 'the timeout (--timeout) expired';
  return error.rawMessage;
}

export interface PlainRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs: number;
  /** What to do if the address is unreachable. */
  readonly ifUnreached?: string;
}

export interface PlainAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One request. Throws `NoAnswer` without a response, or if the response is too large. */
export async function askPlainly(request: PlainRequest): Promise<PlainAnswer> {
  const { method, url, headers = {}, body, timeoutMs } = request;
  const { host } = new URL(url);
  try {
    const answer = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: answer.status, headers: answer.headers, text: await boundedText(answer) };
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    const cause = causeOf(error);
    const hint = cause === 'ECONNREFUSED' ? request.ifUnreached : undefined;
    throw new NoAnswer(`${host} did not respond: ${cause}`, hint);
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX)
      throw new NoAnswer('The response is larger than any response of this service');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The message omits the address, which may contain more than a host. */
function causeOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'the request timed out';
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause) {
    return certificateProblem(String(cause.code)) ?? String(cause.code);
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/** The refusal in the response of a plain route, as an RPC error. */
export function asApiFault({ status, headers, text }: PlainAnswer): Error {
  const fallback = new ConnectError(
    `The service responded with HTTP ${status}`,
    codeFromHttpStatus(status),
  );
  try {
    return errorFromJson(JSON.parse(text) as JsonValue, headers, fallback);
  } catch {
    // Not Connect's JSON: a gateway responded, and only its status is useful.
    return fallback;
  }
}
