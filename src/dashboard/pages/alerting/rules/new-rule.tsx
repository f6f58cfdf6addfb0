/** A new rule, from the template in the address or from scratch. */

import type { VNode } from 'preact';
import { DataView } from '../../../components/data-view.tsx';
import { SelectField } from '../../../components/fields.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { unitOf } from '../../../data/catalogue.ts';
import { useDraft } from '../../../data/draft.ts';
import { useMutation, useSaved } from '../../../data/mutation.ts';
import { newId } from '../../../data/new-id.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { navigate, query, setQuery } from '../../../router/location.ts';
import { AboveTitle } from '../../above-title.tsx';
import type { PageProps } from '../../page.ts';
import { isStale } from './rule-actions.tsx';
import { RuleEditor } from './rule-editor.tsx';
import { blankRule, fieldsOf, type RuleFields } from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { type RuleTemplate, useRuleTemplates } from './rule-templates.tsx';
import { texts } from './rule-texts.ts';
import { useCheckedRule, useRuleChoices } from './use-rule-form.ts';

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const choices = useRuleChoices(projectName);
  const templates = useRuleTemplates(projectName);
  const templateId = query.value.get('template') ?? '';
  return (
    <>
      <AboveTitle list="alertRules" project={project} />
      <h1>{pageTitles.newAlertRule}</h1>
      <DataView of={templates} lines={8}>
        {(list) => {
          const template = list.find((one) => one.templateId === templateId);
          return (
            <>
              <Start templates={list} template={template} />
              <NewRule
                // Each template has its own draft, so that looking at another one loses nothing.
                key={template?.templateId}
                template={template}
                choices={choices}
              />
            </>
          );
        }}
      </DataView>
    </>
  );
}

interface StartProps {
  readonly templates: readonly RuleTemplate[];
  readonly template: RuleTemplate | undefined;
}

function Start({ templates, template }: StartProps): VNode {
  const options = templates.map(({ templateId, spec }) => ({
    value: templateId,
    title: spec?.displayName || templateId,
  }));
  return (
    <SelectField
      label={texts.from}
      help={template?.description}
      value={template?.templateId ?? ''}
      options={[{ value: '', title: texts.blank }, ...options]}
      onChange={(value) => setQuery({ template: value || undefined })}
    />
  );
}

interface NewDraft {
  /** Id of the rule; kept so that resending after a reload refers to the same rule. */
  readonly id: string;
  /** Undefined if nothing was typed. */
  readonly fields: RuleFields | undefined;
}

interface NewRuleProps {
  readonly template: RuleTemplate | undefined;
  readonly choices: RuleChoices;
}

function NewRule({ template, choices }: NewRuleProps): VNode {
  const { projectName, metrics } = choices;
  const key = `new rule ${projectName} ${template?.templateId}`;
  const draft = useDraft<NewDraft>(key, { id: newId(), fields: undefined });
  const { id, fields: typed } = draft.value.value;
  const spec = template?.spec;
  const start = spec ? fieldsOf(spec, unitOf(metrics, spec.metricId)) : blankRule;
  const fields = { ...start, ...typed };
  const save = useMutation('AlertService', 'saveAlertRule');
  const checked = useCheckedRule(fields, choices, save.state.value);
  useSaved(save, ({ name }) => {
    draft.discard();
    navigate(`/${name}`);
  });
  // The id exists: an earlier attempt created it, but its response was lost.
  const isThere = isStale(save.state.value);
  return (
    <RuleEditor
      fields={fields}
      checked={checked}
      choices={choices}
      save={save}
      isNew
      blocked={undefined}
      onChange={(changes) => {
        save.reset();
        draft.value.value = { id, fields: { ...fields, ...changes } };
      }}
      onSave={() => {
        draft.value.value = { id, fields };
        void save.send({ projectName, id, expectedVersion: '0', spec: checked.spec });
      }}
      hasStatus={!isThere}
      actions={
        isThere && (
          <NoticeBox
            tone="warning"
            title={texts.form.exists}
            announce="alert"
            actions={
              <button
                type="button"
                onClick={() => {
                  // The next draft belongs to another rule.
                  draft.discard();
                  navigate(`/${projectName}/alertRules/${id}`);
                }}
              >
                {texts.form.open}
              </button>
            }
          />
        )
      }
    />
  );
}
