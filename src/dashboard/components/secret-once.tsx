/**
 * A secret that the service shows once. It is held only in memory: not in storage, addresses or
 * logs. It closes only when the user confirms having stored it.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../messages/en.ts';
import { CopyButton } from './copy-button.tsx';
import { NoticeBox } from './notice-box.tsx';

export interface SecretOnceProps {
  /** Description of the secret: `Key of deploy-bot`. */
  readonly label: string;
  /** From the response; undefined or empty if `secretAvailable` is false. */
  readonly secret: string | undefined;
  /** Called when the user has stored the secret: forget it. */
  readonly onStored: () => void;
  /** Buttons to revoke and replace the secret if it cannot be shown. */
  readonly replace?: ComponentChildren;
  /** Purpose of those buttons, in a sentence. */
  readonly unavailableHelp?: string;
}

export function SecretOnce(props: SecretOnceProps): VNode {
  const { label, secret, onStored, replace } = props;
  const { unavailableHelp = texts.secret.unavailableHelp } = props;
  const isVisible = useSignal(false);
  if (secret === undefined || secret === '') {
    return (
      <NoticeBox tone="warning" title={texts.secret.unavailable} actions={replace}>
        {unavailableHelp}
      </NoticeBox>
    );
  }
  return (
    <section class="secret" aria-label={label}>
      <h3>{label}</h3>
      <p>{texts.secret.once}</p>
      <output class="secret-text">{isVisible.value ? secret : '•'.repeat(24)}</output>
      <div class="buttons">
        <button
          type="button"
          class="quiet"
          onClick={() => {
            isVisible.value = !isVisible.value;
          }}
        >
          {isVisible.value ? texts.secret.hide : texts.secret.show}
        </button>
        <CopyButton text={secret} />
        <button type="button" onClick={onStored}>
          {texts.secret.stored}
        </button>
      </div>
    </section>
  );
}
