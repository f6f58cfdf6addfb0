/**
 * Responses that are encoded outside the framework, byte for byte as the framework would encode
 * them. A page of 1,000 transitions takes longer to encode than a turn of the main thread may last,
 * so long lists are encoded in slices. Other responses arrive as bytes from a query thread.
 */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
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
import { Refusal } from '../../../streams/platform/refusal.ts';
import { ANSWER_BYTES_MAX } from '../http-limits.ts';
import { COMPRESSIONS } from './message-bytes.ts';
import { turnsOf } from './slots.ts';

/** Items encoded in one turn, which takes a few milliseconds for the largest ones. */
const TURN_ITEMS = 100;

/** One page of a list method. */
export interface ListPage<D extends DescMessage> {
  /** Schema of the response. */
  readonly schema: D;
  /** Name in TypeScript of the response's one repeated field of messages. */
  readonly field: keyof MessageInitShape<D> & string;
  readonly items: readonly object[];
  readonly nextPageToken: string;
}

/** Return its result from the handler. Throws a `Refusal` RESPONSE_TOO_LARGE. */
export async function listAnswer<D extends DescMessage>(
  context: HandlerContext,
  page: ListPage<D>,
) {
  const turn = turnsOf(context);
  const { schema, items, nextPageToken } = page;
  const parts = formatOf(context) === 'json' ? jsonParts : binaryParts;
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < items.length; from += TURN_ITEMS) {
    await turn();
    chunks.push(parts.slice(page, items.slice(from, from + TURN_ITEMS), from === 0));
  }
  chunks.push(parts.end(page, nextPageToken, items.length === 0));
  const bytes = Buffer.concat(chunks);
  if (bytes.length > ANSWER_BYTES_MAX) {
    throw new Refusal('RESPONSE_TOO_LARGE', 'The response exceeds 4 MiB: request less');
  }
  return readyAnswer(context, schema, bytes);
}

interface Parts {
  readonly slice: <D extends DescMessage>(
    page: ListPage<D>,
    items: readonly object[],
    isFirst: boolean,
  ) => Uint8Array;
  readonly end: <D extends DescMessage>(
    page: ListPage<D>,
    nextPageToken: string,
    isEmpty: boolean,
  ) => Uint8Array;
}

/**
 * Concatenated messages of one schema are one message whose lists are joined (protobuf, encoding).
 */
const binaryParts: Parts = {
  slice: ({ schema, field }, items) => toBinary(schema, messageOf(schema, { [field]: items })),
  end: ({ schema }, nextPageToken) => toBinary(schema, messageOf(schema, { nextPageToken })),
};

const jsonParts: Parts = {
  slice({ schema, field }, items, isFirst) {
    const list = Object(jsonOf(schema, { [field]: items }))[field];
    const text = JSON.stringify(list).slice(1, -1);
    return Buffer.from(isFirst ? `{${JSON.stringify(field)}:[${text}` : `,${text}`);
  },
  end({ schema, field }, nextPageToken, isEmpty) {
    const { [field]: list, ...rest } = Object(jsonOf(schema, { nextPageToken }));
    const text = `],${JSON.stringify(rest).slice(1)}`;
    return Buffer.from(isEmpty ? `{${JSON.stringify(field)}:[${text}` : text);
  },
};

/** JSON as the router writes it (`routes.ts`). */
function jsonOf<D extends DescMessage>(schema: D, init: object): unknown {
  return toJson(schema, messageOf(schema, init), { alwaysEmitImplicit: true });
}

/** The fields are those of the page's schema; TypeScript cannot derive that from a computed name. */
function messageOf<D extends DescMessage>(schema: D, init: object) {
  return create(schema, init as MessageInitShape<D>);
}

interface Slot {
  bytes?: Uint8Array<ArrayBuffer>;
}

const slotKey = createContextKey<Slot | undefined>(undefined, { description: 'ready bytes' });

/** Shorter responses are not worth compressing; the framework's default. */
const COMPRESSED_BYTES_MIN = 1024;

/** The requested format, as the framework has parsed it. */
export function formatOf({ responseHeader }: HandlerContext): 'json' | 'binary' {
  return responseHeader.get('content-type') === 'application/proto' ? 'binary' : 'json';
}

/**
 * Responds with these bytes: return this function's result from the handler. They must be a message
 * of the schema in the format of `formatOf`, of at most 4 MiB. Throws an Error if `passReadyBytes`
 * was not called, which is a bug.
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

/** Wraps the handlers registered so far: call it once, after them. */
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
  { header: requested }: UniversalServerRequest,
  response: UniversalServerResponse,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<UniversalServerResponse> {
  const header = new Headers(response.header);
  header.delete('content-encoding');
  const compression = compressionNegotiate(
    [...COMPRESSIONS],
    requested.get('content-encoding'),
    requested.get('accept-encoding'),
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
