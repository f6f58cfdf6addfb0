/** Who was notified of an incident: its deliveries with what came of each. */
import type { VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Age, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { type Listing, loadPages } from '../../data/pages.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { notificationNames, texts } from './incident-texts.ts';
import { ResourceLink } from './resource-link.tsx';
import { useDestinationTitles } from './use-destinations.ts';

type Delivery = ResponseOf<'AlertService', 'listDeliveries'>['deliveries'][number];

const POLL_SECONDS = 15;
const ROWS = 100;

export function IncidentDeliveries(props: {
  readonly projectName: string;
  readonly incidentName: string;
}): VNode {
  const { projectName, incidentName } = props;
  const titleOf = useDestinationTitles(projectName);
  const loadPage =
    (options: Parameters<typeof read>[3]) =>
    async (pageToken: string): Promise<{ items: Delivery[]; nextPageToken: string }> => {
      const request = { projectName, incidentName, pageSize: ROWS, pageToken };
      const answer = await read('AlertService', 'listDeliveries', request, options);
      return { items: answer.deliveries, nextPageToken: answer.nextPageToken };
    };
  const loader = useLoaded<Listing<Delivery>>(
    `deliveries ${incidentName}`,
    (options) => loadPages(loadPage(options), ROWS),
    POLL_SECONDS,
  );
  return (
    <section aria-label={texts.deliveries.title}>
      <h2>{texts.deliveries.title}</h2>
      <DataView
        of={loader}
        isEmpty={({ items }) => items.length === 0}
        empty={
          <>
            <p>{texts.deliveries.none}</p>
            <p class="weak">{texts.deliveries.noneHelp}</p>
          </>
        }
      >
        {(listing) => (
          <>
            <Table
              label={texts.deliveries.label}
              columns={deliveryColumns(titleOf)}
              rows={listing.items}
              keyOf={({ name }) => name}
            />
            {listing.nextPageToken !== '' && (
              <ListFoot
                listing={listing}
                isLoading={loader.state.value.isLoading}
                onMore={() => {
                  void loadPages(loadPage({}), ROWS, listing).then(loader.set);
                }}
              />
            )}
            <p class="weak">{texts.deliveries.sentMeaning}</p>
          </>
        )}
      </DataView>
    </section>
  );
}

/** The columns of a list of deliveries. `titleOf`: how a destination is called. */
export function deliveryColumns(
  titleOf: (destinationName: string) => string,
): readonly Column<Delivery>[] {
  return [
    {
      key: 'event',
      title: texts.deliveries.event,
      cell: ({ name, event }) => (
        <ResourceLink name={name}>{notificationNames[event] ?? event}</ResourceLink>
      ),
    },
    {
      key: 'outcome',
      title: texts.deliveries.outcome,
      cell: ({ state, reason }) => (
        <span class="badges">
          <StateBadge value={state} />
          {reason !== '' && <code class="weak">{reason}</code>}
        </span>
      ),
    },
    {
      key: 'to',
      title: texts.deliveries.to,
      width: 'grow',
      phone: 'second',
      cell: ({ recipient, destinationName }) => recipient || titleOf(destinationName),
    },
    {
      key: 'attempts',
      title: texts.deliveries.attempts,
      align: 'right',
      phone: 'second',
      cell: ({ attempts }) => attempts.length,
    },
    {
      key: 'when',
      title: texts.deliveries.when,
      phone: 'second',
      cell: ({ createdUnix }) => <Age ms={msOf(createdUnix)} />,
    },
  ];
}
