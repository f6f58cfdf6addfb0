/**
 * Answers with long lists, made in turns. A page of 1,000 transitions takes longer to encode than a
 * turn of the main thread may last; done by the framework, it would be one piece. The bytes are those
 * that the framework would make, but for where JSON has the list.
 */
import {
  create,
  type DescMessage,
  type MessageInitShape,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { ANSWER_BYTES_MAX } from '../http-limits.ts';
import { formatOf, readyAnswer } from './ready-bytes.ts';
import { turnsOf } from './slots.ts';

/** Items that are encoded in one turn: some milliseconds of the largest ones. */
const TURN_ITEMS = 100;

/** One page of a list method. */
export interface ListPage<D extends DescMessage> {
  /** Of the answer. */
  readonly schema: D;
  /** The answer's one repeated field of messages, by its name in TypeScript. */
  readonly field: keyof MessageInitShape<D> & string;
  readonly items: readonly object[];
  readonly nextPageToken: string;
}

/** Return what it returns. Throws a `Refusal` RESPONSE_TOO_LARGE. */
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
    throw new Refusal('RESPONSE_TOO_LARGE', 'The answer exceeds 4 MiB: ask for less');
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

/** Messages of one schema after one another are one message: lists are joined (protobuf, encoding). */
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

/** As the router writes it (`routes.ts`). */
function jsonOf<D extends DescMessage>(schema: D, init: object): unknown {
  return toJson(schema, messageOf(schema, init), { alwaysEmitImplicit: true });
}

/** The fields are those of the page's schema; TypeScript cannot derive that from a computed name. */
function messageOf<D extends DescMessage>(schema: D, init: object) {
  return create(schema, init as MessageInitShape<D>);
}
