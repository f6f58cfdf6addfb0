/** The state of each rule for each VM, whether or not it is firing: up to ten thousand rows. */
import type { VNode } from 'preact';
import { InstanceBadges } from '../../../components/badges.tsx';
import { DataView } from '../../../components/data-view.tsx';
import { Filters, SelectFilter } from '../../../components/filters.tsx';
import { ListFoot } from '../../../components/list-foot.tsx';
import { ResourceLink } from '../../../components/resource-link.tsx';
import { type Column, Table } from '../../../components/table.tsx';
import { Age, msOf } from '../../../components/time.tsx';
import { read } from '../../../data/call.ts';
import { unitOf, useMetrics, useRules, useVms, type Vm } from '../../../data/catalogue.ts';
import { type Listing, useListing } from '../../../data/listing.ts';
import { idOf } from '../../../data/names.ts';
import { format } from '../../../data/preferences.ts';
import type { RequestOf } from '../../../data/rpc-types.ts';
import { pageTitles } from '../../../layout/texts.ts';
import { texts as common, names } from '../../../messages/en.ts';
import { formatCount, formatReading } from '../../../messages/format.ts';
import { path, query } from '../../../router/location.ts';
import { pathOf } from '../../../router/match.ts';
import type { PageProps } from '../../page.ts';
import { VmFilter } from '../incidents/vm-filter.tsx';
import { type AlertInstance, hrefOf, keyOf } from './instance-names.ts';
import { texts } from './instance-texts.ts';

/** As many rows as ten pages hold; more are loaded on request. */
const ROWS = 10_000;
const PAGE_ROWS = 1_000;
const POLL_SECONDS = 60;
const STATES = ['FIRING', 'SUSTAINING', 'IDLE'] as const;
const DATA_STATES = ['OBSERVED', 'MISSING'] as const;
const FILTERS = ['state', 'data', 'vm', 'rule'];

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const request = requestOf(projectName, query.value);
  const list = useListing<AlertInstance>(
    JSON.stringify(request),
    async (pageToken, options) => {
      const page = { ...request, pageSize: PAGE_ROWS, pageToken };
      const answer = await read('AlertService', 'listAlertInstances', page, options);
      return { items: answer.instances, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  const words = useWords(projectName);
  return (
    <>
      <h1>{pageTitles.alertInstances}</h1>
      <p class="weak">{texts.about}</p>
      <InstanceFilters words={words} />
      <DataView
        of={list}
        isEmpty={({ items, nextPageToken }) => items.length === 0 && nextPageToken === ''}
        empty={<Empty project={parameters.project ?? ''} />}
      >
        {(listing) => (
          <>
            <Counts of={listing} />
            <Table
              label={texts.label}
              columns={columnsOf(words)}
              rows={listing.items}
              keyOf={keyOf}
              href={(row) => hrefOf(projectName, row)}
              rowCount={listing.nextPageToken === '' ? listing.items.length : -1}
            />
            {listing.nextPageToken !== '' && <ListFoot of={list} />}
          </>
        )}
      </DataView>
    </>
  );
}

/**
 * The total number, and links to instances that are not idle, which are scattered among thousands.
 */
function Counts({ of }: { readonly of: Listing<AlertInstance> }): VNode {
  const { items, nextPageToken } = of;
  const text = formatCount(items.length, format.value);
  const isAny = !query.value.has('state');
  return (
    <p class="count links">
      <span class="weak">
        {nextPageToken === ''
          ? common.table.rows(items.length, text)
          : common.table.rowsSoFar(text)}
      </span>
      {isAny && <OnlyIn state="FIRING" of={items} />}
      {isAny && <OnlyIn state="SUSTAINING" of={items} />}
    </p>
  );
}

interface OnlyInProps {
  readonly state: AlertInstance['state'];
  readonly of: readonly AlertInstance[];
}

/** Links to instances in a state, keeping the other filters; renders nothing if there are none. */
function OnlyIn({ state, of }: OnlyInProps): VNode | null {
  const count = of.filter((one) => one.state === state).length;
  if (count === 0) return null;
  const parameters = new URLSearchParams(query.value);
  parameters.set('state', state);
  return (
    <a href={`${path.value}?${parameters}`}>
      {texts.only(formatCount(count, format.value), names[state] ?? state)}
    </a>
  );
}

/** Options of the filters, and units, which instances do not carry. */
interface Words {
  readonly vms: readonly Vm[];
  readonly rules: ReturnType<typeof useRules>;
  readonly unitFor: (ruleName: string) => string;
}

function useWords(projectName: string): Words {
  const rules = useRules(projectName);
  const vms = useVms(projectName);
  const metrics = useMetrics(projectName);
  return {
    rules,
    vms,
    unitFor: (rule) => unitOf(metrics, rules.get(rule)?.spec?.metricId ?? ''),
  };
}

/** Filters of the address: `?state=SUSTAINING&data=MISSING&vm=id&rule=id`. */
function requestOf(
  projectName: string,
  parameters: URLSearchParams,
): RequestOf<'AlertService', 'listAlertInstances'> {
  const [vm, rule] = [parameters.get('vm'), parameters.get('rule')];
  const dataState = DATA_STATES.find((state) => state === parameters.get('data'));
  return {
    projectName,
    states: STATES.filter((state) => state === parameters.get('state')),
    ...(dataState && { dataState }),
    ...(vm !== null && { vmName: `${projectName}/vms/${vm}` }),
    ...(rule !== null && { ruleName: `${projectName}/alertRules/${rule}` }),
  };
}

function InstanceFilters({ words: { vms, rules } }: { readonly words: Words }): VNode {
  const titled = (value: string) => ({ value, title: names[value] ?? value });
  const ruleOptions = [...rules.values()].map(({ name, spec }) => ({
    value: idOf(name),
    title: spec?.displayName || idOf(name),
  }));
  return (
    <Filters names={FILTERS}>
      <SelectFilter name="state" label={texts.state} options={STATES.map(titled)} />
      <SelectFilter name="data" label={texts.data} options={DATA_STATES.map(titled)} />
      <SelectFilter name="rule" label={texts.rule} options={ruleOptions} />
      <VmFilter vms={vms} />
    </Filters>
  );
}

function columnsOf({ unitFor }: Words): readonly Column<AlertInstance>[] {
  return [
    {
      key: 'vm',
      title: texts.vm,
      width: 'grow',
      cell: ({ vmName, vmDisplayName, labels }) =>
        [vmDisplayName || idOf(vmName), ...Object.values(labels)].join(' · '),
    },
    {
      key: 'state',
      title: texts.state,
      cell: (one) => <InstanceBadges {...one} />,
    },
    {
      key: 'rule',
      title: texts.rule,
      width: 'grow',
      phone: 'second',
      cell: ({ ruleName, ruleDisplayName }) => (
        <ResourceLink name={ruleName}>{ruleDisplayName || idOf(ruleName)}</ResourceLink>
      ),
    },
    {
      key: 'value',
      title: texts.value,
      align: 'right',
      phone: 'second',
      cell: ({ ruleName, lastValue }) =>
        lastValue === undefined ? (
          <span class="weak">{common.noReading}</span>
        ) : (
          formatReading(lastValue, unitFor(ruleName), format.value)
        ),
    },
    {
      key: 'since',
      title: texts.since,
      phone: 'hide',
      cell: ({ sinceUnix }) => sinceUnix !== undefined && <Age ms={msOf(sinceUnix)} />,
    },
    {
      key: 'fires',
      title: texts.fires,
      phone: 'hide',
      cell: ({ firesAtUnix }) => firesAtUnix !== undefined && <Age ms={msOf(firesAtUnix)} />,
    },
  ];
}

function Empty({ project }: { readonly project: string }): VNode {
  if (FILTERS.some((name) => query.value.has(name))) return <p>{texts.nothingFound}</p>;
  return (
    <>
      <p>{texts.none}</p>
      <p class="weak">{texts.noneHelp}</p>
      <p>
        <a href={pathOf('alertRules', { project })}>{pageTitles.alertRules}</a>
      </p>
    </>
  );
}
