/** Creates a service account for a workflow within the wizard: a name and a template. */
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { DataView } from '../../components/data-view.tsx';
import { FieldGroup, SelectField, TextField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { toast } from '../../components/toasts.tsx';
import { read } from '../../data/call.ts';
import { typing, useDraft } from '../../data/draft.ts';
import { useLoaded } from '../../data/loaded.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import { texts as common } from '../../messages/en.ts';
import type { ServiceAccount, Template } from './queries.ts';
import { texts as all } from './texts.ts';

const texts = all.create;

interface CreateAccountProps {
  readonly projectName: string;
  readonly onCreated: (account: ServiceAccount) => void;
  /** If absent, there is no Cancel button. */
  readonly onCancel: (() => void) | undefined;
}

export function CreateAccount({ projectName, onCreated, onCancel }: CreateAccountProps): VNode {
  const templates = useLoaded(`templates ${projectName}`, async (options) => {
    const request = { projectName };
    return (await read('AutomationService', 'listPermissionTemplates', request, options)).templates;
  });
  return (
    <FieldGroup legend={texts.title}>
      <DataView of={templates} lines={3}>
        {(found) => (
          <CreateForm
            projectName={projectName}
            onCreated={onCreated}
            onCancel={onCancel}
            templates={found}
          />
        )}
      </DataView>
    </FieldGroup>
  );
}

function CreateForm(
  props: CreateAccountProps & { readonly templates: readonly Template[] },
): VNode {
  const { projectName, onCreated, onCancel, templates } = props;
  const draft = useDraft(`createServiceAccount ${projectName}`, {
    name: '',
    chosen: templates[0]?.template ?? '',
  });
  const { name, chosen } = draft.value.value;
  const create = useMutation('AutomationService', 'createServiceAccount');
  const type = typing(draft, create);
  useSaved(create, (account) => {
    draft.discard();
    toast(texts.created(account.displayName));
    onCreated(account);
  });
  const template = templates.find((one) => one.template === chosen);
  return (
    <>
      <TextField
        label={texts.name}
        value={name}
        maxLength={100}
        onInput={(value) => type({ name: value })}
      />
      <SelectField
        label={texts.template}
        help={template && `${template.description} ${texts.has(template.capabilities.join(', '))}`}
        value={chosen}
        options={templates.map((one) => ({ value: one.template, title: one.displayName }))}
        onChange={(value) => type({ chosen: value })}
      />
      <div class="buttons">
        <ActionButton
          needs="OWNER"
          look="quiet"
          blocked={name.trim() === '' ? texts.nameMissing : undefined}
          isBusy={isUnsettled(create.state.value)}
          onPress={() =>
            void create.send({
              projectName,
              displayName: name.trim(),
              template: chosen,
            })
          }
        >
          {texts.send}
        </ActionButton>
        {onCancel && (
          <button type="button" class="quiet" onClick={onCancel}>
            {common.cancel}
          </button>
        )}
      </div>
      <MutationStatus of={create} refusedTitle={texts.refused} />
    </>
  );
}
