/**
 * Pages of lists. A page token is the position after which the next page begins, not an offset, so
 * that it stays valid while rows are added and removed. Tokens are opaque to callers and checked
 * when they return.
 */

import type { HandlerContext } from '@connectrpc/connect';
import type { Host, Instance, ListOptions } from '../../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../../machines/audit/registry.ts';
import {
  foreignToken,
  type PageReader,
  pageToken,
  parsePageToken,
} from '../../../streams/platform/commit/page.ts';
import type { Page } from '../../../streams/platform/commit/projection.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { within } from './caller.ts';
import { type Collection, parseName, parseProjectName } from './resource-name.ts';
import { turnsOf } from './slots.ts';

const PAGE_SIZE_DEFAULT = 50;
const PAGE_SIZE_MAX = 1000;

/**
 * Page size in rows. Throws INVALID_FIELD for a negative size; a larger one is cut to the maximum.
 */
function pageSize(requested: number): number {
  if (requested < 0) {
    throw new Refusal(
      'INVALID_FIELD',
      `pageSize is ${requested}: send 1 to ${PAGE_SIZE_MAX}, or 0 for ${PAGE_SIZE_DEFAULT}`,
      {
        field: 'pageSize',
      },
    );
  }
  return requested === 0 ? PAGE_SIZE_DEFAULT : Math.min(requested, PAGE_SIZE_MAX);
}

/** The position in a token; undefined for the first page. Throws INVALID_FIELD. */
function positionOf(kind: string, token: string): string | undefined {
  if (token === '') return undefined;
  const [of, position] = parsePageToken(token, ['string', 'string']);
  if (of !== kind) throw foreignToken();
  return String(position);
}

/** The page parameters of a list method. */
interface RequestedPage {
  readonly pageSize: number;
  /** '' = the first page. */
  readonly pageToken: string;
}

/** Page of a response. */
interface AnsweredPage<T> {
  readonly items: T[];
  /** '' on the last page. */
  readonly nextPageToken: string;
}

/**
 * Most rows that one page of a filtered list reads: it must end even if the filter matches nothing.
 */
const LOOKED_AT_MAX = 1_000;
/**
 * Rows read in one turn of the main thread, which takes a few milliseconds for the largest ones.
 */
const TURN_ROWS = 100;

/**
 * A page of the rows that a filter keeps (`undefined` = left out). It reads pages of the list until
 * it has found enough rows, each page as large as what is still missing, so that a token is always
 * the position of the last row read. After 1,000 rows the page ends as it is, with a token.
 *
 * @param kind keeps the tokens of lists apart; includes the filter if a token is valid for that
 * filter alone
 * @param turn awaited before every hundred rows except the first; nothing read is held open
 * meanwhile
 */
export async function collect<T>(
  kind: string,
  request: RequestedPage,
  read: PageReader<T | undefined>,
  turn: () => Promise<void>,
): Promise<AnsweredPage<T>> {
  let after = positionOf(kind, request.pageToken);
  const limit = pageSize(request.pageSize);
  const items: T[] = [];
  let lookedAt = 0;
  do {
    if (lookedAt > 0) await turn();
    const rows = Math.min(limit - items.length, TURN_ROWS);
    const page = read({ limit: rows, ...(after === undefined ? {} : { after }) });
    items.push(...page.items.filter((item) => item !== undefined));
    lookedAt += Math.max(page.items.length, 1);
    after = page.next;
  } while (after !== undefined && items.length < limit && lookedAt < LOOKED_AT_MAX);
  return { items, nextPageToken: after === undefined ? '' : pageToken([kind, after]) };
}

/** The same page with its items mapped; `undefined` = left out by a filter. */
export function mapPage<A, B>(page: Page<A>, map: (item: A) => B): Page<B> {
  return { ...page, items: page.items.map(map) };
}

/** A page of the machine's instances that are not final, oldest first. */
export async function listRows<M extends MachineName>(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  machine: M,
  request: RequestedPage & { readonly projectName: string },
): Promise<AnsweredPage<Instance<M>>> {
  const project = within(context, parseProjectName('projectName', request.projectName));
  const read = (options: ListOptions) =>
    host.view(project).instances(machine, { ...options, final: false });
  return await collect(machine, request, read, turnsOf(context));
}

/** The named instance. Throws a `Refusal`: PROJECT_BOUNDARY, NOT_FOUND (a deleted one too). */
export function findRow<M extends MachineName>(
  host: Pick<Host, 'view'>,
  context: HandlerContext,
  {
    machine,
    name,
    collection,
    field = 'name',
  }: { machine: M; name: string; collection: Collection; field?: string },
): Instance<M> {
  const { project, id } = parseName(field, name, collection);
  const found = host.view(within(context, project)).instance(machine, id);
  if (!found || found.value === 'deleted') throw new Refusal('NOT_FOUND', `There is no ${name}`);
  return found;
}
