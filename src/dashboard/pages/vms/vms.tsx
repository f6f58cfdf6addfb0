/** The project's VMs with their newest readings, filtered by the service. */

import type { VNode } from 'preact';
import { CopyButton } from '../../components/copy-button.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Filters, SearchField, SelectFilter } from '../../components/filters.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { read } from '../../data/call.ts';
import type { Vm } from '../../data/catalogue.ts';
import { type Listing, loadPages } from '../../data/listing.ts';
import { type Load, useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import { format } from '../../data/preferences.ts';
import type { RequestOf } from '../../data/rpc-types.ts';
import { pageTitles } from '../../layout/texts.ts';
import { names } from '../../messages/en.ts';
import { formatCount } from '../../messages/format.ts';
import { programOrigin, query, setQuery } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import type { PageProps } from '../page.ts';
import { vmColumns } from './readings.tsx';
import { parseSort, sortVms, toggledSort } from './sort.ts';
import { texts } from './texts.ts';

type State = NonNullable<RequestOf<'MonitoringService', 'listVMMonitoring'>['states']>[number];

const states = ['RUNNING', 'PAUSED', 'STOPPED', 'CRASHED', 'UNKNOWN'] as const satisfies State[];
const POLL_SECONDS = 30;
/** Maximum page size of the list. */
const PAGE_VMS_MAX = 1_000;

interface VmListing extends Listing<Vm> {
  /** Number of VMs that match the filters, loaded or not. */
  readonly totalSize: number;
}

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const search = query.value.get('search') ?? '';
  const state = states.find((one) => one === query.value.get('state'));
  const datacenter = query.value.get('datacenter') ?? '';
  const filter = { search, datacenter, states: state === undefined ? [] : [state] };
  const isFiltered = search !== '' || datacenter !== '' || state !== undefined;
  const loader = useLoaded(
    `vms ${projectName} ${JSON.stringify(filter)}`,
    (options) => loadVms({ projectName, ...filter }, options),
    POLL_SECONDS,
  );
  return (
    <>
      <h1>{pageTitles.vms}</h1>
      {(isFiltered || loader.state.value.value?.totalSize !== 0) && (
        <VmFilters projectName={projectName} />
      )}
      <DataView
        of={loader}
        lines={8}
        isEmpty={({ items }) => items.length === 0}
        empty={isFiltered ? texts.list.noneFits : <NoVms />}
      >
        {(listing) => <Vms listing={listing} project={project} />}
      </DataView>
    </>
  );
}

function VmFilters({ projectName }: { readonly projectName: string }): VNode {
  return (
    <Filters names={['search', 'state', 'datacenter']}>
      <SearchField name="search" label={texts.list.search} />
      <SelectFilter
        name="state"
        label={texts.state}
        all={texts.list.allStates}
        options={states.map((value) => ({ value, title: names[value] ?? value }))}
      />
      <Datacenters projectName={projectName} />
    </Filters>
  );
}

function NoVms(): VNode {
  const commands = `svc collect enrol --endpoint ${programOrigin()}\nsvc collect install`;
  return (
    <>
      <strong>{texts.list.none}</strong>
      <p>{texts.list.noneHelp}</p>
      <p>{texts.list.collect}</p>
      <div class="command">
        <pre>{commands}</pre>
        <CopyButton text={commands} />
      </div>
    </>
  );
}

async function loadVms(
  request: RequestOf<'MonitoringService', 'listVMMonitoring'>,
  options: Parameters<Load<VmListing>>[0],
): Promise<VmListing> {
  let totalSize = -1;
  const listing = await loadPages<Vm>(async (pageToken) => {
    const paged = { ...request, pageSize: PAGE_VMS_MAX, pageToken };
    const answer = await read('MonitoringService', 'listVMMonitoring', paged, options);
    totalSize = answer.totalSize;
    return { items: answer.vms, nextPageToken: answer.nextPageToken };
  }, VMS_MAX);
  return { ...listing, totalSize };
}

/** Ten pages: more VMs than a project may have by default. */
const VMS_MAX = 10_000;

function Vms(props: { readonly listing: VmListing; readonly project: string }): VNode {
  const { listing, project } = props;
  const sort = parseSort(query.value.get('sort'));
  const rows = sortVms(listing.items, sort);
  return (
    <>
      <p class="weak count">{texts.list.count(formatCount(listing.totalSize, format.value))}</p>
      <Table
        label={pageTitles.vms}
        columns={columns}
        rows={rows}
        rowCount={listing.totalSize}
        keyOf={({ name }) => name}
        href={({ name }) => pathOf('vm', { project, vm: idOf(name) })}
        sort={sort}
        onSort={(key) => setQuery({ sort: toggledSort(sort, key) })}
      />
    </>
  );
}

const { name, state, cpu, memory, telemetry, observed } = vmColumns;

const columns: readonly Column<Vm>[] = [
  { ...name, isSortable: true },
  state,
  { ...cpu, isSortable: true },
  { ...memory, isSortable: true },
  telemetry,
  { ...observed, isSortable: true },
  {
    key: 'datacenter',
    title: texts.datacenter,
    phone: 'hide',
    cell: ({ datacenter }) => datacenter,
  },
];

/** The filter by data center; hidden if there is no choice. */
function Datacenters({ projectName }: { readonly projectName: string }): VNode | null {
  const overview = useLoaded(`datacenters ${projectName}`, (options) =>
    read('AlertService', 'getProjectOverview', { projectName }, options),
  );
  const known = overview.state.value.value?.datacenters.map(({ name }) => name) ?? [];
  if (known.length < 2 && !query.value.has('datacenter')) return null;
  const options = known.map((value) => ({ value, title: value }));
  return (
    <SelectFilter
      name="datacenter"
      label={texts.datacenter}
      all={texts.list.allDatacenters}
      options={options}
    />
  );
}
