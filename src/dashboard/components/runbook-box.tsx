/** The runbook that the author of a rule provides: a text, a link, or both. */
import type { VNode } from 'preact';
import { texts } from '../messages/en.ts';
import { NoticeBox } from './notice-box.tsx';

export interface RunbookBoxProps {
  /** Empty strings if the rule has none. */
  readonly runbook: { readonly runbookText: string; readonly runbookUrl: string };
}

/** Renders nothing for a rule without a runbook. */
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

/** A link to an external page, in a new tab without access to this one. */
export function OutsideLink({ url }: { readonly url: string }): VNode {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" class="long-name">
      {url}
    </a>
  );
}
