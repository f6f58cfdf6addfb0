/** The dialog that creates a project, and goes to it. */
import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { toast } from '../../components/toasts.tsx';
import { useDraft } from '../../data/draft.ts';
import { useMutation } from '../../data/mutation.ts';
import { loadProjects, type Project } from '../../data/projects.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { texts } from './texts.ts';

export function CreateProject({ isOpen }: { readonly isOpen: Signal<boolean> }): VNode {
  const draft = useDraft('createProject', { projectId: '', displayName: '' });
  const create = useMutation('ProjectService', 'createProject');
  const { projectId, displayName } = draft.value.value;
  const state = create.state.value;
  useEffect(() => {
    if (state.kind !== 'done') return;
    draft.discard();
    isOpen.value = false;
    void open(state.response);
  }, [draft, isOpen, state]);
  const type = (changes: { projectId?: string; displayName?: string }): void => {
    draft.value.value = { ...draft.value.peek(), ...changes };
    create.reset();
  };
  return (
    <Dialog
      title={texts.home.create}
      isOpen={isOpen.value}
      onClose={() => {
        isOpen.value = false;
      }}
      actions={
        <ActionButton
          isBusy={state.kind === 'sending'}
          blocked={projectId === '' ? texts.home.idMissing : undefined}
          onPress={() => void create.send({ projectId, displayName })}
        >
          {texts.home.create}
        </ActionButton>
      }
    >
      <p class="weak">{texts.home.createHelp}</p>
      <label class="form-field">
        {texts.home.id}
        <input
          value={projectId}
          maxLength={63}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          onInput={({ currentTarget }) => type({ projectId: currentTarget.value })}
        />
        <small class="effect">{texts.home.idHelp}</small>
      </label>
      <label class="form-field">
        {texts.home.name}
        <input
          value={displayName}
          maxLength={100}
          autocomplete="off"
          onInput={({ currentTarget }) => type({ displayName: currentTarget.value })}
        />
      </label>
      <MutationStatus of={create} />
    </Dialog>
  );
}

async function open({ name, displayName }: Project): Promise<void> {
  const project = name.replace(/^projects\//, '');
  toast(texts.home.created(displayName || project));
  await loadProjects();
  navigate(pathOf('overview', { project }));
}
