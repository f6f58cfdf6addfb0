/** Text to be pasted elsewhere, as it is, with a button that copies it. It scrolls by keyboard too. */
import type { VNode } from 'preact';
import { CopyButton } from './copy-button.tsx';

/** The text, exactly as it is copied. */
export interface CodeBlockProps {
  /** Read out as its name. */
  readonly label: string;
  readonly text: string;
}

/** The text in a box that scrolls. */
export function CodeBlock({ label, text }: CodeBlockProps): VNode {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </section>
      <CopyButton text={text} />
    </div>
  );
}
