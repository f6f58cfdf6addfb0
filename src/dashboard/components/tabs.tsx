/** Tabs following the WAI-ARIA pattern: arrow keys move between tabs and open them. */
import type { ComponentChildren, VNode } from 'preact';
import { useId, useRef } from 'preact/hooks';

export interface Tab {
  readonly key: string;
  readonly title: ComponentChildren;
}

export interface TabsProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly open: string;
  readonly onOpen: (key: string) => void;
  /** Panel of the open tab. */
  readonly children: ComponentChildren;
}

export function Tabs({ label, tabs, open, onOpen, children }: TabsProps): VNode {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (to: number): void => {
    const tab = tabs.at(to % tabs.length);
    if (tab === undefined) return;
    onOpen(tab.key);
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(tab.key)}"]`)?.focus();
  };
  const at = tabs.findIndex(({ key }) => key === open);
  return (
    <div class="tabs">
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        onKeyDown={({ key }) => {
          if (key === 'ArrowRight') move(at + 1);
          if (key === 'ArrowLeft') move(at - 1);
          if (key === 'Home') move(0);
          if (key === 'End') move(tabs.length - 1);
        }}
      >
        {tabs.map(({ key, title }) => (
          <button
            key={key}
            type="button"
            role="tab"
            id={`${id}-${key}`}
            data-tab={key}
            aria-selected={key === open}
            aria-controls={`${id}-panel`}
            tabIndex={key === open ? 0 : -1}
            onClick={() => onOpen(key)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${open}`}>
        {children}
      </div>
    </div>
  );
}
