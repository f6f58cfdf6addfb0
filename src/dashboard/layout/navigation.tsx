/** Links to the pages of the open project, by rooms; pages that the role may not open are left out. */
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useShortcuts } from '../components/shortcuts.ts';
import { mayDo, projectId, role } from '../data/projects.ts';
import { texts as componentTexts } from '../messages/en.ts';
import { match, navigate, path } from '../router/location.ts';
import { pathOf } from '../router/match.ts';
import { type PageName, routes } from '../routes.ts';
import { pageTitles, texts } from './texts.ts';

/** One line for each room; a page below another, such as one incident, marks its room's page. */
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

/** False as well while the role is not known and the page needs more than to read. */
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
  // Above the page the links are one line, which scrolls: the open page is in sight.
  const open = path.value;
  // Links appear with the role that may open their pages.
  const known = role.value;
  useEffect(() => {
    const link = open === '' ? null : list.current?.querySelector('[aria-current], .above');
    if (link) reveal(link, list.current);
  }, [open, known]);
  if (project === undefined) return null;
  const shown = rooms
    .map((pages) => pages.filter((page) => mayOpen(page)))
    .filter((pages) => pages.length > 0);
  return (
    <nav ref={list} class="navigation" aria-label={texts.navigation}>
      {shown.map((pages) => (
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

/** A verification leads to a connection, and has a path of its own. */
function isBelow(open: { page: PageName; path: string } | undefined, page: PageName): boolean {
  if (open?.page === 'ciVerification') return page === 'ciConnections';
  const above = routes.find((route) => route.page === page)?.path;
  return open?.path.startsWith(`${above}/`) === true;
}
