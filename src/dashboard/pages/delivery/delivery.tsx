/**
 * One delivery: the checks before each attempt, its outcome, the time of the next attempt, and the
 * path through its machine.
 */

import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { Badge, StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { DestinationLink } from '../../components/destination-link.tsx';
import { Fact } from '../../components/fact.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Age, msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useDestinationTitles } from '../../data/catalogue.ts';
import { serverClock } from '../../data/clock.ts';
import { useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import { pageTitles } from '../../layout/texts.ts';
import { RecordedPath } from '../../statechart/recorded-path.tsx';
import { AboveTitle } from '../above-title.tsx';
import { notificationNames, unsentNames } from '../alerting/incidents/incident-texts.ts';
import { placeOf, titleOf } from '../alerting/incidents/incident-words.ts';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { Attempts, type Delivery } from './attempts.tsx';
import { texts } from './texts.ts';

const POLL_SECONDS = 10;
/** States in which the next step is less than a second away. */
const UNDER_WAY = new Set(['QUEUED', 'RECHECKING', 'SENDING']);
const UNDER_WAY_MS = 1_000;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = `${projectName}/deliveries/${parameters.delivery}`;
  const delivery = useLoaded(
    name,
    (options) => read('AlertService', 'getDelivery', { name }, options),
    POLL_SECONDS,
  );
  const { value: known, loadedMs } = delivery.state.value;
  const isUnderWay = UNDER_WAY.has(known?.state ?? '');
  useEffect(
    () => (isUnderWay ? serverClock.wakeAfter(UNDER_WAY_MS, delivery.reload) : undefined),
    [delivery, isUnderWay, loadedMs],
  );
  return (
    <>
      <AboveTitle list="deliveries" project={project} />
      {known === undefined && <h1>{pageTitles.delivery}</h1>}
      <DataView of={delivery} lines={8}>
        {(value) => (
          <>
            <Facts delivery={value} projectName={projectName} />
            <Members of={value} />
            <h2>{texts.attempts}</h2>
            <Attempts delivery={value} />
            <h2>{texts.path}</h2>
            <RecordedPath
              projectName={projectName}
              machine="delivery"
              instanceName={name}
              pollSeconds={POLL_SECONDS}
            />
          </>
        )}
      </DataView>
    </>
  );
}

function Facts(props: { readonly delivery: Delivery; readonly projectName: string }): VNode {
  const { delivery, projectName } = props;
  const titles = useDestinationTitles(projectName);
  const { state, reason, incidentName, destinationName, recipient } = delivery;
  const title = useDeliveryTitle(delivery);
  const createdMs = msOf(delivery.createdUnix);
  const nextMs = msOf(delivery.nextAttemptUnix);
  return (
    <>
      <p class="incident-badges">
        <StateBadge value={state} />
      </p>
      <h1 class="name">{title}</h1>
      <dl class="facts">
        <Fact title={texts.incident}>
          {incidentName === '' ? (
            texts.test
          ) : isGroup(delivery) ? (
            texts.members.count(delivery.members.length)
          ) : (
            <IncidentLink name={incidentName} />
          )}
        </Fact>
        <Fact title={texts.destination}>
          <DestinationLink name={destinationName} titles={titles}>
            {delivery.destinationDisplayName}
          </DestinationLink>
        </Fact>
        {recipient !== '' && <Fact title={texts.recipient}>{recipient}</Fact>}
        {createdMs !== undefined && (
          <Fact title={texts.created}>
            <Time ms={createdMs} />
          </Fact>
        )}
        {nextMs !== undefined && isAwaited(state) && (
          <Fact title={texts.next}>
            <Time ms={nextMs} />, <Age ms={nextMs} />
          </Fact>
        )}
        {reason !== '' && <Fact title={texts.reason}>{unsentNames[reason] ?? reason}</Fact>}
      </dl>
      {state === 'SENT' && <p class="weak">{texts.sentMeaning}</p>}
    </>
  );
}

/** What it reports, with its rule and VM; also the title of the page. */
function useDeliveryTitle(delivery: Delivery): string {
  const { event, ruleDisplayName, vmName, vmDisplayName, members } = delivery;
  const vm = vmDisplayName || idOf(vmName);
  const place = isGroup(delivery) ? texts.members.several(members.length) : vm;
  const of = [ruleDisplayName, place].filter((part) => part !== '').join(', ');
  const title = [notificationNames[event] ?? event, of].filter((part) => part !== '').join(': ');
  useTitle(title);
  return title;
}

function isGroup({ members }: Delivery): boolean {
  return members.length > 1;
}

type Member = Delivery['members'][number];

/** The incidents that share the message; renders nothing for a single incident. */
function Members({ of: delivery }: { readonly of: Delivery }): VNode | null {
  if (!isGroup(delivery)) return null;
  const columns: readonly Column<Member>[] = [
    {
      key: 'incident',
      title: texts.incident,
      width: 'grow',
      cell: ({ incidentName, vmName, vmDisplayName }) =>
        vmDisplayName || idOf(vmName || incidentName),
    },
    {
      key: 'named',
      title: texts.members.named,
      cell: ({ droppedReason }) =>
        droppedReason === '' ? (
          <Badge tone="good" text={texts.members.yes} />
        ) : (
          <Badge
            tone="off"
            text={texts.members.dropped(unsentNames[droppedReason] ?? droppedReason)}
          />
        ),
    },
  ];
  return (
    <>
      <h2>{texts.members.title}</h2>
      <p class="weak">{texts.members.help(delivery.ruleDisplayName)}</p>
      <Table
        label={texts.members.title}
        columns={columns}
        rows={delivery.members}
        keyOf={({ incidentName }) => incidentName}
        href={({ incidentName }) => `/${incidentName}`}
      />
    </>
  );
}

/** False while an attempt is in progress: then the time is that of the attempt. */
function isAwaited(state: string): boolean {
  return state === 'QUEUED' || state === 'WAITING';
}

/** Rule and place, as in the incident list; the id until they are loaded. */
function IncidentLink({ name }: { readonly name: string }): VNode {
  const { value } = useLoaded(name, (options) =>
    read('AlertService', 'getIncident', { name }, options),
  ).state.value;
  return <a href={`/${name}`}>{value ? `${titleOf(value)}: ${placeOf(value)}` : idOf(name)}</a>;
}
