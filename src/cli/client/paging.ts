/** Lists of the API: all items, or one page at a time. */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { ActionContext } from './action.ts';
import type { Api } from './api.ts';
import type { Option } from './arguments.ts';
import { UsageError } from './faults.ts';

const PAGE_SIZE = 500;

/** Paging fields of a list request. */
interface RequestedPage {
  readonly pageSize: number;
  /** '' for the first page. */
  readonly pageToken: string;
}

/** All items of a list, in order, from every page. @param field of the response that holds them */
export async function everyItem<
  I extends DescMessage,
  O extends DescMessage,
  F extends keyof MessageShape<O>,
>(
  api: Api,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  field: F,
): Promise<MessageShape<O>[F]> {
  const all: unknown[] = [];
  let pageToken = '';
  do {
    const page: RequestedPage = { pageSize: PAGE_SIZE, pageToken };
    const answer = await api.call(method, { ...request, ...page });
    all.push(...(answer[field] as readonly unknown[]));
    pageToken = nextTokenOf(answer);
  } while (pageToken !== '');
  return all as MessageShape<O>[F];
}

/** Token of the next page; '' in the last one, and in a response without pages. */
export function nextTokenOf(answer: object): string {
  return 'nextPageToken' in answer ? String(answer.nextPageToken) : '';
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
