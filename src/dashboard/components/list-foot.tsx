/** Around a list: pending new rows above it, and a way to load more below it. */
import type { VNode } from 'preact';
import type { ListLoader } from '../data/listing.ts';
import { format } from '../data/preferences.ts';
import { texts } from '../messages/en.ts';
import { formatCount } from '../messages/format.ts';

/** `3 new`: new rows wait for a click, because moving rows cause misclicks. */
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

/** Number of loaded rows, with `Load more`, or `Continue searching` after ten pages. */
export function ListFoot<T>({ of: list }: { readonly of: ListLoader<T> }): VNode | null {
  const { value, isLoading } = list.state.value;
  if (value === undefined) return null;
  const { items, nextPageToken, isSearchStopped } = value;
  const isWhole = nextPageToken === '';
  const text = formatCount(items.length, format.value);
  const count = isWhole ? texts.table.rows(items.length, text) : texts.table.rowsSoFar(text);
  return (
    <div class="list-foot">
      <span class="weak">
        {count} {isSearchStopped && texts.table.searchedSoFar}
      </span>
      {!isWhole && (
        <button type="button" class="quiet" aria-disabled={isLoading} onClick={list.more}>
          {isSearchStopped ? texts.table.searchOn : texts.table.loadMore}
        </button>
      )}
    </div>
  );
}
