/**
 * Shared state of the form for new and edited rules: the options of the project, the units, and the
 * problems of the fields.
 */
import { useSignal } from '@preact/signals';
import { unitOf, useDestinations, useMetrics, useVms, vmNamesOf } from '../../../data/catalogue.ts';
import type { MutationState } from '../../../data/mutation.ts';
import {
  problemsOf,
  type RuleField,
  type RuleFields,
  type RuleSpec,
  specOf,
} from './rule-fields.ts';
import type { RuleChoices } from './rule-form.tsx';
import { texts } from './rule-texts.ts';
import { fieldTitles } from './rule-words.ts';

export function useRuleChoices(projectName: string): RuleChoices {
  const metrics = useMetrics(projectName);
  const vms = vmNamesOf(useVms(projectName));
  const destinations = useDestinations(projectName);
  return { projectName, metrics, vms, destinations };
}

export interface CheckedRule {
  /** Undefined while a field cannot be parsed. */
  readonly spec: RuleSpec | undefined;
  /** Sentences next to the fields; missing values are reported only after an attempt to save. */
  readonly problems: Readonly<Partial<Record<RuleField, string>>>;
  /** Titles of all fields that cannot be parsed. */
  readonly unreadable: readonly string[];
  /** Called on an attempt to save: from now on missing fields are marked. */
  attempt(): void;
}

/** An empty field is not an error before the first attempt to save. */
const atFirst: ReadonlySet<string> = new Set(['missing', 'noVm']);

/**
 * @param state of the change that saves it: a rejection that names a field is shown next to that
 * field
 */
export function useCheckedRule(
  fields: RuleFields,
  choices: RuleChoices,
  state: MutationState<unknown>,
): CheckedRule {
  const isAttempted = useSignal(false);
  const unit = unitOf(choices.metrics, fields.metricId);
  const found = Object.entries(problemsOf(fields, unit)) as [
    RuleField,
    keyof typeof texts.problems,
  ][];
  const displayed = found.filter(([, problem]) => isAttempted.value || !atFirst.has(problem));
  const refused = state.kind === 'refused' ? state.error : undefined;
  const refusedField = refused?.metadata.field?.replace(/^spec\./, '');
  return {
    spec: specOf(fields, unit),
    problems: {
      ...(refused && refusedField && { [refusedField]: refused.message }),
      ...Object.fromEntries(displayed.map(([field, problem]) => [field, texts.problems[problem]])),
    },
    unreadable: found.map(([field]) => fieldTitles[field]),
    attempt() {
      isAttempted.value = true;
    },
  };
}
