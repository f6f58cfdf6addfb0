/**
 * One destination: its status, its actions, its last failure, its mail recipients, the rules that
 * name it, and its deliveries.
 */

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { Fact } from '../../components/fact.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { Table } from '../../components/table.tsx';
import { Age, msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { type Destination, type Rule, useRuleList } from '../../data/catalogue.ts';
import type { ListLoader } from '../../data/listing.ts';
import { useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import { pageTitles } from '../../layout/texts.ts';
import { pathOf } from '../../router/match.ts';
import { AboveTitle } from '../above-title.tsx';
import {
  deliveryColumns,
  incidentColumn,
  useDeliveries,
} from '../alerting/incidents/incident-deliveries.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { DestinationActions, RuleNames } from './destination-actions.tsx';
import { StatusBadge, StatusReason } from './destination-status.tsx';
import { texts as all } from './destination-texts.ts';
import {
  helpAfter,
  kindOf,
  kindText,
  lastFailureOf,
  sendsToText,
  titleOf,
} from './destination-words.ts';
import { groupWaitText } from './group-wait.tsx';
import { Recipients } from './recipients.tsx';
import { type Rotated, WebhookSecret, type WithSecret } from './webhook-secret.tsx';

const texts = all.one;
const POLL_SECONDS = 15;
const DELIVERY_ROWS = 20;
/** Empty, because the links would lead to this page. */
const NO_LINKS: ReadonlyMap<string, string> = new Map();

export function Page({ parameters }: PageProps): VNode {
  const { project = '', destination: id = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = `${projectName}/destinations/${id}`;
  const loader = useLoaded(
    name,
    (options) => read('AlertService', 'getDestination', { name }, options),
    POLL_SECONDS,
  );
  const secret = useSignal<WithSecret | undefined>(undefined);
  const rotated = (answer: Rotated): void => {
    secret.value = answer;
    if (answer.destination) loader.set(answer.destination);
  };
  const rules = useRuleList(projectName);
  const known = loader.state.value.value;
  useTitle(known && titleOf(known));
  return (
    <>
      <AboveTitle list="destinations" project={project} />
      {known === undefined && <h1>{pageTitles.destination}</h1>}
      <DataView of={loader} lines={6}>
        {(destination) => (
          <>
            <Facts destination={destination} />
            {secret.value !== undefined && (
              <WebhookSecret
                destination={destination}
                displayed={secret.value}
                onStored={() => {
                  secret.value = undefined;
                }}
                onRotated={rotated}
              />
            )}
            <DestinationActions
              project={project}
              destination={destination}
              rules={rulesNaming(rules, name)}
              onChanged={loader.set}
              onRotated={rotated}
            />
            {destination.email && (
              <Recipients
                name={name}
                recipients={destination.email.recipients}
                onChanged={loader.set}
              />
            )}
            <Deliveries project={project} destination={destination} />
            <Rules of={rules} name={name} />
          </>
        )}
      </DataView>
    </>
  );
}

function Facts({ destination }: { readonly destination: Destination }): VNode {
  const { name, createdUnix, updatedUnix, secretOverlapEndsUnix } = destination;
  const [createdMs, updatedMs] = [msOf(createdUnix), msOf(updatedUnix)];
  const overlapMs = msOf(secretOverlapEndsUnix);
  return (
    <>
      <p class="incident-badges">
        <StatusBadge destination={destination} />
        <StatusReason destination={destination} />
      </p>
      <h1 class="name">{titleOf(destination)}</h1>
      <dl class="facts wide">
        <Fact title={texts.kind}>{kindText(destination)}</Fact>
        <Fact title={texts.to}>{sendsToText(destination)}</Fact>
        {destination.groupWaitSeconds !== undefined && (
          <Fact title={all.groupWait.label}>{groupWaitText(destination.groupWaitSeconds)}</Fact>
        )}
        {overlapMs !== undefined && (
          <Fact title={texts.overlap}>
            <Time ms={overlapMs} />, <Age ms={overlapMs} />
          </Fact>
        )}
        {createdMs !== undefined && (
          <Fact title={texts.created}>
            <Time ms={createdMs} />
          </Fact>
        )}
        {updatedMs !== undefined && updatedMs !== createdMs && (
          <Fact title={texts.updated}>
            <Time ms={updatedMs} />
          </Fact>
        )}
        <Fact title={texts.resourceName}>
          <code>{name}</code>
        </Fact>
      </dl>
    </>
  );
}

/** Its deliveries, with the newest failure in words first. */
function Deliveries(props: { readonly project: string; readonly destination: Destination }): VNode {
  const { project, destination } = props;
  const { name } = destination;
  const projectName = `projects/${project}`;
  const size = { rows: DELIVERY_ROWS, pollSeconds: POLL_SECONDS };
  const columns = deliveryColumns(NO_LINKS).filter(({ key }) => key !== 'to' || destination.email);
  columns.splice(1, 0, incidentColumn);
  const list = useDeliveries({ projectName, destinationName: name }, size);
  return (
    <section aria-labelledby="deliveries">
      <div class="section-head">
        <h2 id="deliveries">{texts.deliveries}</h2>
        <a href={`${pathOf('deliveries', { project })}?destination=${idOf(name)}`}>
          {texts.allDeliveries}
        </a>
      </div>
      <DataView
        of={list}
        isEmpty={({ items }) => items.length === 0}
        empty={<p>{texts.noDeliveries}</p>}
      >
        {({ items }) => (
          <>
            <LastFailure destination={destination} last={lastFailureOf(items)} />
            <Table
              label={texts.deliveries}
              columns={columns}
              rows={items.slice(0, DELIVERY_ROWS)}
              keyOf={(delivery) => delivery.name}
            />
          </>
        )}
      </DataView>
    </section>
  );
}

function LastFailure(props: {
  readonly destination: Destination;
  readonly last: ReturnType<typeof lastFailureOf>;
}): VNode | null {
  const { destination, last } = props;
  if (last === undefined) return null;
  const { attempt, deliveryName } = last;
  const { error, httpStatus, startedUnix, outcome } = attempt;
  const { failure } = all;
  const status = httpStatus === undefined ? failure.noAnswer : failure.status(httpStatus);
  return (
    <NoticeBox
      tone={outcome === 'unknown' ? 'unknown' : 'warning'}
      title={
        <>
          {outcome === 'unknown' ? failure.unknownTitle : failure.title},{' '}
          <Age ms={msOf(startedUnix)} />
        </>
      }
    >
      <p>
        {error || status}. {helpAfter(kindOf(destination), attempt)}
      </p>
      <p>
        <ResourceLink name={deliveryName}>{failure.open}</ResourceLink>
      </p>
    </NoticeBox>
  );
}

/** Undefined until the rules are loaded. */
function rulesNaming(rules: ListLoader<Rule>, name: string): readonly Rule[] | undefined {
  return rules.state.value.value?.items.filter(({ spec }) => names(spec, name));
}

function names(spec: Rule['spec'], name: string): boolean {
  return spec?.destinationNames.includes(name) === true;
}

function Rules(props: { readonly of: ListLoader<Rule>; readonly name: string }): VNode {
  const { of: rules, name } = props;
  return (
    <section aria-labelledby="rules">
      <h2 id="rules">{texts.rules}</h2>
      <DataView
        of={rules}
        isEmpty={({ items }) => !items.some(({ spec }) => names(spec, name))}
        empty={
          <>
            <p>{texts.noRules}</p>
            <p class="weak">{texts.noRulesHelp}</p>
          </>
        }
      >
        {({ items }) => <RuleNames rules={items.filter(({ spec }) => names(spec, name))} />}
      </DataView>
    </section>
  );
}
