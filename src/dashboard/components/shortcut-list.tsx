/** The list that `?` opens: shortcuts of the current page. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { texts } from '../messages/en.ts';
import { Dialog } from './dialog.tsx';
import { activeShortcuts, useShortcuts } from './shortcuts.ts';

export function ShortcutList(): VNode {
  const isOpen = useSignal(false);
  useShortcuts([
    {
      keys: '?',
      name: texts.shortcut.help,
      run: () => {
        isOpen.value = true;
      },
    },
  ]);
  return (
    <Dialog
      title={texts.shortcut.title}
      isOpen={isOpen.value}
      onClose={() => {
        isOpen.value = false;
      }}
    >
      <dl class="shortcuts">
        {activeShortcuts.value.map(({ keys, name }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{name}</dd>
          </div>
        ))}
      </dl>
      <p class="weak">{texts.shortcut.switchOff}</p>
    </Dialog>
  );
}
