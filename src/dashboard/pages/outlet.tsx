/**
 * The open page: loads its module, moves focus and title to it, and says what to do if the module
 * is missing (after an update of the service) or fails.
 */
import { signal } from '@preact/signals';
import { Component, type ComponentChildren, type VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { PROGRAM, pageTitles, texts } from '../layout/texts.ts';
import { match, onPageChange, path } from '../router/location.ts';
import { pathOf } from '../router/match.ts';
import type { PageName } from '../routes.ts';
import type { PageComponent, PageModule } from './page.ts';
import { pageModules } from './registry.ts';

const loaded = signal<ReadonlyMap<PageName, PageComponent | 'missing'>>(new Map());

async function load(page: PageName): Promise<void> {
  const Page = await componentOf(page).catch(() => 'missing' as const);
  loaded.value = new Map(loaded.value).set(page, Page);
}

async function componentOf<Name extends PageName>(page: Name): Promise<PageComponent> {
  const module: PageModule<Name> = await pageModules[page]();
  return 'Page' in module ? module.Page : module[page];
}

/** @param focusId element that receives the focus when the page changes, as with a new document */
export function Outlet({ focusId }: { readonly focusId: string }): VNode {
  const open = match.value;
  const page = open?.route.page;
  useEffect(() => {
    document.title = page === undefined ? PROGRAM : `${pageTitles[page]} · ${PROGRAM}`;
    if (page !== undefined && !loaded.value.has(page)) void load(page);
  }, [page]);
  useEffect(
    () =>
      onPageChange(() => {
        window.scrollTo(0, 0);
        document.getElementById(focusId)?.focus();
      }),
    [focusId],
  );
  if (!open || page === undefined) return <NoSuchPage />;
  const Page = loaded.value.get(page);
  if (Page === undefined) return <p class="loading">{texts.loading}</p>;
  if (Page === 'missing') return <PageMissing />;
  return (
    <Guard key={path.value}>
      <Page parameters={open.parameters} />
    </Guard>
  );
}

function NoSuchPage(): VNode {
  return (
    <>
      <h1>{texts.noSuchPage}</h1>
      <p>
        {texts.noSuchPageHelp} <a href={pathOf('home')}>{texts.home}</a>
      </p>
    </>
  );
}

function PageMissing(): VNode {
  return (
    <div role="alert">
      <h1>{texts.pageMissing}</h1>
      <p>{texts.pageMissingHelp}</p>
      <Reload />
    </div>
  );
}

function Reload(): VNode {
  return (
    <button type="button" onClick={() => window.location.reload()}>
      {texts.reload}
    </button>
  );
}

/** A page that throws does not affect the frame and its navigation. */
class Guard extends Component<{ readonly children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(error: unknown): void {
    window.reportError(error);
  }

  override render(): ComponentChildren {
    if (!this.state.failed) return this.props.children;
    return (
      <div role="alert">
        <h1>{texts.pageFailed}</h1>
        <p>{texts.pageFailedHelp}</p>
        <Reload />
      </div>
    );
  }
}
