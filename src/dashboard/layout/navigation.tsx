/**
 * Links to the pages of the open project, grouped by area. Pages that the role may not open are
 * left out.
 */
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useShortcuts } from '../components/shortcuts.ts';
import { mayDo, projectId, role } from '../data/projects.ts';
import { texts as componentTexts } from '../messages/en.ts';
import { match, navigate, path } from '../router/location.ts';
import { pathOf } from '../router/match.ts';
import { type PageName, routes } from '../routes.ts';
import { pageTitles, texts } from './texts.ts';

/** One line per area. A subpage, such as one incident, highlights the main page of its area. */
const rooms: readonly (readonly PageName[])[] = [
  ['overview'],
  ['vms'],
  ['incidents', 'alertInstances', 'alertRules', 'maintenanceWindows'],
  ['deliveries', 'destinations'],
  ['ciConnections'],
  ['machines', 'audit'],
  ['members', 'serviceAccounts'],
  ['notices', 'limits'],
];

/** Also false while the role is unknown and the page requires more than read access. */
function mayOpen(page: PageName): boolean {
  return mayDo(routes.find((route) => route.page === page)?.role ?? 'OWNER');
}

export function Navigation(): VNode | null {
  const list = useRef<HTMLElement>(null);
  const project = projectId.value;
  const goTo = (page: PageName) => () => {
    if (project !== undefined) navigate(pathOf(page, { project }));
  };
  const { shortcut } = componentTexts;
  useShortcuts([
    { keys: 'g i', name: shortcut.incidents, run: goTo('incidents') },
    { keys: 'g v', name: shortcut.vms, run: goTo('vms') },
    { keys: 'g r', name: shortcut.alertRules, run: goTo('alertRules') },
  ]);
  // On narrow screens the links are one scrolling line; keep the open page visible.
  const open = path.value;
  // Links appear once the role is known.
  const known = role.value;
  useEffect(() => {
    const link = open === '' ? null : list.current?.querySelector('[aria-current], .above');
    if (link) reveal(link, list.current);
  }, [open, known]);
  if (project === undefined) return null;
  const displayed = rooms
    .map((pages) => pages.filter((page) => mayOpen(page)))
    .filter((pages) => pages.length > 0);
  return (
    <nav ref={list} class="navigation" aria-label={texts.navigation}>
      {displayed.map((pages) => (
        <ul key={pages[0]}>
          {pages.map((page) => (
            <li key={page}>
              <PageLink page={page} project={project} />
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

/**
 * Scrolls `frame` until `link` is visible. `scrollIntoView` would also move the point from which the
 * first Tab of a document starts, so that a keyboard user would begin behind the skip link.
 */
function reveal(link: Element, frame: HTMLElement | null): void {
  if (frame === null) return;
  const at = link.getBoundingClientRect();
  const within = frame.getBoundingClientRect();
  frame.scrollBy({
    left: at.left + at.width / 2 - (within.left + within.width / 2),
    top: Math.min(0, at.top - within.top) + Math.max(0, at.bottom - within.bottom),
  });
}

function PageLink({ page, project }: { readonly page: PageName; readonly project: string }): VNode {
  const path = pathOf(page, { project });
  const open = match.value?.route;
  const isOpen = open?.page === page;
  const isAbove = page !== 'overview' && isBelow(open, page);
  return (
    <a href={path} {...(isOpen && { 'aria-current': 'page' })} {...(isAbove && { class: 'above' })}>
      {pageTitles[page]}
    </a>
  );
}

/** A verification has its own path but belongs to connections. */
function isBelow(open: { page: PageName; path: string } | undefined, page: PageName): boolean {
  if (open?.page === 'ciVerification') return page === 'ciConnections';
  const above = routes.find((route) => route.page === page)?.path;
  return open?.path.startsWith(`${above}/`) === true;
}
