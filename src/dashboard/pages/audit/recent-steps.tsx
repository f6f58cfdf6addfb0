/** The newest recorded steps of a machine's instances; each leads to its instance's path. */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { type Loader, useLoaded } from '../../data/loaded.ts';
import { type Listing, loadPages } from '../../data/pages.ts';
import { mayDo, projectName } from '../../data/projects.ts';
import { path } from '../../router/location.ts';
import { eventName } from '../../statechart/marking.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import { readerOf } from './readers.ts';
import { texts } from './texts.ts';

const ENOUGH = 50;

export function RecentSteps({ machine }: { readonly machine: string }): VNode {
  const needed = readerOf(machine);
  return (
    <section aria-labelledby="recent-steps">
      <h2 id="recent-steps">{texts.recent}</h2>
      {mayDo(needed) ? <Steps machine={machine} /> : <p>{texts.needs(needed)}</p>}
    </section>
  );
}

function Steps({ machine }: { readonly machine: string }): VNode {
  const project = projectName.value ?? '';
  const loadMore = (from?: Listing<Transition>, signal?: AbortSignal) =>
    loadPages<Transition>(
      async (pageToken) => {
        const request = { projectName: project, machine, pageSize: ENOUGH, pageToken };
        const options = signal === undefined ? {} : { signal };
        const answer = await read('AuditService', 'listTransitions', request, options);
        return { items: answer.transitions, nextPageToken: answer.nextPageToken };
      },
      ENOUGH,
      from,
    );
  const steps = useLoaded(`steps ${project} ${machine}`, ({ signal }) =>
    loadMore(undefined, signal),
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
          <ListFoot
            listing={listing}
            isLoading={steps.state.value.isLoading}
            onMore={() => void more(steps, listing, loadMore)}
          />
        </>
      )}
    </DataView>
  );
}

async function more(
  steps: Loader<Listing<Transition>>,
  listing: Listing<Transition>,
  loadMore: (from: Listing<Transition>) => Promise<Listing<Transition>>,
): Promise<void> {
  steps.set(await loadMore(listing));
}

/** A machine without resource names, such as a session's, has paths that nobody can ask for. */
function hrefOf({ instanceName }: Transition): string {
  if (instanceName === '') return path.value;
  return `${path.value}?instance=${encodeURIComponent(instanceName)}`;
}

const columns: readonly Column<Transition>[] = [
  {
    key: 'instance',
    title: texts.instance,
    cell: ({ instance }) => <code>{instance}</code>,
    width: 'grow',
  },
  { key: 'event', title: texts.event, cell: ({ event }) => eventName(event) },
  {
    key: 'states',
    title: texts.states,
    cell: ({ toStates }) => toStates.map((id) => id.split('.').slice(-2).join(' ')).join(', '),
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
    cell: ({ by, byDisplayName }) => byDisplayName || by,
    phone: 'hide',
  },
];
