/**
 * Changes that an owner can make to a connection: name and permissions, the emergency stop, and
 * deletion.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActDialog, type DialogFrame, useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { useMutation } from '../../data/mutation.ts';
import { idOf } from '../../data/names.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { NameField, Permissions } from './parts.tsx';
import { type Connection, useServiceAccount } from './queries.ts';
import { texts as allTexts } from './texts.ts';

const texts = allTexts.connection;

interface ActionsProps {
  readonly projectName: string;
  readonly connection: Connection;
  /** Called when the connection must be reloaded. */
  readonly onChanged: () => void;
}

export function ConnectionActions(props: ActionsProps): VNode {
  const { projectName, connection, onChanged } = props;
  const { name, state } = connection;
  const { open, frame } = useDialogs<'edit' | 'disable' | 'enable' | 'remove'>();
  const edit = frame('edit');
  const { reason, reasonHelp } = allTexts.reject;
  return (
    <>
      <div class="buttons acts">
        <ActionButton needs="OWNER" look="quiet" effect={texts.editEffect} onPress={open('edit')}>
          {texts.edit}
        </ActionButton>
        {state === 'ENABLED' ? (
          <ActionButton
            needs="OWNER"
            look="danger"
            effect={texts.disableEffect}
            onPress={open('disable')}
          >
            {texts.disable}
          </ActionButton>
        ) : (
          <ActionButton needs="OWNER" effect={texts.enableEffect} onPress={open('enable')}>
            {texts.enable}
          </ActionButton>
        )}
        <ActionButton
          needs="OWNER"
          look="quiet"
          effect={texts.removeEffect}
          onPress={open('remove')}
        >
          {texts.remove}
        </ActionButton>
      </div>
      {edit.isOpen && <Edit {...props} onClose={edit.onClose} />}
      <ActDialog
        {...frame('disable')}
        method={['AutomationService', 'disableCiConnection']}
        title={texts.disableAsk}
        action={texts.disable}
        needs="OWNER"
        reason={{ of: name, label: reason, help: reasonHelp, maxLength: 200 }}
        request={(reason) => ({ name, reason })}
        done={texts.disabled}
        onSaved={onChanged}
      >
        <p>{texts.disableEffect}</p>
      </ActDialog>
      <ActDialog
        {...frame('enable')}
        method={['AutomationService', 'enableCiConnection']}
        title={texts.enableAsk}
        action={texts.enable}
        look="main"
        needs="OWNER"
        request={() => ({ name })}
        done={texts.enabled}
        onSaved={onChanged}
      >
        <p>{texts.enableEffect}</p>
      </ActDialog>
      <ActDialog
        {...frame('remove')}
        method={['AutomationService', 'deleteCiConnection']}
        title={texts.removeAsk}
        action={texts.remove}
        needs="OWNER"
        request={() => ({ name })}
        done={texts.removed}
        onSaved={() => navigate(pathOf('ciConnections', { project: idOf(projectName) }))}
      >
        <p>{texts.removeEffect}</p>
      </ActDialog>
    </>
  );
}

function Edit(props: ActionsProps & Pick<DialogFrame, 'onClose'>): VNode {
  const { connection, onClose, onChanged } = props;
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
      onClose={onClose}
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
      done={texts.saved}
      onSaved={onChanged}
    >
      <p>{texts.editHelp}</p>
      <NameField label={texts.name} name={displayName} />
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
