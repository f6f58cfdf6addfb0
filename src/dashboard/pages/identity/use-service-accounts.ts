/** The service accounts of a project, for their page and for selections elsewhere. */
import { read } from '../../data/call.ts';
import { type ListLoader, useListing } from '../../data/listing.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';

export type Account = ResponseOf<
  'AutomationService',
  'listServiceAccounts'
>['serviceAccounts'][number];

/** Maximum page size of a list. */
const PAGE_ROWS = 1_000;
/** Reading a whole list stops after ten pages. */
const ROWS_MAX = 10 * PAGE_ROWS;

/** All accounts except deleted ones. */
export function useServiceAccounts(projectName: string, pollSeconds?: number): ListLoader<Account> {
  return useListing<Account>(
    `service accounts ${projectName}`,
    async (pageToken, options) => {
      const request = { projectName, pageSize: PAGE_ROWS, pageToken };
      const answer = await read('AutomationService', 'listServiceAccounts', request, options);
      const items = answer.serviceAccounts.filter(({ state }) => state !== 'DELETED');
      return { items, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS_MAX, ...(pollSeconds !== undefined && { pollSeconds }) },
  );
}
