/** Creating, editing, disabling, enabling and deleting a service account, each with its effect. */

import type { VNode } from 'preact';
import { ActDialog, type DialogFrame, useDialogs } from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CheckField, FieldGroup, SelectField, TextField } from '../../components/fields.tsx';
import { read } from '../../data/call.ts';
import { useForm } from '../../data/form.ts';
import { useLoaded } from '../../data/loaded.ts';
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

interface CreateDraft {
  readonly displayName: string;
  readonly template: string;
  readonly capabilities: readonly string[];
}

/** Opens the page of the new account, where its keys are created. */
export function CreateAccount(props: DialogFrame & { readonly projectName: string }): VNode {
  const { projectName, ...frame } = props;
  const loaded = useLoaded(`templates ${projectName}`, (options) =>
    read('AutomationService', 'listPermissionTemplates', { projectName }, options),
  );
  const templates = loaded.state.value.value?.templates ?? [];
  const initial: CreateDraft = { displayName: '', template: '', capabilities: [] };
  const key = `account ${projectName}`;
  const form = useForm('AutomationService', 'createServiceAccount', { key, initial });
  const { type, fields, mutation, draft } = form;
  const { displayName, capabilities } = fields;
  const template = fields.template || (templates[0]?.template ?? OWN_CHOICE);
  const isOwn = template === OWN_CHOICE;
  return (
    <ConfirmDialog
      {...frame}
      title={texts.create}
      action={texts.create}
      needs="OWNER"
      look="main"
      blocked={blockedText(displayName, isOwn && capabilities.length === 0)}
      mutation={mutation}
      draft={draft}
      request={() => ({
        projectName,
        displayName: displayName.trim(),
        ...(isOwn ? { capabilities: [...capabilities] } : { template }),
      })}
      done={texts.created(displayName)}
      onSaved={({ name }) => navigate(`/${name}`)}
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

interface EditProps extends DialogFrame {
  readonly account: Account;
  /** Called with the updated account. */
  readonly onSaved: (account: Account) => void;
}

function EditAccount({ account, isOpen, onClose, onSaved }: EditProps): VNode {
  const { name } = account;
  const { type, fields, mutation, draft } = useForm('AutomationService', 'updateServiceAccount', {
    key: `edit ${name}`,
    initial: { displayName: account.displayName, capabilities: account.capabilities },
  });
  const { displayName, capabilities } = fields;
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
      mutation={mutation}
      request={() => ({
        name,
        displayName: displayName.trim(),
        capabilities: { values: [...capabilities] },
      })}
      done={texts.saved}
      onSaved={onSaved}
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

export interface AccountActionsProps {
  readonly account: Account;
  /** Called with the updated account. */
  readonly onSaved: (account: Account) => void;
  readonly onDeleted: () => void;
}

export function AccountActions({ account, onSaved, onDeleted }: AccountActionsProps): VNode {
  const { name, displayName, capabilities, state, activeKeys, activeConnections } = account;
  const { open, frame } = useDialogs<'edit' | 'disable' | 'enable' | 'delete'>();
  const isDisabled = state === 'DISABLED';
  const reason = { of: name, label: all.keys.revoke.reason, help: texts.reasonHelp };
  return (
    <div class="buttons">
      <ActionButton needs="OWNER" look="quiet" onPress={open('edit')}>
        {texts.edit}
      </ActionButton>
      <ActionButton needs="OWNER" look="quiet" onPress={open(isDisabled ? 'enable' : 'disable')}>
        {isDisabled ? texts.enable : texts.disable}
      </ActionButton>
      <ActionButton needs="OWNER" look="danger" onPress={open('delete')}>
        {texts.delete}
      </ActionButton>
      {/* The next edit starts from the saved values. */}
      <EditAccount
        key={`${displayName} ${capabilities.join()}`}
        {...frame('edit')}
        account={account}
        onSaved={onSaved}
      />
      <ActDialog
        {...frame('disable')}
        method={['AutomationService', 'disableServiceAccount']}
        title={texts.disableTitle(displayName)}
        action={texts.disable}
        needs="OWNER"
        reason={{ ...reason, maxLength: NAME_CHARS_MAX }}
        request={(reason) => ({ name, reason })}
        done={texts.disabled(displayName)}
        onSaved={onSaved}
      >
        <p>{texts.disableEffect}</p>
      </ActDialog>
      <ActDialog
        {...frame('enable')}
        method={['AutomationService', 'enableServiceAccount']}
        title={texts.enableTitle(displayName)}
        action={texts.enable}
        needs="OWNER"
        look="main"
        request={() => ({ name })}
        done={texts.enabled(displayName)}
        onSaved={onSaved}
      >
        <p>{texts.enableEffect}</p>
      </ActDialog>
      <ActDialog
        {...frame('delete')}
        method={['AutomationService', 'deleteServiceAccount']}
        title={texts.deleteTitle(displayName)}
        action={texts.delete}
        needs="OWNER"
        request={() => ({ name })}
        done={texts.deleted(displayName)}
        onSaved={onDeleted}
      >
        <p>{texts.deleteEffect(activeKeys, activeConnections)}</p>
      </ActDialog>
    </div>
  );
}
