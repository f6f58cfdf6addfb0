/** The newest recorded steps of a machine's instances; each links to the path of its instance. */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { pagesOf, useListing } from '../../data/listing.ts';
import { mayDo, projectId, projectName } from '../../data/projects.ts';
import { path } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { eventName } from '../../statechart/marking.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import { Called } from './called.tsx';
import { readerOf } from './readers.ts';
import { texts } from './texts.ts';
import { stateName, whoOf } from './trail-request.ts';

const ENOUGH = 50;

export function RecentSteps({ machine }: { readonly machine: string }): VNode {
  const needed = readerOf(machine);
  return (
    <section aria-labelledby="recent-steps">
      <div class="section-head">
        <h2 id="recent-steps">{texts.recent}</h2>
        {mayDo(needed) && <a href={trailOf(machine)}>{texts.allSteps}</a>}
      </div>
      {mayDo(needed) ? <Steps machine={machine} /> : <p>{texts.needs(needed)}</p>}
    </section>
  );
}

function trailOf(machine: string): string {
  const path = pathOf('audit', { project: projectId.value ?? '' });
  return `${path}?${new URLSearchParams({ machine })}`;
}

function Steps({ machine }: { readonly machine: string }): VNode {
  const project = projectName.value ?? '';
  const steps = useListing<Transition>(
    `steps ${project} ${machine}`,
    pagesOf('AuditService', 'listTransitions', 'transitions', {
      projectName: project,
      machine,
      pageSize: ENOUGH,
    }),
    { rows: ENOUGH },
  );
  return (
    <DataView of={steps} isEmpty={({ items }) => items.length === 0} empty={texts.noSteps}>
      {(listing) => (
        <>
          <Table
            label={texts.recent}
            columns={columns}
            rows={listing.items}
            keyOf={({ sequence, instance, event }) => `${sequence} ${instance} ${event}`}
            href={hrefOf}
          />
          <ListFoot of={steps} />
        </>
      )}
    </DataView>
  );
}

/** Instances without resource names, such as sessions, have no path that can be requested. */
function hrefOf({ instanceName }: Transition): string {
  if (instanceName === '') return path.value;
  return `${path.value}?instance=${encodeURIComponent(instanceName)}`;
}

const columns: readonly Column<Transition>[] = [
  {
    key: 'instance',
    title: texts.instance,
    cell: (step) => <Called step={step} />,
  },
  { key: 'event', title: texts.event, cell: ({ event }) => eventName(event) },
  {
    key: 'states',
    title: texts.states,
    cell: ({ toStates }) => toStates.map(stateName).join(', '),
    width: 'grow',
    phone: 'second',
  },
  {
    key: 'decided',
    title: texts.decided,
    cell: ({ atUnixMs }) => <Time ms={Number(atUnixMs)} />,
    phone: 'second',
  },
  {
    key: 'by',
    title: texts.by,
    cell: whoOf,
    phone: 'second',
  },
];
