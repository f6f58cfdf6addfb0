/**
 * The last hand on every answer: the position in the log for callers who were let in, and a reason
 * on the errors that the framework makes by itself. It reads and parses a body before any interceptor runs, so malformed
 * JSON, wrong types and too much data would leave without one, some of them with a status that is
 * kept for "back off" (429). Done on the handlers' responses, the only place they all pass.
 */
import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type UniversalHandlerFn,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import {
  codeToHttpStatus,
  errorFromJsonBytes,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { ErrorInfoSchema } from '../../gen/svc/options/v1/error_pb.ts';
import { toConnectError } from '../errors.ts';
import { type Positions, SEQUENCE_HEADER } from '../http/sequence.ts';
import type { Log } from '../log.ts';
import { callerKey } from './caller.ts';
import { parseProblem } from './field-path.ts';
import { bodyBytesMaxOf, decompressed, readBytes } from './message-bytes.ts';

/** Puts itself around every handler registered so far: call it once, after the last. */
export function tellResponses(
  router: ConnectRouter,
  {
    positions,
    log,
  }: {
    readonly positions: Positions;
    readonly log: Log;
  },
): void {
  for (const [i, handler] of router.handlers.entries()) {
    const { method } = handler;
    const told: UniversalHandlerFn = async (request) => {
      const contextValues = request.contextValues ?? createContextValues();
      const response = await handler({ ...request, contextValues });
      const answer = await withReason(response, { request, method, log });
      // After the work, so that a change that it made is within the position.
      if (contextValues.get(callerKey)) answer.header?.set(SEQUENCE_HEADER, positions.current());
      // Secrets are in some, and what may be read ends with the caller's access in all.
      answer.header?.set('cache-control', 'no-store');
      return answer;
    };
    router.handlers[i] = Object.assign(told, handler);
  }
}

interface Call {
  readonly request: UniversalServerRequest;
  readonly method: DescMethod;
  readonly log: Log;
}

async function withReason(
  response: UniversalServerResponse,
  call: Call,
): Promise<UniversalServerResponse> {
  const { status, body, header = new Headers() } = response;
  if (status === 200) return response;
  if (status === 405) return notAllowed(call);
  if (status === 415) return unsupportedType(call);
  if (!body) return response;
  const bytes = await readBytes(body);
  const plain = await decompressed(bytes, header.get('content-encoding'));
  const error = errorFromJsonBytes(plain, undefined, new ConnectError('', Code.Unknown));
  const isOurs = error.details.some(
    (detail) => 'type' in detail && detail.type === ErrorInfoSchema.typeName,
  );
  const refusal = isOurs ? undefined : refusalOf(error, call);
  if (!refusal) return { ...response, body: createAsyncIterable([bytes]) };
  // Nobody reads the rest of a body of unknown length: the connection would stay open with it.
  const isUnread = refusal.reason === 'REQUEST_TOO_LARGE' && isOfUnknownLength(call.request);
  if (isUnread) header.set('connection', 'close');
  return errorResponse(toConnectError(refusal), header);
}

function isOfUnknownLength({ header }: UniversalServerRequest): boolean {
  return header.get('content-length') === null;
}

/** The framework's own error as a refusal of the catalogue; undefined where none fits. */
function refusalOf(
  { code, rawMessage }: ConnectError,
  { request, method, log }: Call,
): Refusal | undefined {
  switch (code) {
    case Code.ResourceExhausted:
      return rawMessage.includes('writeMaxBytes')
        ? new Refusal('RESPONSE_TOO_LARGE', 'The answer exceeds 4 MiB: ask for less')
        : new Refusal('REQUEST_TOO_LARGE', `The request body exceeds ${bodySizeMaxOf(method)}`);
    case Code.InvalidArgument: {
      const { field, message } = parseProblem(rawMessage, method.input);
      return new Refusal('INVALID_FIELD', message, field === undefined ? {} : { field });
    }
    case Code.DeadlineExceeded:
      return new Refusal('QUERY_TIMEOUT', 'The time that the request allowed has passed');
    case Code.Internal:
      // Bytes that are no message of this type: the framework calls it its own fault.
      if (rawMessage.startsWith('parse binary: ')) {
        return new Refusal('INVALID_FIELD', 'The body is not a message of this method, in binary');
      }
      // Nobody is there to read an answer, and none of it is a fault of ours.
      if (request.signal.aborted) return new Refusal('INVALID_FIELD', 'The body broke off');
      // What a handler throws was logged where it was caught; this one is told nowhere else.
      log.error({ method: method.name, detail: rawMessage }, 'A call was answered with a 500');
      return undefined;
    default:
      return undefined;
  }
}

function bodySizeMaxOf(method: DescMethod): string {
  const kib = bodyBytesMaxOf(method) / 1024;
  return kib < 1024 ? `${kib} KiB` : `${kib / 1024} MiB`;
}

function notAllowed({ request, method }: Call): UniversalServerResponse {
  const message = `${method.name} takes POST, not ${request.method}`;
  const error = new ConnectError(message, Code.Unimplemented);
  return { ...errorResponse(error, new Headers({ allow: 'POST' })), status: 405 };
}

function unsupportedType({ request }: Call): UniversalServerResponse {
  const seen = request.header.get('content-type')?.slice(0, 100) ?? 'missing';
  const message = `Content-Type is ${seen}: send application/json or application/proto`;
  const refusal = new Refusal('INVALID_FIELD', message, { field: 'Content-Type' });
  return { ...errorResponse(toConnectError(refusal), new Headers()), status: 415 };
}

function errorResponse(error: ConnectError, before: Headers): UniversalServerResponse {
  const body = errorToJsonBytes(error, undefined);
  const header = new Headers(before);
  header.delete('content-encoding');
  header.set('content-type', 'application/json');
  header.set('content-length', String(body.byteLength));
  for (const [name, value] of error.metadata) header.set(name, value);
  return { status: codeToHttpStatus(error.code), header, body: createAsyncIterable([body]) };
}
