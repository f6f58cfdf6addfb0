/**
 * A dialog based on the browser's own element: it traps the focus, makes the rest inert, closes on
 * Escape and returns the focus. Without `onClose` it stays open whatever key is pressed: browsers
 * let a page refuse the first Escape, but the second one always closes the dialog.
 */

import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { texts } from '../messages/en.ts';
import { Icon } from './icon.tsx';
import { X } from './icons.ts';

/** Title, content and buttons; only `isOpen` opens and closes the dialog. */
export interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** If absent, only the content can close the dialog. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
  /** Buttons at the bottom, the most likely one last. */
  readonly actions?: ComponentChildren;
}

/** A modal dialog (HTML, `showModal`). It stays in the page while closed and holds no state. */
export function Dialog({ title, isOpen, onClose, children, actions }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    if (isOpen) element.current?.showModal();
    else element.current?.close();
  }, [isOpen]);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={titleId}
      // Browsers without this attribute reopen it on `close`.
      closedby={onClose ? 'closerequest' : 'none'}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={() => {
        if (!isOpen) return;
        if (onClose) onClose();
        else element.current?.showModal();
      }}
    >
      {isOpen && (
        <>
          <header>
            <h2 id={titleId}>{title}</h2>
            {onClose && (
              <button type="button" class="bare square" aria-label={texts.close} onClick={onClose}>
                <Icon node={X} />
              </button>
            )}
          </header>
          <div class="dialog-body">{children}</div>
          {actions !== undefined && <footer>{actions}</footer>}
        </>
      )}
    </dialog>
  );
}
