/** A line of a list of facts (`dl.facts`): its name, and what is so. */
import type { ComponentChildren, VNode } from 'preact';

/** Two elements, `dt` and `dd`; only a `dl` may contain it. */
export function Fact(props: {
  readonly title: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <div>
      <dt>{props.title}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
