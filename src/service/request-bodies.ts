/**
 * Reads request bodies before the framework parses them. The framework would decompress and parse
 * each body as it arrives. Here a body is read under its own bound, then the call takes a slot and
 * waits for its turn, and only then is the body decompressed and parsed, again in turns. Eight
 * bodies of 1 MiB of JSON delay a neighbour by one body, not by eight.
 *
 *     read -> slot (a person's: later, when the project is known) -> decompress -> turn -> check -> parse
 */
import type { DescMethod } from '@bufbuild/protobuf';
import { type ConnectRouter, createContextValues } from '@connectrpc/connect';
import {
  type Compression,
  readAllBytes,
  type UniversalHandlerFn,
  type UniversalServerRequest,
} from '@connectrpc/connect/protocol';
import type { IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import { IngestService } from '../gen/svc/ingest/v1/ingest_pb.ts';
import { asConnectError } from '../platform/api/error-mapping.ts';
import { checkNulls } from '../platform/api/json-nulls.ts';
import { bodyBytesMaxOf, requestCompressions } from '../platform/api/message-bytes.ts';
import { type CallSlot, slotOf, takeSlot } from '../platform/api/slots.ts';
import type { ProjectGate } from '../platform/gate/project-gate.ts';
import type { Log } from '../platform/log.ts';
import { takeBodyBytes } from '../telemetry/api/ingest.ts';
import { takeRows } from '../telemetry/api/write-samples-body.ts';

export interface RequestBodyDeps {
  readonly gate: ProjectGate;
  readonly ingestRates: Pick<IngestRates, 'checkBytes' | 'spendBytes' | 'returnBytes'>;
  /** Called with the encoding of each body that cannot be decompressed. */
  readonly recordBrokenBody: (encoding: string) => void;
  readonly log: Log;
}

/** Wraps the handlers registered so far: call it once, before `releaseSlots`. */
export function admitBodies(router: ConnectRouter, deps: RequestBodyDeps): void {
  const compressions = requestCompressions(deps.recordBrokenBody);
  for (const [i, handler] of router.handlers.entries()) {
    const { method } = handler;
    const admitting: UniversalHandlerFn = async (request) => {
      const { body } = request;
      if (!isBytes(body)) return await handler(request);
      const contextValues = request.contextValues ?? createContextValues();
      const slot = () => slotOf(contextValues);
      const isJson = /^application\/(connect\+)?json/.test(
        request.header.get('content-type') ?? '',
      );
      if (method.methodKind !== 'unary') {
        const turned = inTurns(body, deps, slot);
        const checked = isJson ? withCheckedMessage(turned, method) : turned;
        return await handler({ ...request, contextValues, body: checked });
      }
      const compression = compressions.find(
        ({ name }) => name === request.header.get('content-encoding'),
      );
      const prepare = (plain: Uint8Array) => {
        const rest = takesRows(method) ? takeRows(plain, isJson, contextValues) : plain;
        if (isJson) checkNulls(method.input, rest);
        return rest;
      };
      const call = { method, compression, prepare, slot };
      return await handler({
        ...request,
        contextValues,
        header: plainHeaders(request.header, compression),
        body: admitted(deps, { ...call, body, header: request.header }),
      });
    };
    router.handlers[i] = Object.assign(admitting, handler);
  }
}

interface Call {
  readonly method: DescMethod;
  readonly body: AsyncIterable<Uint8Array>;
  /** Headers as sent. */
  readonly header: Headers;
  readonly compression: Compression | undefined;
  /** Checks the plain body. Throws `ConnectError`. @returns the body for the framework's parser */
  readonly prepare: (plain: Uint8Array) => Uint8Array;
  /** Known when the framework begins to read: the gate has admitted the call. */
  readonly slot: () => CallSlot | undefined;
}

/**
 * The headers without those that no longer apply to the body; responses are compressed as if they
 * did.
 */
function plainHeaders(sent: Headers, compression: Compression | undefined): Headers {
  const header = new Headers(sent);
  header.delete('content-length');
  if (!compression) return header;
  header.delete('content-encoding');
  if (!header.has('accept-encoding')) header.set('accept-encoding', compression.name);
  return header;
}

/** The plain body in one piece. Throws `ConnectError`. */
async function* admitted(deps: RequestBodyDeps, call: Call): AsyncIterable<Uint8Array> {
  const slot = call.slot();
  const sent = await readSent(deps, call, slot);
  let plain = sent;
  if (call.compression) {
    plain = await call.compression.decompress(sent, bodyBytesMaxOf(call.method));
    const more = plain.length - sent.length;
    if (slot?.ratedProject !== undefined && more > 0) {
      deps.ingestRates.spendBytes(slot.ratedProject, more);
    }
    // Another thread decompressed it, and the turn is over.
    if (slot?.caller) await deps.gate.turn(slot.caller.tenant);
  }
  if (slot) slot.bodyBytes = Math.max(plain.length, sent.length);
  yield call.prepare(plain);
}

/** Reads the body as sent, and takes the slot of the call. */
async function readSent(
  { gate, ingestRates, log }: RequestBodyDeps,
  { method, body, header }: Call,
  slot: CallSlot | undefined,
): Promise<Uint8Array> {
  const bytesMax = bodyBytesMaxOf(method);
  const length = header.get('content-length');
  const claimed = length === null ? bytesMax : Number(length);
  // Refused by its claimed length, without reading it.
  if (!slot?.caller || claimed > bytesMax) return await readAllBytes(body, bytesMax, length);
  const { caller, kind, ratedProject } = slot;
  const toCallerError = (error: unknown) =>
    slot.toCallerError?.(error) ?? asConnectError(error, method.name, log);
  const underWay = refusing(() => gate.takeBody(caller, kind, claimed), toCallerError);
  try {
    if (ratedProject !== undefined) {
      refusing(() => takeBodyBytes(ingestRates, ratedProject, claimed), toCallerError);
    }
    let came = 0;
    let sent: Uint8Array;
    try {
      sent = await readAllBytes(body, bytesMax, length);
      came = sent.length;
    } finally {
      // Returns the missing bytes of a body that was cut off, and the excess of one of unknown
      // length.
      if (ratedProject !== undefined) ingestRates.returnBytes(ratedProject, claimed - came);
    }
    slot.bodyBytes = came;
    await takeSlot(slot).catch((error: unknown) => {
      throw toCallerError(error);
    });
    return sent;
  } finally {
    underWay.release();
  }
}

function refusing<T>(work: () => T, toCallerError: (error: unknown) => unknown): T {
  try {
    return work();
  } catch (error) {
    throw toCallerError(error);
  }
}

/** The messages of a stream. */
async function* inTurns(
  body: AsyncIterable<Uint8Array>,
  { gate }: RequestBodyDeps,
  slot: () => CallSlot | undefined,
): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    const { caller } = slot() ?? {};
    if (caller) await gate.turn(caller.tenant);
    yield chunk;
  }
}

function isBytes(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** Flags and length before each message of a stream (Connect protocol, "Streaming"). */
const ENVELOPE_BYTES = 5;
const IS_COMPRESSED = 1;

/** The only message that a client sends to a stream of the service, checked and complete. */
async function* withCheckedMessage(
  body: AsyncIterable<Uint8Array>,
  method: DescMethod,
): AsyncIterable<Uint8Array> {
  const bytes = await readAllBytes(body, bodyBytesMaxOf(method) + ENVELOPE_BYTES);
  const isPlain = ((bytes[0] ?? IS_COMPRESSED) & IS_COMPRESSED) === 0;
  if (isPlain) checkNulls(method.input, bytes.subarray(ENVELOPE_BYTES));
  yield bytes;
}

/** True if the method stores the good rows of a body that has bad ones. */
function takesRows(method: DescMethod): boolean {
  return method === IngestService.method.writeSamples;
}
