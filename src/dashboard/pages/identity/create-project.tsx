/** The dialog that creates a project and opens it. */
import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { toast } from '../../components/toasts.tsx';
import { useForm } from '../../data/form.ts';
import { loadProjects, type Project } from '../../data/projects.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { texts } from './texts.ts';

export function CreateProject({ isOpen }: { readonly isOpen: Signal<boolean> }): VNode {
  const { mutation, draft, fields, type } = useForm('ProjectService', 'createProject', {
    key: 'createProject',
    initial: { projectId: '', displayName: '' },
  });
  const { projectId, displayName } = fields;
  return (
    <ConfirmDialog
      title={texts.home.create}
      isOpen={isOpen.value}
      onClose={() => {
        isOpen.value = false;
      }}
      action={texts.home.create}
      look="main"
      blocked={projectId === '' ? texts.home.idMissing : undefined}
      mutation={mutation}
      draft={draft}
      request={() => ({ projectId, displayName })}
      onSaved={(project) => void open(project)}
    >
      <p class="weak">{texts.home.createHelp}</p>
      <TextField
        label={texts.home.id}
        help={texts.home.idHelp}
        value={projectId}
        maxLength={63}
        onInput={(value) => type({ projectId: value })}
      />
      <TextField
        label={texts.home.name}
        value={displayName}
        maxLength={100}
        onInput={(value) => type({ displayName: value })}
      />
    </ConfirmDialog>
  );
}

async function open({ name, displayName }: Project): Promise<void> {
  const project = name.replace(/^projects\//, '');
  toast(texts.home.created(displayName || project));
  await loadProjects();
  navigate(pathOf('overview', { project }));
}
