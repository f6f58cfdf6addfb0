/**
 * A read-only view of a rule for users who may not change it: its non-empty fields, with the
 * limitation of its metric.
 */
import type { ComponentChildren, VNode } from 'preact';
import { OutsideLink } from '../../../components/runbook-box.tsx';
import { unitOf } from '../../../data/catalogue.ts';
import { format } from '../../../data/preferences.ts';
import { formatCount } from '../../../messages/format.ts';
import { fieldsOf, type RuleField, type RuleSpec, ruleFields } from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { texts } from './rule-texts.ts';
import { fieldTitles, fieldWords, meaningText } from './rule-words.ts';

export interface RuleSettingsProps {
  readonly spec: RuleSpec;
  readonly choices: RuleChoices;
}

/** Shown in the heading and the state above. */
const ABOVE: ReadonlySet<RuleField> = new Set(['displayName', 'severity', 'enabled']);
/** Formatted with the unit of the metric. */
const READINGS: ReadonlySet<RuleField> = new Set(['threshold', 'recoveryThreshold']);

export function RuleSettings({ spec, choices }: RuleSettingsProps): VNode {
  const { metrics, vms } = choices;
  const metric = metrics.find(({ metricId }) => metricId === spec.metricId);
  const unit = unitOf(metrics, spec.metricId);
  const fields = fieldsOf(spec, unit);
  const known = { vms, destinations: new Map<string, string>() };
  const plainWords = (field: RuleField): string => fieldWords(field, fields, known);
  const wordsOf = (field: RuleField): ComponentChildren => {
    if (field === 'destinationNames') return destinationsText(spec.destinationNames.length);
    if (field === 'runbookUrl') {
      return <OutsideLink url={spec.runbookUrl} />;
    }
    if (field === 'runbookText') {
      return <span class="runbook-text">{plainWords(field)}</span>;
    }
    const typed = plainWords(field);
    return READINGS.has(field) ? (meaningText(typed, unit, format.value) ?? typed) : typed;
  };
  const displayed = ruleFields.filter(
    (field) => !ABOVE.has(field) && (field === 'destinationNames' || plainWords(field) !== ''),
  );
  return (
    <dl class="facts">
      {displayed.map((field) => (
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

/** Users who may not read destinations see only their number. */
function destinationsText(count: number): string {
  if (count === 0) return texts.noDestinations;
  return texts.destinationCount(count, formatCount(count, format.value));
}
