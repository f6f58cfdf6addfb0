/** Notifications of an incident: its deliveries with their outcomes. */

import type { VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { ageColumn } from '../../../components/columns.tsx';
import { DestinationLink } from '../../../components/destination-link.tsx';
import { ListTable } from '../../../components/list-table.tsx';
import { ResourceLink } from '../../../components/resource-link.tsx';
import type { Column } from '../../../components/table.tsx';
import { read } from '../../../data/call.ts';
import { useDestinationTitles } from '../../../data/catalogue.ts';
import { type ListLoader, type ListSize, useListing } from '../../../data/listing.ts';
import { idOf } from '../../../data/names.ts';
import type { RequestOf, ResponseOf } from '../../../data/rpc-types.ts';
import { notificationNames, texts, unsentNames } from './incident-texts.ts';

type Delivery = ResponseOf<'AlertService', 'listDeliveries'>['deliveries'][number];

const POLL_SECONDS = 15;
const ROWS = 100;

export function IncidentDeliveries(props: {
  readonly projectName: string;
  readonly incidentName: string;
}): VNode {
  const { projectName, incidentName } = props;
  const titles = useDestinationTitles(projectName);
  const size = { rows: ROWS, pollSeconds: POLL_SECONDS };
  const list = useDeliveries({ projectName, incidentName }, size);
  return (
    <section aria-label={texts.deliveries.title}>
      <h2>{texts.deliveries.title}</h2>
      <ListTable
        of={list}
        label={texts.deliveries.label}
        columns={deliveryColumns(titles)}
        keyOf={({ name }) => name}
        empty={
          <>
            <p>{texts.deliveries.none}</p>
            <p class="weak">{texts.deliveries.noneHelp}</p>
          </>
        }
      >
        <p class="weak">{texts.deliveries.sentMeaning}</p>
      </ListTable>
    </section>
  );
}

/** The deliveries of a request, newest first. */
export function useDeliveries(
  request: RequestOf<'AlertService', 'listDeliveries'>,
  size: ListSize<Delivery>,
): ListLoader<Delivery> {
  return useListing(
    `deliveries ${JSON.stringify(request)}`,
    async (pageToken, options) => {
      const page = { ...request, pageSize: size.rows, pageToken };
      const answer = await read('AlertService', 'listDeliveries', page, options);
      return { items: answer.deliveries, nextPageToken: answer.nextPageToken };
    },
    size,
  );
}

/**
 * The column for lists with deliveries of several incidents. `vms`: display names of VMs by
 * resource name.
 */
export const incidentColumn: Column<Delivery> = {
  key: 'incident',
  title: texts.deliveries.incident,
  width: 'grow',
  phone: 'second',
  cell: ({ name, incidentName, incidentCount, ruleDisplayName, vmName, vmDisplayName }) => {
    if (incidentName === '') return <span class="weak">{texts.deliveries.test}</span>;
    const isGroup = incidentCount > 1;
    const count = texts.deliveries.several(incidentCount);
    const place = isGroup ? count : vmDisplayName || idOf(vmName);
    const title = [ruleDisplayName, place].filter((part) => part !== '').join(', ');
    if (isGroup) return <ResourceLink name={name}>{title}</ResourceLink>;
    return <a href={`/${incidentName}`}>{title || idOf(incidentName)}</a>;
  },
};

/**
 * The columns of a list of deliveries. `titles`: display names of destinations by resource name.
 */
export function deliveryColumns(titles: ReadonlyMap<string, string>): readonly Column<Delivery>[] {
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
          {reason !== '' && <span class="weak">{unsentNames[reason] ?? reason}</span>}
        </span>
      ),
    },
    {
      key: 'to',
      title: texts.deliveries.to,
      width: 'grow',
      phone: 'second',
      cell: ({ recipient, destinationName, destinationDisplayName }) => (
        <DestinationLink name={destinationName} titles={titles}>
          {recipient || destinationDisplayName}
        </DestinationLink>
      ),
    },
    {
      key: 'attempts',
      title: texts.deliveries.attempts,
      align: 'right',
      phone: 'second',
      cell: ({ attempts }) => attempts.length,
    },
    ageColumn('when', texts.deliveries.when, ({ createdUnix }) => createdUnix, { phone: 'second' }),
  ];
}
