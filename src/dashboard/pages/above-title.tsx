/** The link above the title of a page: the list to which it belongs. */
import type { VNode } from 'preact';
import { pageTitles } from '../layout/texts.ts';
import { pathOf } from '../router/match.ts';

export interface AboveTitleProps {
  /** The page of the list. */
  readonly list: keyof typeof pageTitles;
  readonly project: string;
}

export function AboveTitle({ list, project }: AboveTitleProps): VNode {
  return (
    <p class="above-title">
      <a href={pathOf(list, { project })}>{pageTitles[list]}</a>
    </p>
  );
}
