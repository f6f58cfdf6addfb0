/**
 * Answers whose bytes are made elsewhere. Making JSON of 50,000 points takes 90 ms; done by the
 * framework, it would stop the thread that takes samples in. So such a handler has its bytes made
 * in a query thread, hands them over here and returns an empty message, and they take the place of
 * that message's bytes. Everything else (access, limits, errors, headers) stays the framework's.
 */
import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import {
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from '@connectrpc/connect';
import {
  compressionNegotiate,
  createAsyncIterable,
  type UniversalHandlerFn,
  type UniversalServerRequest,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { COMPRESSIONS } from './message-bytes.ts';

interface Slot {
  bytes?: Uint8Array<ArrayBuffer>;
}

const slotKey = createContextKey<Slot | undefined>(undefined, { description: 'bytes made' });

/** Shorter answers are not worth compressing: what the framework does by default. */
const COMPRESSED_BYTES_MIN = 1024;

/** The format in which the caller wants the answer, as the framework has understood it. */
export function formatOf({ responseHeader }: HandlerContext): 'json' | 'binary' {
  return responseHeader.get('content-type') === 'application/proto' ? 'binary' : 'json';
}

/**
 * Answers with these bytes: return what it returns. They must be a message of the schema in the
 * format of `formatOf`, of at most 4 MiB. Throws an Error when `passReadyBytes` was not called: a
 * bug.
 */
export function readyAnswer<D extends DescMessage>(
  context: HandlerContext,
  schema: D,
  bytes: Uint8Array<ArrayBuffer>,
): MessageShape<D> {
  const slot = context.values.get(slotKey);
  if (!slot) throw new Error('Bytes were made for a handler that cannot pass them on');
  slot.bytes = bytes;
  return create(schema);
}

/** Puts itself around the handlers registered so far: call it after them, and once. */
export function passReadyBytes(router: ConnectRouter): void {
  for (const [i, handler] of router.handlers.entries()) {
    const passing: UniversalHandlerFn = async (request) => {
      const slot: Slot = {};
      const contextValues = request.contextValues ?? createContextValues();
      contextValues.set(slotKey, slot);
      const response = await handler({ ...request, contextValues });
      if (slot.bytes === undefined || response.status !== 200) return response;
      return await withBytes(request, response, slot.bytes);
    };
    router.handlers[i] = Object.assign(passing, handler);
  }
}

async function withBytes(
  { header: asked }: UniversalServerRequest,
  response: UniversalServerResponse,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<UniversalServerResponse> {
  const header = new Headers(response.header);
  header.delete('content-encoding');
  const compression = compressionNegotiate(
    [...COMPRESSIONS],
    asked.get('content-encoding'),
    asked.get('accept-encoding'),
    'accept-encoding',
  ).response;
  let body: Uint8Array = bytes;
  if (compression && bytes.byteLength >= COMPRESSED_BYTES_MIN) {
    body = await compression.compress(bytes);
    header.set('content-encoding', compression.name);
  }
  header.set('content-length', String(body.byteLength));
  return { ...response, header, body: createAsyncIterable([body]) };
}
