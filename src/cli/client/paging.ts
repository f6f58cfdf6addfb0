/** Lists of the API: all items, or one page at a time. */
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import type { ActionContext } from './action.ts';
import type { Option } from './arguments.ts';
import { UsageError } from './faults.ts';
import { printMessage } from './output.ts';

const PAGE_SIZE = 500;

/** Paging fields of a list request. */
interface RequestedPage {
  readonly pageSize: number;
  /** '' for the first page. */
  readonly pageToken: string;
}

/** All items of a list, in order. */
export async function everyItem<A extends { readonly nextPageToken: string }, T>(
  ask: (page: RequestedPage) => Promise<A>,
  itemsOf: (answer: A) => readonly T[],
): Promise<T[]> {
  const all: T[] = [];
  let pageToken = '';
  do {
    const answer = await ask({ pageSize: PAGE_SIZE, pageToken });
    all.push(...itemsOf(answer));
    pageToken = answer.nextPageToken;
  } while (pageToken !== '');
  return all;
}

const ITEMS_DEFAULT = 50;

/** Options of an action that prints one page. */
export const pageOptions: readonly Option[] = [
  { name: 'page-size', takes: 'N', help: `At most this many; default ${ITEMS_DEFAULT}` },
  {
    name: 'page-token',
    takes: 'TOKEN',
    help: 'Token of the next page, from an earlier response',
  },
];

/** The requested page. Throws `UsageError`. */
export function requestedPage({ input }: Pick<ActionContext, 'input'>): RequestedPage {
  const pageSize = input.number('page-size') ?? ITEMS_DEFAULT;
  if (Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 1000) {
    return { pageSize, pageToken: input.text('page-token') ?? '' };
  }
  throw new UsageError(`--page-size must be a whole number from 1 to 1000, not ${pageSize}`);
}

/** Prints one page and reports how to get the next. Returns the exit code of success. */
export function printPage<D extends DescMessage>(
  context: ActionContext,
  schema: D,
  answer: MessageShape<D> & { readonly nextPageToken: string },
  text: () => string,
): number {
  const { nextPageToken } = answer;
  const code = printMessage(context, schema, answer as MessageShape<D>, text);
  if (!context.json && nextPageToken) context.report(`More results: --page-token ${nextPageToken}`);
  return code;
}
