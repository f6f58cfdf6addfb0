/**
 * One approved CI workflow: its bound claims, its permissions, its exchanges and refusals, and the
 * emergency stop.
 */

import type { ComponentChildren, VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Fact } from '../../components/fact.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { ResourceLink } from '../../components/resource-link.tsx';
import { Age, msOf, Time } from '../../components/time.tsx';
import { idOf } from '../../data/names.ts';
import { pageTitles } from '../../layout/texts.ts';
import { pathOf } from '../../router/match.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { ConnectionActions } from './connection-actions.tsx';
import { Exchanges } from './exchanges.tsx';
import { ClaimTable, Variables } from './parts.tsx';
import { type Connection, useConnection } from './queries.ts';
import { RefusalList } from './refusals.tsx';
import { texts as all, platformNames } from './texts.ts';

const texts = all.connection;
const POLL_SECONDS = 15;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = `${projectName}/ciConnections/${parameters.connection}`;
  const connection = useConnection(name, POLL_SECONDS);
  const { value } = connection.state.value;
  useTitle(value?.displayName);
  return (
    <>
      <AboveTitle list="ciConnections" project={project} />
      {value === undefined && <h1>{pageTitles.ciConnection}</h1>}
      <DataView of={connection} lines={8}>
        {(value) => (
          <>
            <p class="incident-badges">
              <StateBadge value={value.state} />
            </p>
            <h1 class="name">{value.displayName}</h1>
            <Standing connection={value} />
            <Facts connection={value} />
            <ConnectionActions
              projectName={projectName}
              connection={value}
              onChanged={connection.reload}
            />
            <Sections projectName={projectName} connection={value} />
          </>
        )}
      </DataView>
    </>
  );
}

/** Why the connection gives no access now, if it gives none. */
function Standing({ connection }: { readonly connection: Connection }): VNode | null {
  const { state, disabledReason, effectiveCapabilities } = connection;
  if (state === 'DISABLED') {
    return (
      <NoticeBox tone="warning" title={texts.isDisabled}>
        {disabledReason !== '' && (
          <p>
            {texts.disabledReason}: {disabledReason}
          </p>
        )}
      </NoticeBox>
    );
  }
  return effectiveCapabilities.length === 0 ? (
    <NoticeBox tone="warning" title={texts.accountGone} />
  ) : null;
}

function Facts({ connection }: { readonly connection: Connection }): VNode {
  const { serviceAccountName, serviceAccountDisplayName, capabilities } = connection;
  const { effectiveCapabilities, createdBy, createdByDisplayName } = connection;
  const { issuer, issuerUrl, verificationName, createdUnix, updatedUnix } = connection;
  const effective = effectiveCapabilities.join(', ');
  return (
    <dl class="facts">
      <Fact title={texts.account}>
        <ResourceLink name={serviceAccountName}>
          {serviceAccountDisplayName || idOf(serviceAccountName)}
        </ResourceLink>
      </Fact>
      <Fact title={texts.approvedFor}>{capabilities.join(', ')}</Fact>
      {effective !== capabilities.join(', ') && (
        <Fact title={texts.canDo}>{effective || texts.nothing}</Fact>
      )}
      <Fact title={texts.lastExchange}>
        <Age ms={msOf(connection.lastExchangeUnix)} absent={all.list.never} />
      </Fact>
      <Fact title={texts.lastRefusal}>
        <Age ms={msOf(connection.lastRefusalUnix)} absent={all.list.noRefusal} />
      </Fact>
      <Fact title={texts.platform}>
        {platformNames[issuer] ?? issuer} <span class="weak">{issuerUrl}</span>
      </Fact>
      <Fact title={texts.created}>
        <Time ms={Number(createdUnix) * 1_000} /> {texts.by}{' '}
        {createdByDisplayName || <code>{createdBy}</code>}
      </Fact>
      {updatedUnix !== createdUnix && (
        <Fact title={texts.updated}>
          <Time ms={Number(updatedUnix) * 1_000} />
        </Fact>
      )}
      <Fact title={texts.verification}>
        <a href={`/${verificationName}`}>{texts.openVerification}</a>
      </Fact>
    </dl>
  );
}

function Sections(props: { projectName: string; connection: Connection }): VNode {
  const { projectName, connection } = props;
  const { name, claims, recentRefusals } = connection;
  const machine = pathOf('machine', { project: idOf(projectName), machine: 'ciConnection' });
  return (
    <>
      <Section id="claims" title={texts.claims}>
        <p class="limitation">{texts.claimsHelp}</p>
        <ClaimTable label={texts.claims} claims={claims} />
      </Section>
      <Section id="exchanges" title={texts.exchanges}>
        <Exchanges projectName={projectName} connectionName={name} />
      </Section>
      <Section id="refusals" title={texts.refusals}>
        {recentRefusals.length === 0 ? (
          <p>{texts.noRefusal}</p>
        ) : (
          <>
            <p class="limitation">{texts.refusalsHelp}</p>
            <RefusalList refusals={recentRefusals} />
          </>
        )}
      </Section>
      <Section id="variables" title={texts.variables}>
        <Variables connection={connection} />
      </Section>
      <p>
        <a href={`${machine}?instance=${encodeURIComponent(name)}`}>{texts.path}</a>
      </p>
    </>
  );
}

function Section(props: {
  readonly id: string;
  readonly title: string;
  readonly children: ComponentChildren;
}): VNode {
  const { id, title, children } = props;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}
