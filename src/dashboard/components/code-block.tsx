/** Text to paste elsewhere, verbatim, with a copy button. It can be scrolled with the keyboard. */
import type { VNode } from 'preact';
import { CopyButton } from './copy-button.tsx';

/** The text, exactly as it is copied. */
export interface CodeBlockProps {
  /** Accessible name. */
  readonly label: string;
  readonly text: string;
}

/** The text in a scrolling box. */
export function CodeBlock({ label, text }: CodeBlockProps): VNode {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must reach scrolling areas */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} />
    </div>
  );
}
