/** Short confirmations. Failures are not toasts: they are shown where they occurred. */
import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { serverClock } from '../data/clock.ts';
import { texts } from '../messages/en.ts';
import { Icon } from './icon.tsx';
import { X } from './icons.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
}

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;

/** Display time, ms. A toast is not kept anywhere, so it must not be essential. */
const SHOWN_MS = 6_000;
const TOASTS_MAX = 3;

/** Confirms an action: `Acknowledged`. */
export function toast(text: string): void {
  lastId += 1;
  const id = lastId;
  toasts.value = [...toasts.peek(), { id, text }].slice(-TOASTS_MAX);
  serverClock.wakeAfter(SHOWN_MS, () => dismiss(id));
}

function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((each) => each.id !== id);
}

export function Toasts(): VNode {
  return (
    <section class="toasts" role="status" aria-label={texts.toast.region}>
      {toasts.value.map(({ id, text }) => (
        <div key={id} class="toast">
          {text}
          <button
            type="button"
            class="bare square"
            aria-label={texts.toast.dismiss}
            onClick={() => dismiss(id)}
          >
            <Icon node={X} />
          </button>
        </div>
      ))}
    </section>
  );
}
