/** Copies a text and confirms it. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { serverClock } from '../data/clock.ts';
import { texts } from '../messages/en.ts';
import { Icon } from './icon.tsx';
import { Check, Copy } from './icons.ts';

const SAID_MS = 2_000;

/** Writes `text` to the clipboard; its label briefly confirms it. */
export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }): VNode {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    serverClock.wakeAfter(SAID_MS, () => {
      isCopied.value = false;
    });
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      <Icon node={isCopied.value ? Check : Copy} />
      <span aria-live="polite">{isCopied.value ? texts.copied : label}</span>
    </button>
  );
}
