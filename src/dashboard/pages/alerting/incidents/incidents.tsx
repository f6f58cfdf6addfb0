/**
 * The incidents of a project: firing ones, worst first, or all, newest first. Rows are updated in
 * place as the service decides; new ones wait behind a button.
 */

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { StateBadge } from '../../../components/badges.tsx';
import { ageColumn, stateColumn } from '../../../components/columns.tsx';
import { NewRows } from '../../../components/list-foot.tsx';
import { ListTable } from '../../../components/list-table.tsx';
import type { Column } from '../../../components/table.tsx';
import { unitOf, useMetrics, useVms } from '../../../data/catalogue.ts';
import { nowMs } from '../../../data/clock.ts';
import { displayedOf } from '../../../data/loaded.ts';
import { usePeopleNames } from '../../../data/people-names.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import type { Incident } from '../../../data/watch.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { texts as common } from '../../../messages/en.ts';
import { query, setQuery } from '../../../router/location.ts';
import type { PageProps } from '../../page.ts';
import { IncidentFilters } from './incident-filters.tsx';
import { filterNames, requestOf } from './incident-list.ts';
import { texts } from './incident-texts.ts';
import {
  conditionText,
  isOpen,
  placeOf,
  snoozedUntilMs,
  titleOf,
  untilText,
  valueText,
} from './incident-words.ts';
import { SeveralActions } from './several-actions.tsx';
import { useIncidents } from './use-incidents.ts';

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const request = requestOf(projectName, query.value);
  const list = useIncidents(request);
  const vms = useVms(projectName);
  const metrics = useMetrics(projectName);
  const view = displayedOf(list.loader.state.value);
  const displayed = view.kind === 'value' ? view.value.items : [];
  const people = usePeopleNames(
    projectName,
    displayed.flatMap(({ acknowledged }) => (acknowledged ? [acknowledged.by] : [])),
  );
  // Changing the filter clears the selection, because the user no longer sees it.
  const chosen = useMemo(() => signal<ReadonlySet<string>>(new Set()), [JSON.stringify(request)]);
  const unitFor = (metricId: string): string => unitOf(metrics, metricId);
  const toggle = ({ name }: Incident): void => {
    const next = new Set(chosen.peek());
    if (!next.delete(name)) next.add(name);
    chosen.value = next;
  };
  const selection = {
    has: ({ name }: Incident) => chosen.value.has(name),
    toggle,
    label: (row: Incident) => texts.list.rowLabel(titleOf(row), placeOf(row)),
  };
  return (
    <>
      <h1>{pageTitles.incidents}</h1>
      <IncidentFilters projectName={projectName} vms={vms} />
      {list.status.value === 'connecting' && <p class="weak">{texts.list.connecting}</p>}
      <NewRows count={list.waiting.value} onShow={list.show} />
      <ListTable
        of={list.loader}
        label={texts.list.label}
        columns={columnsOf(unitFor, people)}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
        {...(mayDo('EDITOR') && { selection })}
        empty={<Empty />}
      />
      <SeveralActions
        projectName={projectName}
        rows={displayed}
        chosen={chosen}
        onDone={list.change}
      />
    </>
  );
}

function columnsOf(
  unitFor: (metricId: string) => string,
  people: ReadonlyMap<string, string>,
): readonly Column<Incident>[] {
  return [
    { key: 'what', title: texts.list.what, width: 'grow', cell: titleOf },
    stateColumn('severity', texts.list.severity, ({ severity }) => severity),
    {
      key: 'where',
      title: texts.list.where,
      width: 'grow',
      phone: 'second',
      cell: placeOf,
    },
    {
      key: 'value',
      title: texts.list.value,
      phone: 'second',
      cell: (incident) => <Value incident={incident} unit={unitFor(incident.metricId)} />,
    },
    ageColumn('since', texts.list.since, ({ startedUnix }) => startedUnix, { phone: 'second' }),
    {
      key: 'state',
      title: texts.list.state,
      phone: 'second',
      cell: (incident) => <Status incident={incident} people={people} />,
    },
  ];
}

function Value({ incident, unit }: { incident: Incident; unit: string }): VNode {
  const value = valueText(incident, unit, format.value);
  return (
    <span class="nowrap">
      {value ?? <span class="weak">{common.noReading}</span>}{' '}
      <span class="weak">{conditionText(incident, unit, format.value)}</span>
    </span>
  );
}

interface StatusProps {
  readonly incident: Incident;
  readonly people: ReadonlyMap<string, string>;
}

/** The state, and any action that members took. */
function Status({ incident, people }: StatusProps): VNode {
  const { acknowledged } = incident;
  const by = acknowledged && people.get(acknowledged.by);
  const untilMs = snoozedUntilMs(incident, nowMs.value);
  return (
    <span class="badges">
      <StateBadge value={incident.state} />
      {incident.dataState === 'MISSING' && isOpen(incident) && <StateBadge value="MISSING" />}
      {acknowledged && (
        <span class="weak">{by ? texts.act.acknowledgedBy(by) : texts.act.acknowledged}</span>
      )}
      {untilMs !== undefined && (
        <span class="weak">{texts.act.snoozed(untilText(untilMs, nowMs.value, format.value))}</span>
      )}
    </span>
  );
}

function Empty(): VNode {
  const isFiltered = filterNames.some((name) => query.value.has(name));
  if (!isFiltered) {
    return (
      <>
        <p>{texts.list.nothingOpen}</p>
        <p class="weak">{texts.list.nothingOpenHelp}</p>
      </>
    );
  }
  const none = Object.fromEntries(filterNames.map((name) => [name, undefined]));
  return (
    <>
      <p>{texts.list.nothingFound}</p>
      <button type="button" class="quiet" onClick={() => setQuery(none)}>
        {common.filter.clear}
      </button>
    </>
  );
}
