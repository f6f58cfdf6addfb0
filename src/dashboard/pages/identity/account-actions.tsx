/** Creating, editing, disabling, enabling and deleting a service account, each with its effect. */

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CheckField, FieldGroup, SelectField, TextField } from '../../components/fields.tsx';
import { toast } from '../../components/toasts.tsx';
import { read } from '../../data/call.ts';
import { typing, useDraft } from '../../data/draft.ts';
import { useLoaded } from '../../data/loaded.ts';
import { useMutation } from '../../data/mutation.ts';
import { navigate } from '../../router/location.ts';
import { texts as all, capabilityText } from './access-texts.ts';
import type { Account } from './use-service-accounts.ts';

const texts = all.accounts;

const CAPABILITIES = ['monitoring.read', 'monitoring.write'];
const NAME_CHARS_MAX = 100;
/** Replaces a template: individual permissions. */
const OWN_CHOICE = 'own';

interface CapabilityFieldsProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

function CapabilityFields({ chosen, onChange }: CapabilityFieldsProps): VNode {
  return (
    <FieldGroup legend={all.capabilities}>
      {CAPABILITIES.map((one) => (
        <CheckField
          key={one}
          label={<code>{one}</code>}
          help={capabilityText(one)}
          isChecked={chosen.includes(one)}
          onChange={(isChecked) =>
            onChange(
              CAPABILITIES.filter((each) => (each === one ? isChecked : chosen.includes(each))),
            )
          }
        />
      ))}
    </FieldGroup>
  );
}

function NameField(props: { value: string; onInput: (value: string) => void }): VNode {
  return (
    <TextField label={texts.name} help={texts.nameHelp} maxLength={NAME_CHARS_MAX} {...props} />
  );
}

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface CreateDraft {
  readonly displayName: string;
  readonly template: string;
  readonly capabilities: readonly string[];
}

/** Opens the page of the new account, where its keys are created. */
export function CreateAccount(props: DialogProps & { readonly projectName: string }): VNode {
  const { projectName, isOpen, onClose } = props;
  const create = useMutation('AutomationService', 'createServiceAccount');
  const loaded = useLoaded(`templates ${projectName}`, (options) =>
    read('AutomationService', 'listPermissionTemplates', { projectName }, options),
  );
  const templates = loaded.state.value.value?.templates ?? [];
  const draft = useDraft<CreateDraft>(`account ${projectName}`, {
    displayName: '',
    template: '',
    capabilities: [],
  });
  const { displayName, capabilities } = draft.value.value;
  const template = draft.value.value.template || (templates[0]?.template ?? OWN_CHOICE);
  const type = typing(draft, create);
  const isOwn = template === OWN_CHOICE;
  return (
    <ConfirmDialog
      title={texts.create}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.create}
      needs="OWNER"
      look="main"
      blocked={blockedText(displayName, isOwn && capabilities.length === 0)}
      mutation={create}
      request={() => ({
        projectName,
        displayName: displayName.trim(),
        ...(isOwn ? { capabilities: [...capabilities] } : { template }),
      })}
      onSaved={({ name }) => {
        draft.discard();
        toast(texts.created(displayName));
        navigate(`/${name}`);
      }}
    >
      <NameField value={displayName} onInput={(value) => type({ displayName: value })} />
      <SelectField
        label={texts.template}
        help={templates.find((one) => one.template === template)?.description}
        value={template}
        options={[
          ...templates.map((one) => ({
            value: one.template,
            title: `${one.displayName}: ${one.capabilities.join(', ')}`,
          })),
          { value: OWN_CHOICE, title: texts.ownChoice },
        ]}
        onChange={(value) => type({ template: value })}
      />
      {isOwn && (
        <CapabilityFields
          chosen={capabilities}
          onChange={(chosen) => type({ capabilities: chosen })}
        />
      )}
      <p class="weak">{texts.never}</p>
    </ConfirmDialog>
  );
}

function blockedText(name: string, isNothingChosen: boolean): string | undefined {
  if (name.trim() === '') return texts.nameMissing;
  return isNothingChosen ? all.keys.capabilityMissing : undefined;
}

interface AccountDialogProps extends DialogProps {
  readonly account: Account;
  /** Called with the updated account. */
  readonly onSaved: (account: Account) => void;
}

export function EditAccount({ account, isOpen, onClose, onSaved }: AccountDialogProps): VNode {
  const { name } = account;
  const update = useMutation('AutomationService', 'updateServiceAccount');
  const draft = useDraft(`edit ${name}`, {
    displayName: account.displayName,
    capabilities: account.capabilities,
  });
  const { displayName, capabilities } = draft.value.value;
  const type = typing(draft, update);
  const close = (): void => {
    draft.discard();
    onClose();
  };
  return (
    <ConfirmDialog
      title={texts.editTitle}
      isOpen={isOpen}
      onClose={close}
      action={texts.save}
      needs="OWNER"
      look="main"
      blocked={blockedText(displayName, false)}
      mutation={update}
      request={() => ({
        name,
        displayName: displayName.trim(),
        capabilities: { values: [...capabilities] },
      })}
      onSaved={(saved) => {
        toast(texts.saved);
        onSaved(saved);
      }}
    >
      <NameField value={displayName} onInput={(value) => type({ displayName: value })} />
      <CapabilityFields
        chosen={capabilities}
        onChange={(chosen) => type({ capabilities: [...chosen] })}
      />
      <p class="weak">
        {texts.limit} {capabilities.length === 0 && texts.limitNothing}
      </p>
    </ConfirmDialog>
  );
}

export function DisableAccount({ account, isOpen, onClose, onSaved }: AccountDialogProps): VNode {
  const { name, displayName } = account;
  const disable = useMutation('AutomationService', 'disableServiceAccount');
  const reason = useSignal('');
  return (
    <ConfirmDialog
      title={texts.disableTitle(displayName)}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.disable}
      needs="OWNER"
      mutation={disable}
      request={() => ({ name, reason: reason.peek().trim() })}
      onSaved={(saved) => {
        toast(texts.disabled(displayName));
        onSaved(saved);
      }}
    >
      <p>{texts.disableEffect}</p>
      <TextField
        label={all.keys.revoke.reason}
        help={texts.reasonHelp}
        value={reason.value}
        maxLength={NAME_CHARS_MAX}
        onInput={(value) => {
          reason.value = value;
        }}
      />
    </ConfirmDialog>
  );
}

export function EnableAccount({ account, isOpen, onClose, onSaved }: AccountDialogProps): VNode {
  const { name, displayName } = account;
  const enable = useMutation('AutomationService', 'enableServiceAccount');
  return (
    <ConfirmDialog
      title={texts.enableTitle(displayName)}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.enable}
      needs="OWNER"
      look="main"
      mutation={enable}
      request={() => ({ name })}
      onSaved={(saved) => {
        toast(texts.enabled(displayName));
        onSaved(saved);
      }}
    >
      <p>{texts.enableEffect}</p>
    </ConfirmDialog>
  );
}

export interface DeleteAccountProps extends DialogProps {
  readonly account: Account;
  readonly onDeleted: () => void;
}

export function DeleteAccount({ account, isOpen, onClose, onDeleted }: DeleteAccountProps): VNode {
  const { name, displayName, activeKeys, activeConnections } = account;
  const remove = useMutation('AutomationService', 'deleteServiceAccount');
  return (
    <ConfirmDialog
      title={texts.deleteTitle(displayName)}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.delete}
      needs="OWNER"
      mutation={remove}
      request={() => ({ name })}
      onSaved={() => {
        toast(texts.deleted(displayName));
        onDeleted();
      }}
    >
      <p>{texts.deleteEffect(activeKeys, activeConnections)}</p>
    </ConfirmDialog>
  );
}
