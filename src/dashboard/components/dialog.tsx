/**
 * A dialog, on the browser's own element: it keeps the focus inside, makes the rest inert, closes by
 * Escape and gives the focus back. One that has no `onClose` stays open whatever is pressed: browsers
 * let a page refuse the first Escape, and close by the second one regardless.
 */
import { X } from 'lucide';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { texts } from '../messages/en.ts';
import { Icon } from './icon.tsx';

/** A title, the content and the buttons; `isOpen` alone opens and closes it. */
export interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  /** Left out, it cannot be closed but by what is in it. */
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
  /** Buttons at the foot, the most likely one last. */
  readonly actions?: ComponentChildren;
}

/**
 * A modal dialog (HTML, `showModal`). It is in the page while it is closed too, and holds no state.
 */
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
      // Where it is not known, `close` opens it again.
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
