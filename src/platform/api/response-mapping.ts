/**
 * Completes every response: adds the position in the log for admitted callers, and a reason to
 * errors that the framework itself makes. The framework reads and parses a body before any
 * interceptor runs, so malformed JSON, wrong types and large bodies would get no reason, and some
 * the status for "back off" (429). The handlers' responses are the only place that all responses
 * pass.
 */
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
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
import { bodyBytesMaxOf, decompressed, readBytes } from './message-bytes.ts';

/** Wraps every handler registered so far; call it once, after the last registration. */
export function completeResponses(
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
    const complete: UniversalHandlerFn = async (request) => {
      const contextValues = request.contextValues ?? createContextValues();
      const response = await handler({ ...request, contextValues });
      const answer = await withReason(response, { request, method, log });
      // After the work, so that the position covers the call's own change; a write has set its own.
      if (contextValues.get(callerKey) && !answer.header?.has(SEQUENCE_HEADER)) {
        answer.header?.set(SEQUENCE_HEADER, positions.current());
      }
      // Some answers hold secrets, and every response depends on the caller's current access.
      answer.header?.set('cache-control', 'no-store');
      return answer;
    };
    router.handlers[i] = Object.assign(complete, handler);
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
  // The rest of a body of unknown length stays unread, so the connection cannot be reused.
  const isUnread = refusal.reason === 'REQUEST_TOO_LARGE' && isOfUnknownLength(call.request);
  if (isUnread) header.set('connection', 'close');
  return errorResponse(toConnectError(refusal), header);
}

function isOfUnknownLength({ header }: UniversalServerRequest): boolean {
  return header.get('content-length') === null;
}

/** The framework's own error as a refusal of the catalogue; undefined if none fits. */
function refusalOf(
  { code, rawMessage }: ConnectError,
  { request, method, log }: Call,
): Refusal | undefined {
  switch (code) {
    case Code.ResourceExhausted:
      return rawMessage.includes('writeMaxBytes')
        ? new Refusal('RESPONSE_TOO_LARGE', 'The response exceeds 4 MiB: request less')
        : new Refusal('REQUEST_TOO_LARGE', `The request body exceeds ${bodySizeMaxOf(method)}`);
    case Code.InvalidArgument: {
      const { field, message } = parseProblem(rawMessage, method.input);
      return new Refusal('INVALID_FIELD', message, field === undefined ? {} : { field });
    }
    case Code.DeadlineExceeded:
      return new Refusal('QUERY_TIMEOUT', "The request's deadline has passed");
    case Code.Internal:
      // Bytes that are not a message of this type. The framework calls this an internal error.
      if (rawMessage.startsWith('parse binary: ')) {
        return new Refusal('INVALID_FIELD', 'The body is not a message of this method, in binary');
      }
      // The client disconnected: no one reads the response, and it is not a fault of ours.
      if (request.signal.aborted) return new Refusal('INVALID_FIELD', 'The body was cut off');
      // Handlers' errors were logged where they were caught; this one is logged nowhere else.
      log.error({ method: method.name, detail: rawMessage }, 'A call failed with status 500');
      return new Refusal('INTERNAL', 'Internal error; the service log has the cause');
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
  const error = toConnectError(new Refusal('METHOD_NOT_ALLOWED', message));
  return { ...errorResponse(error, new Headers({ allow: 'POST' })), status: 405 };
}

function unsupportedType({ request }: Call): UniversalServerResponse {
  const seen = request.header.get('content-type')?.slice(0, 100) ?? 'missing';
  const message = `Content-Type is ${seen}: send application/json or application/proto`;
  const refusal = new Refusal('UNSUPPORTED_MEDIA_TYPE', message);
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

/** The fault that the parser found, in the caller's terms; `field` absent = the body as a whole. */
export interface ParseProblem {
  readonly field?: string;
  readonly message: string;
}

/** The parser's message about a body that should have been an `input`. */
function parseProblem(sentence: string, input: DescMessage): ParseProblem {
  const [, enumType, value = ''] = /enum ([\w.]+) from JSON: (.*)$/s.exec(sentence) ?? [];
  const enumField = enumType && find(input, (each) => each.enum?.typeName === enumType);
  if (enumField) return enumProblem(enumField, value);
  const [, type, name] = /field ([\w.]+)\.(\w+) from JSON/.exec(sentence) ?? [];
  const found = find(input, (each) => each.parent.typeName === type && each.name === name);
  const key = found?.path ?? /key "([^"]{1,100})"/.exec(sentence)?.[1];
  const message = sentence.replace(/svc\.[a-z]+\.v1\./g, '').slice(0, 500);
  return key === undefined ? { message } : { field: key, message };
}

interface Found {
  readonly field: DescField;
  readonly path: string;
}

function enumProblem({ field, path }: Found, value: string): ParseProblem {
  const known = field.enum?.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return {
    field: path,
    message: `${path} is ${value.slice(0, 100)}: send one of ${known?.join(', ')}`,
  };
}

/** The first field that fits, breadth before depth; our messages do not contain themselves. */
function find(
  message: DescMessage,
  fits: (field: DescField) => boolean,
  prefix = '',
): Found | undefined {
  const field = message.fields.find(fits);
  if (field) return { field, path: prefix + field.jsonName };
  for (const each of message.fields) {
    const inner = each.message && find(each.message, fits, `${prefix}${each.jsonName}.`);
    if (inner) return inner;
  }
  return undefined;
}
