/**
 * The form of a rule with its save button, next to views of the rule as currently typed. Used for
 * new and saved rules.
 */
import type { ComponentChildren, VNode } from 'preact';
import { ActionButton } from '../../../components/action-button.tsx';
import { MutationStatus } from '../../../components/mutation-status.tsx';
import { unitOf } from '../../../data/catalogue.ts';
import { isUnsettled, type Mutation } from '../../../data/mutation.ts';
import type { RequestOf } from '../../../data/rpc-types.ts';
import type { SavedRule } from './rule-actions.tsx';
import { quantityText, type RuleFields } from './rule-fields.ts';
import { type RuleChoices, RuleForm } from './rule-form.tsx';
import { texts } from './rule-texts.ts';
import { RuleViews } from './rule-views.tsx';
import type { CheckedRule } from './use-rule-form.ts';

export type SaveRule = Mutation<
  Omit<RequestOf<'AlertService', 'saveAlertRule'>, 'requestId'>,
  SavedRule
>;

export interface RuleEditorProps {
  readonly fields: RuleFields;
  readonly onChange: (changes: Partial<RuleFields>) => void;
  readonly checked: CheckedRule;
  readonly choices: RuleChoices;
  readonly isNew: boolean;
  readonly save: SaveRule;
  readonly onSave: () => void;
  /** Why it cannot be saved now; undefined if it can. */
  readonly blocked: string | undefined;
  /** False if the page itself reports the outcome of the save. */
  readonly hasStatus: boolean;
  /** Additional buttons. */
  readonly actions?: ComponentChildren;
}

export function RuleEditor(props: RuleEditorProps): VNode {
  const { fields, onChange, checked, choices, isNew, save, onSave, blocked } = props;
  const { hasStatus, actions } = props;
  const unit = unitOf(choices.metrics, fields.metricId);
  const isUnreadable = Object.keys(checked.problems).length > 0 && checked.spec === undefined;
  const refusal = isUnreadable ? texts.form.correct(checked.unreadable.join(', ')) : blocked;
  return (
    <div class="rule-columns">
      <section aria-label={texts.form.label}>
        <RuleForm
          fields={fields}
          onChange={onChange}
          choices={choices}
          isNew={isNew}
          problems={checked.problems}
        />
        <div class="buttons">
          <ActionButton
            needs="EDITOR"
            isBusy={isUnsettled(save.state.value)}
            blocked={refusal}
            effect={isNew ? undefined : texts.form.saveEffect}
            onPress={() => {
              checked.attempt();
              if (checked.spec !== undefined) onSave();
            }}
          >
            {isNew ? texts.form.saveNew : texts.form.save}
          </ActionButton>
          {actions}
        </div>
        {hasStatus && <MutationStatus of={save} />}
      </section>
      <RuleViews
        projectName={choices.projectName}
        fields={fields}
        unit={unit}
        spec={checked.spec}
        onThreshold={(threshold) => onChange({ threshold: quantityText(threshold, unit) })}
      />
    </div>
  );
}
