/**
 * The audit trail: who decided what and when, across all machines. Filters and the open step are
 * kept in the address. It does not refresh by itself; it shows the time as of which it was read.
 */
import { useComputed } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { nowMs, serverClock } from '../../data/clock.ts';
import { type ListLoader, useListing } from '../../data/listing.ts';
import { format } from '../../data/preferences.ts';
import { mayDo } from '../../data/projects.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatTime } from '../../messages/format.ts';
import { path, query } from '../../router/location.ts';
import { eventName } from '../../statechart/marking.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import type { PageProps } from '../page.ts';
import { Called } from './called.tsx';
import { pathOnChart } from './readers.ts';
import { TrailExport } from './trail-export.tsx';
import { TrailFilters } from './trail-filters.tsx';
import {
  changedStates,
  stateName,
  stepKey,
  TRAIL_FILTERS,
  trailKey,
  trailRequest,
  whoOf,
} from './trail-request.ts';
import { TrailStep } from './trail-step.tsx';
import { texts } from './trail-texts.ts';

const ROWS = 100;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  // The open step is in the address too, but does not affect the list.
  const key = trailKey(projectName, query.value);
  const list = useListing<Transition>(
    `trail ${key}`,
    async (pageToken, options) => {
      const filter = trailRequest(projectName, query.peek(), serverClock.now());
      const request = { ...filter, pageSize: ROWS, pageToken };
      const answer = await read('AuditService', 'listTransitions', request, options);
      return { items: answer.transitions, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS },
  );
  const seen = useSeen(list);
  return (
    <>
      <div class="section-head">
        <h1>{pageTitles.audit}</h1>
        <TrailExport projectName={projectName} />
      </div>
      <p class="weak">
        {texts.about} {!mayDo('OWNER') && texts.ownersOnly}
      </p>
      <TrailFilters projectName={projectName} seen={seen} />
      <DataView
        of={list}
        isEmpty={({ items, nextPageToken }) => items.length === 0 && nextPageToken === ''}
        empty={<Empty />}
      >
        {({ items, nextPageToken }) => (
          <>
            <Table
              label={texts.label}
              columns={columns}
              rows={items}
              keyOf={stepKey}
              href={hrefOf}
              rowCount={nextPageToken === '' ? items.length : -1}
            />
            <ListFoot of={list} />
            <AsOf of={list} />
          </>
        )}
      </DataView>
      <TrailStep projectName={projectName} known={list.state.value.value?.items ?? []} />
    </>
  );
}

/** All steps seen on this page: the filters offer their actors and events. */
function useSeen(list: ListLoader<Transition>): readonly Transition[] {
  const kept = useRef(new Map<string, Transition>());
  return useComputed(() => {
    for (const step of list.state.value.value?.items ?? []) {
      kept.current.set(`${step.by} ${step.event}`, step);
    }
    return [...kept.current.values()];
  }).value;
}

/** The address of a step: the same list with the step open. */
function hrefOf(step: Transition): string {
  const parameters = new URLSearchParams(query.value);
  parameters.set('step', stepKey(step));
  return `${path.value}?${parameters}`;
}

function Empty(): VNode {
  const isFiltered = TRAIL_FILTERS.some((name) => query.value.has(name));
  return <p>{isFiltered ? texts.nothingFound : texts.none}</p>;
}

function AsOf({ of }: { readonly of: ListLoader<Transition> }): VNode | null {
  const { loadedMs } = of.state.value;
  if (loadedMs === undefined) return null;
  return (
    <p>
      <span class="weak">{texts.asOf(formatTime(loadedMs, nowMs.peek(), format.value))}</span>{' '}
      <button type="button" class="quiet" onClick={of.reload}>
        {texts.again}
      </button>
    </p>
  );
}

const { column } = texts;
const columns: readonly Column<Transition>[] = [
  { key: 'when', title: column.when, cell: ({ atUnixMs }) => <Time ms={Number(atUnixMs)} /> },
  { key: 'event', title: column.event, cell: (step) => eventName(step.event) },
  { key: 'who', title: column.who, phone: 'second', cell: whoOf },
  { key: 'what', title: column.what, phone: 'second', cell: (step) => <What step={step} /> },
  { key: 'states', title: column.states, phone: 'second', cell: statesText },
];

/** The machine links to the path of the instance on its diagram, the resource to its own page. */
function What({ step }: { readonly step: Transition }): VNode {
  const { machine, instanceName } = step;
  const called = <Called step={step} />;
  const href = pathOnChart(machine, instanceName);
  return (
    <>
      {href === undefined ? machine : <a href={href}>{machine}</a>}{' '}
      {instanceName === '' ? called : <ResourceLink name={instanceName}>{called}</ResourceLink>}
    </>
  );
}

function statesText(step: Transition): string {
  const { left, entered } = changedStates(step);
  const [before, after] = [left, entered].map((ids) => ids.map(stateName).join(', '));
  if (step.fromStates.length === 0) return after ?? '';
  return before === '' && after === '' ? texts.unchanged : `${before} → ${after}`;
}
