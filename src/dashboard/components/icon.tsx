/**
 * Icons: lucide nodes rendered by Preact. They are decorative; the adjacent text carries the
 * meaning.
 */

import { h, type VNode } from 'preact';
import type { IconNode } from './icons.ts';

/** An icon as large as the adjacent text, hidden from screen readers. */
export function Icon({ node }: { readonly node: IconNode }): VNode {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {node.map(([tag, attributes]) => h(tag, { ...attributes }))}
    </svg>
  );
}
