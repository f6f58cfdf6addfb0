/** A rule to be read: every field of its form, with the limitation of its metric. */
import { type ComponentChildren, Fragment, type VNode } from 'preact';
import { DestinationLink } from '../../../components/destination-link.tsx';
import { OutsideLink } from '../../../components/runbook-box.tsx';
import { unitOf, useDestinationTitles } from '../../../data/catalogue.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import { formatCount } from '../../../messages/format.ts';
import { fieldsOf, type RuleField, type RuleSpec, ruleFields } from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { texts } from './rule-texts.ts';
import { fieldTitles, fieldWords } from './rule-words.ts';

export interface RuleSettingsProps {
  readonly spec: RuleSpec;
  readonly choices: RuleChoices;
}

/** These stand above, in the heading and in the state. */
const ABOVE: ReadonlySet<RuleField> = new Set(['displayName', 'severity', 'enabled']);

export function RuleSettings({ spec, choices }: RuleSettingsProps): VNode {
  const { projectName, metrics, vms } = choices;
  const destinations = useDestinationTitles(projectName);
  const metric = metrics.find(({ metricId }) => metricId === spec.metricId);
  const fields = fieldsOf(spec, unitOf(metrics, spec.metricId));
  const wordsOf = (field: RuleField): ComponentChildren => {
    // Who may not read destinations learns how many there are.
    if (field === 'destinationNames' && !mayDo('EDITOR')) {
      return texts.destinationCount(
        spec.destinationNames.length,
        formatCount(spec.destinationNames.length, format.value),
      );
    }
    if (field === 'destinationNames' && spec.destinationNames.length > 0) {
      return spec.destinationNames.map((name, i) => (
        <Fragment key={name}>
          {i > 0 && ', '}
          <DestinationLink name={name} titles={destinations} />
        </Fragment>
      ));
    }
    if (field === 'runbookUrl' && spec.runbookUrl !== '') {
      return <OutsideLink url={spec.runbookUrl} />;
    }
    if (field === 'runbookText') {
      return <span class="runbook-text">{fieldWords(field, fields, { vms, destinations })}</span>;
    }
    return fieldWords(field, fields, { vms, destinations });
  };
  const shown = ruleFields.filter(
    (field) => !ABOVE.has(field) && (field !== 'vmNames' || !spec.allVms),
  );
  return (
    <dl class="facts">
      {shown.map((field) => (
        <div key={field}>
          <dt>{fieldTitles[field]}</dt>
          <dd>
            {wordsOf(field)}
            {field === 'metricId' && <small class="effect"> {metric?.limitation}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
