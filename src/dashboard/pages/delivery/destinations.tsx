/** All destinations, each with its status and the outcome of its last delivery. */

import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { StateBadge } from '../../components/badges.tsx';
import { ListTable } from '../../components/list-table.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import type { Column } from '../../components/table.tsx';
import { Age, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import type { Destination } from '../../data/catalogue.ts';
import { pagesOf, useListing } from '../../data/listing.ts';
import { useLoaded } from '../../data/loaded.ts';
import { format } from '../../data/preferences.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatCount } from '../../messages/format.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import type { PageProps } from '../page.ts';
import { StatusBadge, StatusReason } from './destination-status.tsx';
import { texts } from './destination-texts.ts';
import { kindText, sendsToText, titleOf } from './destination-words.ts';

const ROWS = 100;
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const list = useListing<Destination>(
    `destinations with states ${projectName}`,
    pagesOf('AlertService', 'listDestinations', 'destinations', { projectName, pageSize: ROWS }),
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  return (
    <>
      <div class="section-head">
        <h1>{pageTitles.destinations}</h1>
        <NewDestination project={project} />
      </div>
      <ListTable
        of={list}
        label={texts.list.label}
        columns={columnsOf()}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
        empty={
          <>
            <p>{texts.list.none}</p>
            <p class="weak">{texts.list.noneHelp}</p>
          </>
        }
      />
    </>
  );
}

/** Link to create another one, with the limit. */
function NewDestination({ project }: { readonly project: string }): VNode {
  const projectName = `projects/${project}`;
  const { state } = useLoaded(
    `limit of destinations ${projectName}`,
    async (options) => {
      const answer = await read('AlertService', 'getProjectOverview', { projectName }, options);
      return answer.limits.find(({ name }) => name === 'destinations');
    },
    POLL_SECONDS,
  );
  const known = state.value.value;
  const limit = known && formatCount(Number(known.limit), format.value);
  const used = known?.used && formatCount(Number(known.used), format.value);
  const isFull = known?.used !== undefined && Number(known.used) >= Number(known.limit);
  return (
    <ActionButton
      needs="EDITOR"
      blocked={isFull && limit ? texts.list.full(limit) : undefined}
      effect={used && limit && texts.list.quota(used, limit)}
      onPress={() => navigate(pathOf('newDestination', { project }))}
    >
      {texts.list.new}
    </ActionButton>
  );
}

function columnsOf(): readonly Column<Destination>[] {
  const { list } = texts;
  return [
    { key: 'name', title: list.name, width: 'grow', cell: titleOf },
    {
      key: 'state',
      title: list.state,
      cell: (destination) => <StatusBadge destination={destination} />,
    },
    { key: 'kind', title: list.kind, phone: 'second', cell: kindText },
    { key: 'to', title: list.to, width: 'grow', phone: 'second', cell: sendsToText },
    {
      key: 'why',
      title: list.why,
      phone: 'second',
      cell: (destination) => <StatusReason destination={destination} />,
    },
    {
      key: 'last',
      title: list.last,
      phone: 'second',
      cell: Last,
    },
  ];
}

/** The newest delivery and its failure, if any. */
function Last({ lastDelivery: last }: Pick<Destination, 'lastDelivery'>): VNode {
  if (last === undefined) return <span class="weak">{texts.list.noDelivery}</span>;
  return (
    <span class="badges">
      <ResourceLink name={last.name}>
        <StateBadge value={last.state} />
      </ResourceLink>
      <Age ms={msOf(last.attemptedUnix ?? last.createdUnix)} />
      {last.error !== '' && <span class="weak">{last.error}</span>}
    </span>
  );
}
