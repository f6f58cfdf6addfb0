/** A button that opens a list of further actions, based on the browser's own popover. */

import type { ComponentChildren, VNode } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { texts } from '../messages/en.ts';
import { Icon } from './icon.tsx';
import { Ellipsis } from './icons.ts';

/** One action of a menu. */
export interface MenuItem {
  readonly key: string;
  readonly title: ComponentChildren;
  readonly run: () => void;
  /** Why the item is disabled now. */
  readonly blocked?: string | undefined;
}

/** The button and its list. Arrow keys move between items. */
export function Menu({ label = texts.more, items }: { label?: string; items: MenuItem[] }): VNode {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (step: number): void => {
    const buttons = [...(list.current?.querySelectorAll('button') ?? [])];
    const at = buttons.findIndex((button) => button.matches(':focus'));
    buttons.at((at + step) % buttons.length)?.focus();
  };
  return (
    <span class="menu">
      <button type="button" class="quiet square" aria-label={label} popovertarget={id}>
        <Icon node={Ellipsis} />
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        onToggle={({ newState }) => {
          if (newState === 'open') move(1);
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
          event.preventDefault();
          move(event.key === 'ArrowDown' ? 1 : -1);
        }}
      >
        {items.map(({ key, title, run, blocked }) => (
          <button
            key={key}
            type="button"
            role="menuitem"
            class="bare"
            aria-disabled={blocked !== undefined}
            onClick={() => {
              if (blocked !== undefined) return;
              list.current?.hidePopover();
              run();
            }}
          >
            {title}
            {blocked !== undefined && <small class="effect">{blocked}</small>}
          </button>
        ))}
      </div>
    </span>
  );
}
