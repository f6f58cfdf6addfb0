/** Look-back of PromQL queries for the newest sample: a project setting. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { TextField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { toast } from '../../components/toasts.tsx';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import { loadProjects, project } from '../../data/projects.ts';
import { texts as all } from './access-texts.ts';

const texts = all.lookBack;

/** Bounds enforced by the service, seconds. */
const [SECONDS_MIN, SECONDS_MAX] = [60, 3_600];

/** The field and its save button; only owners have the page. */
export function PromqlLookBack({ projectName }: { readonly projectName: string }): VNode {
  const change = useMutation('ProjectService', 'updateProject');
  const typed = useSignal<string | undefined>(undefined);
  const value = typed.value ?? String(project.value?.promqlLookbackSeconds ?? '');
  const seconds = Number(value);
  const fits = /^\d+$/.test(value) && seconds >= SECONDS_MIN && seconds <= SECONDS_MAX;
  const problem = fits ? undefined : texts.problem;
  useSaved(change, () => {
    toast(all.accounts.saved);
    void loadProjects();
  });
  return (
    <section aria-labelledby="look-back">
      <h2 id="look-back">{texts.title}</h2>
      <TextField
        label={texts.seconds}
        help={texts.help}
        problem={problem}
        inputMode="numeric"
        value={value}
        onInput={(text) => {
          typed.value = text.trim();
          change.reset();
        }}
      />
      <ActionButton
        needs="OWNER"
        blocked={problem}
        isBusy={isUnsettled(change.state.value)}
        onPress={() => void change.send({ name: projectName, promqlLookbackSeconds: seconds })}
      >
        {all.accounts.save}
      </ActionButton>
      <MutationStatus of={change} />
    </section>
  );
}
