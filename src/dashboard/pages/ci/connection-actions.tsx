/**
 * Changes that an owner can make to a connection: name and permissions, the emergency stop, and
 * deletion.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { toast } from '../../components/toasts.tsx';
import { useMutation } from '../../data/mutation.ts';
import { idOf } from '../../data/names.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { Permissions } from './parts.tsx';
import { type Connection, useServiceAccount } from './queries.ts';
import { texts as allTexts } from './texts.ts';

const texts = allTexts.connection;

interface ActionsProps {
  readonly projectName: string;
  readonly connection: Connection;
  /** Called when the connection must be reloaded. */
  readonly onChanged: () => void;
}

type Asking = 'edit' | 'disable' | 'enable' | 'remove' | undefined;
type DialogProps = ActionsProps & { readonly asking: Signal<Asking> };

export function ConnectionActions(props: ActionsProps): VNode {
  const asking = useSignal<Asking>(undefined);
  const ask = (what: Asking) => () => {
    asking.value = what;
  };
  const isEnabled = props.connection.state === 'ENABLED';
  return (
    <>
      <div class="buttons acts">
        <ActionButton needs="OWNER" look="quiet" effect={texts.editEffect} onPress={ask('edit')}>
          {texts.edit}
        </ActionButton>
        {isEnabled ? (
          <ActionButton
            needs="OWNER"
            look="danger"
            effect={texts.disableEffect}
            onPress={ask('disable')}
          >
            {texts.disable}
          </ActionButton>
        ) : (
          <ActionButton needs="OWNER" effect={texts.enableEffect} onPress={ask('enable')}>
            {texts.enable}
          </ActionButton>
        )}
        <ActionButton
          needs="OWNER"
          look="quiet"
          effect={texts.removeEffect}
          onPress={ask('remove')}
        >
          {texts.remove}
        </ActionButton>
      </div>
      {asking.value === 'edit' && <Edit {...props} asking={asking} />}
      <Disable {...props} asking={asking} />
      <Enable {...props} asking={asking} />
      <Remove {...props} asking={asking} />
    </>
  );
}

function Edit({ connection, asking, onChanged }: DialogProps): VNode {
  const { name, capabilities, serviceAccountName } = connection;
  const account = useServiceAccount(serviceAccountName).state.value.value;
  const displayName = useSignal(connection.displayName);
  const chosen = useSignal<readonly string[]>(capabilities);
  const update = useMutation('AutomationService', 'updateCiConnection');
  // Permissions of the connection may stay even if its account has lost them.
  const offered = [...new Set([...capabilities, ...(account?.capabilities ?? [])])].sort();
  const isChanged = offered.some(
    (one) => chosen.value.includes(one) !== capabilities.includes(one),
  );
  return (
    <ConfirmDialog
      title={texts.edit}
      isOpen
      onClose={close(asking)}
      action={texts.save}
      look="main"
      needs="OWNER"
      blocked={blockedBy(displayName.value, chosen.value)}
      mutation={update}
      request={() => ({
        name,
        displayName: displayName.value.trim(),
        // If absent, permissions stay as they are, even if another member has changed them in the
        // meantime.
        ...(isChanged && { capabilities: { values: [...chosen.value] } }),
      })}
      onSaved={said(texts.saved, onChanged)}
    >
      <p>{texts.editHelp}</p>
      <TextField
        label={texts.name}
        value={displayName.value}
        maxLength={100}
        onInput={(value) => {
          displayName.value = value;
        }}
      />
      <Permissions
        legend={allTexts.review.capabilities}
        help={allTexts.start.capabilitiesHelp}
        offered={offered}
        chosen={chosen.value}
        onChange={(next) => {
          chosen.value = next;
        }}
      />
    </ConfirmDialog>
  );
}

function blockedBy(displayName: string, chosen: readonly string[]): string | undefined {
  if (displayName.trim() === '') return allTexts.start.nameMissing;
  return chosen.length === 0 ? allTexts.start.capabilityMissing : undefined;
}

function Disable({ connection, asking, onChanged }: DialogProps): VNode {
  const reason = useSignal('');
  const disable = useMutation('AutomationService', 'disableCiConnection');
  return (
    <ConfirmDialog
      title={texts.disableAsk}
      isOpen={asking.value === 'disable'}
      onClose={close(asking)}
      action={texts.disable}
      needs="OWNER"
      mutation={disable}
      request={() => ({ name: connection.name, reason: reason.value.trim() })}
      onSaved={said(texts.disabled, onChanged)}
    >
      <p>{texts.disableEffect}</p>
      <TextField
        label={allTexts.reject.reason}
        help={allTexts.reject.reasonHelp}
        value={reason.value}
        maxLength={200}
        onInput={(value) => {
          reason.value = value;
        }}
      />
    </ConfirmDialog>
  );
}

function Enable({ connection, asking, onChanged }: DialogProps): VNode {
  const enable = useMutation('AutomationService', 'enableCiConnection');
  return (
    <ConfirmDialog
      title={texts.enableAsk}
      isOpen={asking.value === 'enable'}
      onClose={close(asking)}
      action={texts.enable}
      look="main"
      needs="OWNER"
      mutation={enable}
      request={() => ({ name: connection.name })}
      onSaved={said(texts.enabled, onChanged)}
    >
      <p>{texts.enableEffect}</p>
    </ConfirmDialog>
  );
}

function Remove({ projectName, connection, asking }: DialogProps): VNode {
  const remove = useMutation('AutomationService', 'deleteCiConnection');
  return (
    <ConfirmDialog
      title={texts.removeAsk}
      isOpen={asking.value === 'remove'}
      onClose={close(asking)}
      action={texts.remove}
      needs="OWNER"
      mutation={remove}
      request={() => ({ name: connection.name })}
      onSaved={said(texts.removed, () =>
        navigate(pathOf('ciConnections', { project: idOf(projectName) })),
      )}
    >
      <p>{texts.removeEffect}</p>
    </ConfirmDialog>
  );
}

function close(asking: Signal<Asking>): () => void {
  return () => {
    asking.value = undefined;
  };
}

function said(text: string, then: () => void): () => void {
  return () => {
    toast(text);
    then();
  };
}
