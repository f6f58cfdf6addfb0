/** A box with a message about the page: a shape and a word besides its colour. */

import type { ComponentChildren, VNode } from 'preact';
import { Icon } from './icon.tsx';
import { CircleAlert, CircleCheck, CircleX, Info, TriangleAlert } from './icons.ts';

export type Tone = 'info' | 'good' | 'warning' | 'error' | 'unknown';

const icons = {
  info: Info,
  good: CircleCheck,
  warning: TriangleAlert,
  error: CircleX,
  unknown: CircleAlert,
};

export interface NoticeBoxProps {
  readonly tone: Tone;
  readonly title: ComponentChildren;
  /** What to do next. */
  readonly children?: ComponentChildren;
  /** Buttons. */
  readonly actions?: ComponentChildren;
  /** How a screen reader announces it: `alert` at once, `status` at the next pause. */
  readonly announce?: 'alert' | 'status';
}

export function NoticeBox(props: NoticeBoxProps): VNode {
  const { tone, title, children, actions, announce } = props;
  return (
    <div class={`notice ${tone}`} {...(announce && { role: announce })}>
      <Icon node={icons[tone]} />
      <div class="notice-text">
        <strong>{title}</strong>
        {children !== undefined && <div>{children}</div>}
      </div>
      {actions !== undefined && <div class="notice-actions">{actions}</div>}
    </div>
  );
}
