/**
 * One notification on its way: what was checked before each attempt, what came of it, when the next
 * one is, and its path through its machine.
 */
import type { ComponentChildren, VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Age, msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { pageTitles } from '../../layout/texts.ts';
import { RecordedPath } from '../../statechart/recorded-path.tsx';
import { notificationNames } from '../alerting/incident-texts.ts';
import { idOf } from '../alerting/incident-words.ts';
import { useDestinationTitles } from '../alerting/use-destinations.ts';
import type { PageProps } from '../page.ts';
import { Attempts, type Delivery } from './attempts.tsx';
import { texts } from './texts.ts';

/** While it is under way its next step is seconds away. */
const POLL_SECONDS = 10;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const name = `${projectName}/deliveries/${parameters.delivery}`;
  const delivery = useLoaded(
    name,
    (options) => read('AlertService', 'getDelivery', { name }, options),
    POLL_SECONDS,
  );
  return (
    <>
      {delivery.state.value.value === undefined && <h1>{pageTitles.delivery}</h1>}
      <DataView of={delivery} lines={8}>
        {(value) => (
          <>
            <Facts delivery={value} projectName={projectName} />
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
  const titleOf = useDestinationTitles(projectName);
  const { event, state, reason, incidentName, destinationName, recipient } = delivery;
  const createdMs = msOf(delivery.createdUnix);
  const nextMs = msOf(delivery.nextAttemptUnix);
  return (
    <>
      <p class="incident-badges">
        <StateBadge value={state} />
      </p>
      <h1>
        {pageTitles.delivery}: {notificationNames[event] ?? event}
      </h1>
      <dl class="facts">
        <Fact title={texts.incident}>
          {incidentName === '' ? texts.test : <a href={`/${incidentName}`}>{idOf(incidentName)}</a>}
        </Fact>
        <Fact title={texts.destination}>{titleOf(destinationName)}</Fact>
        {recipient !== '' && <Fact title={texts.recipient}>{recipient}</Fact>}
        {createdMs !== undefined && (
          <Fact title={texts.created}>
            <Time ms={createdMs} />
          </Fact>
        )}
        {nextMs !== undefined && (
          <Fact title={texts.next}>
            <Time ms={nextMs} />, <Age ms={nextMs} />
          </Fact>
        )}
        {reason !== '' && (
          <Fact title={texts.reason}>
            <code>{reason}</code>
          </Fact>
        )}
      </dl>
      {state === 'SENT' && <p class="weak">{texts.sentMeaning}</p>}
    </>
  );
}

function Fact(props: { readonly title: string; readonly children: ComponentChildren }): VNode {
  return (
    <div>
      <dt>{props.title}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
