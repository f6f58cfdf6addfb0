/** Filters of the incident list, kept in the address. */
import type { VNode } from 'preact';
import { Filters, SelectFilter } from '../../../components/filters.tsx';
import { useRules, type Vm } from '../../../data/catalogue.ts';
import { idOf } from '../../../data/names.ts';
import { names } from '../../../messages/en.ts';
import { query } from '../../../router/location.ts';
import { filterNames, severities } from './incident-list.ts';
import { texts } from './incident-texts.ts';
import { VmFilter } from './vm-filter.tsx';

export interface IncidentFiltersProps {
  readonly projectName: string;
  /** VMs to choose from; empty until they are loaded. */
  readonly vms: readonly Vm[];
}

export function IncidentFilters({ projectName, vms }: IncidentFiltersProps): VNode {
  const rules = [...useRules(projectName).values()].map(({ name, spec }) => ({
    value: idOf(name),
    title: spec?.displayName || idOf(name),
  }));
  const datacenters = [...new Set(vms.map(({ datacenter }) => datacenter))].filter(Boolean).sort();
  return (
    <Filters names={filterNames}>
      <SelectFilter
        name="state"
        label={texts.list.show}
        all={texts.list.open}
        options={[{ value: 'all', title: texts.list.all }]}
      />
      <SelectFilter
        name="severity"
        label={texts.list.severity}
        options={severities.map((value) => ({ value, title: names[value] ?? value }))}
      />
      <SelectFilter
        name="attention"
        label={texts.list.attention}
        options={[{ value: 'true', title: texts.list.attentionOnly }]}
      />
      <SelectFilter name="rule" label={texts.list.rule} options={withChosen('rule', rules)} />
      <VmFilter vms={vms} />
      <SelectFilter
        name="datacenter"
        label={texts.list.datacenter}
        options={withChosen(
          'datacenter',
          datacenters.map((value) => ({ value, title: value })),
        )}
      />
    </Filters>
  );
}

interface Option {
  readonly value: string;
  readonly title: string;
}

/** The value in the address stays selected even if the list does not contain it. */
function withChosen(name: string, options: readonly Option[]): readonly Option[] {
  const chosen = query.value.get(name);
  if (chosen === null || options.some(({ value }) => value === chosen)) return options;
  return [...options, { value: chosen, title: chosen }];
}
