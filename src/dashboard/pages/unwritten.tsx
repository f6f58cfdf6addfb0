/** Stands for a page that this version does not have; goes when the registry no longer names it. */
import type { VNode } from 'preact';
import { pageTitles, texts } from '../layout/texts.ts';
import { match } from '../router/location.ts';

export function Page(): VNode {
  const page = match.value?.route.page;
  return (
    <>
      <h1>{page && pageTitles[page]}</h1>
      <p>{texts.notBuilt}</p>
    </>
  );
}
