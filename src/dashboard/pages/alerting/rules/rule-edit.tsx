/**
 * A saved rule in its form. A draft is based on a version; when a newer one arrives, the draft
 * stays and the differences are shown next to it.
 */
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { toast } from '../../../components/toasts.tsx';
import { type Rule, unitOf, useDestinationTitles } from '../../../data/catalogue.ts';
import type { Draft } from '../../../data/draft.ts';
import { isUnsettled, useMutation, useSaved } from '../../../data/mutation.ts';
import { idOf } from '../../../data/names.ts';
import { usePeopleNames } from '../../../data/people-names.ts';
import { isStale, type SavedRule, useStale } from './rule-actions.tsx';
import { RuleConflict } from './rule-conflict.tsx';
import { RuleEditor, type SaveRule } from './rule-editor.tsx';
import { differencesOf, fieldsOf, type RuleFields, type RuleSpec } from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { texts } from './rule-texts.ts';
import { useCheckedRule } from './use-rule-form.ts';

export interface EditDraft {
  /** Undefined if nothing was typed. */
  readonly fields: RuleFields | undefined;
  /** The version on which the fields are based. */
  readonly version: string;
}

export interface RuleEditProps {
  readonly rule: Rule;
  readonly spec: RuleSpec;
  readonly choices: RuleChoices;
  readonly draft: Draft<EditDraft>;
  readonly onSaved: (saved: SavedRule, spec: RuleSpec) => void;
  readonly onStale: () => void;
}

export function RuleEdit(props: RuleEditProps): VNode {
  const { rule, spec, choices, draft } = props;
  const { projectName, metrics, vms } = choices;
  const { fields: typed, version } = draft.value.value;
  const theirUnit = unitOf(metrics, spec.metricId);
  const theirs = fieldsOf(spec, theirUnit);
  // Pausing has its own buttons, so a form that is older than a pause must not undo it.
  const mine = { ...theirs, ...typed, enabled: theirs.enabled };
  const different = differencesOf(
    { fields: mine, unit: unitOf(metrics, mine.metricId) },
    { fields: theirs, unit: theirUnit },
  );
  const isEdited = different.length > 0;
  const isConflicting = isEdited && version !== rule.version;
  const { save, send } = useSave(props);
  const checked = useCheckedRule(mine, choices, save.state.value);
  const destinations = useDestinationTitles(projectName);
  const people = usePeopleNames(projectName, isConflicting ? [rule.updatedBy] : [], []);
  const sendAs = (expectedVersion: string): void => {
    if (checked.spec !== undefined) send({ fields: mine, spec: checked.spec }, expectedVersion);
  };
  const giveUp = (): void => {
    save.reset();
    draft.discard();
  };
  return (
    <>
      {isConflicting && (
        <RuleConflict
          fields={different}
          mine={mine}
          theirs={theirs}
          version={rule.version}
          by={people.get(rule.updatedBy) ?? ''}
          names={{ vms, destinations }}
          isBusy={isUnsettled(save.state.value)}
          isAnswer={isStale(save.state.value)}
          onTakeTheirs={giveUp}
          onSaveMine={() => sendAs(rule.version)}
        />
      )}
      <RuleEditor
        checked={checked}
        choices={choices}
        save={save}
        fields={mine}
        isNew={false}
        blocked={blockedBy(isEdited, isConflicting)}
        onChange={(changes) => {
          save.reset();
          draft.value.value = {
            fields: { ...mine, ...changes },
            version: isEdited ? version : rule.version,
          };
        }}
        onSave={() => sendAs(version)}
        // The conflict box already explains it.
        hasStatus={!(isConflicting && isStale(save.state.value))}
        actions={
          isEdited &&
          !isConflicting && (
            <button type="button" class="quiet" onClick={giveUp}>
              {texts.form.giveUp}
            </button>
          )
        }
      />
    </>
  );
}

interface Sent {
  readonly fields: RuleFields;
  readonly spec: RuleSpec;
}

/** Saves the draft as an edit of a version, then discards it. */
function useSave({ rule, choices, draft, onSaved, onStale }: RuleEditProps): {
  readonly save: SaveRule;
  readonly send: (sent: Sent, expectedVersion: string) => void;
} {
  const { projectName } = choices;
  const save = useMutation('AlertService', 'saveAlertRule');
  const last = useRef<Sent>(undefined);
  useStale(save, onStale);
  useSaved(save, (saved) => {
    // Input typed during the save is based on the saved version.
    const now = draft.value.peek().fields;
    if (now === last.current?.fields) draft.discard();
    else draft.value.value = { fields: now, version: saved.version };
    toast(texts.form.saved);
    if (last.current) onSaved(saved, last.current.spec);
  });
  const send = (sent: Sent, expectedVersion: string): void => {
    last.current = sent;
    draft.value.value = { fields: sent.fields, version: expectedVersion };
    void save.send({ projectName, id: idOf(rule.name), expectedVersion, spec: sent.spec });
  };
  return { save, send };
}

function blockedBy(isEdited: boolean, isConflicting: boolean): string | undefined {
  if (isConflicting) return texts.form.conflicting;
  return isEdited ? undefined : texts.form.unchanged;
}
