/** Around a list: the rows that wait above it, and how to get more below it. */
import type { VNode } from 'preact';
import type { Listing } from '../data/pages.ts';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatCount } from '../messages/format.ts';

/** `3 new`: rows wait until somebody asks for them, because moving rows make one miss the click. */
export function NewRows({ count, onShow }: { count: number; onShow: () => void }): VNode {
  return (
    <div class="new-rows" role="status">
      {count > 0 && (
        <button type="button" class="quiet" onClick={onShow}>
          {texts.table.fresh(count)}
        </button>
      )}
    </div>
  );
}

export interface ListFootProps {
  readonly listing: Listing<unknown>;
  readonly isLoading: boolean;
  readonly onMore: () => void;
}

/** How many rows are here; `Load more`, or `Search on` after ten pages. */
export function ListFoot({ listing, isLoading, onMore }: ListFootProps): VNode {
  const { items, nextPageToken, isSearchStopped } = listing;
  const isWhole = nextPageToken === '';
  const text = formatCount(items.length, format.value);
  const count = isWhole ? texts.table.rows(items.length, text) : texts.table.rowsSoFar(text);
  return (
    <div class="list-foot">
      <span class="weak">
        {count} {isSearchStopped && texts.table.searchedSoFar}
      </span>
      {!isWhole && (
        <button type="button" class="quiet" aria-disabled={isLoading} onClick={onMore}>
          {isSearchStopped ? texts.table.searchOn : texts.table.loadMore}
        </button>
      )}
    </div>
  );
}
