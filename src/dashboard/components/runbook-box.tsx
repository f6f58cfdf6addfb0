/** What the author of a rule says is to be done when it fires: a text, a link, or both. */
import type { VNode } from 'preact';
import { texts } from '../messages/en.ts';
import { NoticeBox } from './notice-box.tsx';

export interface RunbookBoxProps {
  /** '' = the rule has none. */
  readonly runbook: { readonly runbookText: string; readonly runbookUrl: string };
}

/** Nothing for a rule without one. */
export function RunbookBox({ runbook }: RunbookBoxProps): VNode | null {
  const { runbookText: text, runbookUrl: url } = runbook;
  if (text === '' && url === '') return null;
  return (
    <NoticeBox tone="info" title={texts.runbook.title}>
      {text !== '' && <span class="runbook-text">{text}</span>}
      {url !== '' && <OutsideLink url={url} />}
    </NoticeBox>
  );
}

/** A page of somebody else, in a tab of its own, which learns nothing of this one. */
export function OutsideLink({ url }: { readonly url: string }): VNode {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" class="long-name">
      {url}
    </a>
  );
}
