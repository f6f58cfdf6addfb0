/** Lists of the API to their end, page by page. */

export const PAGE_SIZE = 500;

/** Every item of a list, in the list's order. */
export async function everyPage<T>(
  ask: (pageToken: string) => Promise<{
    readonly items: readonly T[];
    /** Empty on the last page. */
    readonly nextPageToken: string;
  }>,
): Promise<T[]> {
  const all: T[] = [];
  let pageToken = '';
  do {
    const { items, nextPageToken } = await ask(pageToken);
    all.push(...items);
    pageToken = nextPageToken;
  } while (pageToken !== '');
  return all;
}
