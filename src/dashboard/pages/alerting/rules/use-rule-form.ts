/**
 * Ground of the form of a rule, for a new one and for one that is edited: the choices of the
 * project, the units, and the problems of its fields.
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
  /** undefined while a field cannot be read. */
  readonly spec: RuleSpec | undefined;
  /** Sentences beside the fields: missing ones only once somebody tried to save. */
  readonly problems: Readonly<Partial<Record<RuleField, string>>>;
  /** Titles of all fields that cannot be read. */
  readonly unreadable: readonly string[];
  /** Somebody tries to save: from now on missing fields are marked. */
  attempt(): void;
}

/** What is not filled in yet is no mistake before somebody tries to save. */
const atFirst: ReadonlySet<string> = new Set(['missing', 'noVm']);

/** @param state of the change that saves it: a refusal that names a field stands beside that field */
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
  const shown = found.filter(([, problem]) => isAttempted.value || !atFirst.has(problem));
  const refused = state.kind === 'refused' ? state.error : undefined;
  const refusedField = refused?.metadata.field?.replace(/^spec\./, '');
  return {
    spec: specOf(fields, unit),
    problems: {
      ...(refused && refusedField && { [refusedField]: refused.message }),
      ...Object.fromEntries(shown.map(([field, problem]) => [field, texts.problems[problem]])),
    },
    unreadable: found.map(([field]) => fieldTitles[field]),
    attempt() {
      isAttempted.value = true;
    },
  };
}
