/** One entry of a list of facts (`dl.facts`): a name and its value. */
import type { ComponentChildren, VNode } from 'preact';

/** Two elements, `dt` and `dd`; only a `dl` may contain them. */
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
