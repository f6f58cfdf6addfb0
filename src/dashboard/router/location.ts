/**
 * The address bar as signals, based on the history API: path, query and the matching page. Pages
 * read filters from `query` and write them with `setQuery`, so that a reload or a shared link shows
 * the same.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { matchPath } from './match.ts';

const address = signal(new URL(window.location.href));

/** For example, `/projects/demo/vms`. */
export const path: ReadonlySignal<string> = computed(() => address.value.pathname);

/**
 * Query parameters; read-only.
 * @public
 */
export const query: ReadonlySignal<URLSearchParams> = computed(() => address.value.searchParams);

/** The route of the path with its parameters; undefined if there is no such page. */
export const match = computed(() => matchPath(path.value));

/**
 * Origin of the service for programs: on plain http of one machine, the pages have a name under
 * `.localhost`, which only browsers resolve.
 */
export function programOrigin(): string {
  return window.location.origin.replace(/\/\/[\w-]+\.localhost/, '//127.0.0.1');
}

/** Calls `listener` after each change of page, but not after changes of the query only. */
export function onPageChange(listener: () => void): () => void {
  let before = path.peek();
  return path.subscribe((now) => {
    if (now === before) return;
    before = now;
    listener();
  });
}

/** Navigates to a path of this origin, such as `/projects/demo/vms?state=RUNNING`. */
export function navigate(target: string, options: { readonly replace?: boolean } = {}): void {
  const url = new URL(target, window.location.href);
  if (url.origin !== window.location.origin) throw new Error(`${target} is not of this service`);
  // A second click on a link must not require a second press of the back button.
  const isSame = url.href === window.location.href;
  if (options.replace || isSame) window.history.replaceState(null, '', url);
  else window.history.pushState(null, '', url);
  address.value = url;
}

/**
 * Changes query parameters and keeps the others; `undefined` removes one. It replaces the history
 * entry: the back button leaves the page rather than undoing input in a filter.
 * @public
 */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const url = new URL(address.peek());
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  navigate(url.href, { replace: true });
}

/** Handles the back button and clicks on links to dashboard pages; call once. */
export function startRouter(): void {
  window.addEventListener('popstate', () => {
    address.value = new URL(window.location.href);
  });
  document.addEventListener('click', (event) => {
    const target = pageOfClick(event);
    if (!target) return;
    event.preventDefault();
    navigate(target.href);
  });
}

/** Undefined if the browser should handle the click: a new tab, a download, another site. */
function pageOfClick(event: MouseEvent): URL | undefined {
  if (event.defaultPrevented || event.button !== 0) return undefined;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link?.href || link.target !== '' || link.hasAttribute('download')) return undefined;
  const url = new URL(link.href);
  const { origin, pathname, search } = window.location;
  if (url.origin !== origin || !matchPath(url.pathname)) return undefined;
  // A link within the page only scrolls.
  const isWithin = url.pathname === pathname && url.search === search && url.hash !== '';
  return isWithin ? undefined : url;
}
