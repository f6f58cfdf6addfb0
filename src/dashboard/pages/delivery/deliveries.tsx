/** The notifications of a project, newest first, with their outcomes. */

import type { VNode } from 'preact';
import { Filters, SelectFilter } from '../../components/filters.tsx';
import { ListTable } from '../../components/list-table.tsx';
import { useDestinationTitles } from '../../data/catalogue.ts';
import { mayDo } from '../../data/projects.ts';
import type { RequestOf } from '../../data/rpc-types.ts';
import { pageTitles } from '../../layout/texts.ts';
import { names } from '../../messages/en.ts';
import { query } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import {
  deliveryColumns,
  incidentColumn,
  useDeliveries,
} from '../alerting/incidents/incident-deliveries.tsx';
import { notificationNames } from '../alerting/incidents/incident-texts.ts';
import type { PageProps } from '../page.ts';
import { texts } from './texts.ts';

type Request = RequestOf<'AlertService', 'listDeliveries'>;

const ROWS = 200;
const POLL_SECONDS = 30;
const STATES = [
  'QUEUED',
  'RECHECKING',
  'SENDING',
  'WAITING',
  'SENT',
  'SUPPRESSED',
  'EXPIRED',
  'FAILED',
] as const;
const EVENTS = ['FIRING', 'REPEATED', 'RECOVERED', 'TEST'] as const;
const FILTERS = ['state', 'event', 'incident', 'destination', 'from', 'to'];

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const request = requestOf(projectName, query.value);
  const list = useDeliveries(request, { rows: ROWS, pollSeconds: POLL_SECONDS });
  const titles = useDestinationTitles(projectName);
  const [event, ...others] = deliveryColumns(titles);
  const columns = [...(event ? [event] : []), incidentColumn, ...others];
  return (
    <>
      <h1>{pageTitles.deliveries}</h1>
      <Filters names={FILTERS}>
        <SelectFilter name="state" label={texts.list.state} options={optionsOf(STATES, names)} />
        <SelectFilter
          name="event"
          label={texts.list.event}
          options={optionsOf(EVENTS, notificationNames)}
        />
        {request.incidentName && <span class="weak">{texts.list.ofIncident}</span>}
        {request.destinationName && <span class="weak">{texts.list.ofDestination}</span>}
      </Filters>
      <ListTable
        of={list}
        label={texts.list.label}
        columns={columns}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
        empty={<Empty project={parameters.project ?? ''} />}
      >
        <p class="weak">{texts.sentMeaning}</p>
      </ListTable>
    </>
  );
}

/** Filters in the address: `?state=FAILED&event=FIRING&incident=id&from=unix&to=unix`. */
function requestOf(projectName: string, parameters: URLSearchParams): Request {
  const incident = parameters.get('incident');
  const destination = parameters.get('destination');
  const [from, to] = ['from', 'to'].map((name) => parameters.get(name) ?? '');
  return {
    projectName,
    states: STATES.filter((state) => state === parameters.get('state')),
    events: EVENTS.filter((event) => event === parameters.get('event')),
    ...(incident !== null && { incidentName: `${projectName}/incidents/${incident}` }),
    ...(destination !== null && { destinationName: `${projectName}/destinations/${destination}` }),
    ...(/^\d+$/.test(from ?? '') && { startTimeUnix: from }),
    ...(/^\d+$/.test(to ?? '') && { endTimeUnix: to }),
  };
}

function optionsOf(values: readonly string[], titles: Readonly<Record<string, string>>) {
  return values.map((value) => ({ value, title: titles[value] ?? value }));
}

function Empty({ project }: { readonly project: string }): VNode {
  if (FILTERS.some((name) => query.value.has(name))) return <p>{texts.list.nothingFound}</p>;
  return (
    <>
      <p>{texts.list.none}</p>
      <p class="weak">{texts.list.noneHelp}</p>
      <p class="links">
        <a href={pathOf('alertRules', { project })}>{pageTitles.alertRules}</a>
        {mayDo('EDITOR') && (
          <a href={pathOf('destinations', { project })}>{pageTitles.destinations}</a>
        )}
      </p>
    </>
  );
}
