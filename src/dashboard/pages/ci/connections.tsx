/**
 * The CI workflows that a project trusts, and the verifications in progress. `?step=account` is the
 * first step of the wizard, which is also shown for an empty list.
 */
import type { ComponentChildren, VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Age, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { pagesOf, useListing } from '../../data/listing.ts';
import { idOf } from '../../data/names.ts';
import { pageTitles } from '../../layout/texts.ts';
import { query } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { useServiceAccounts } from '../identity/use-service-accounts.ts';
import type { PageProps } from '../page.ts';
import { VerificationState } from './parts.tsx';
import {
  type Connection,
  isOpen,
  startPath,
  useVerification,
  type Verification,
  workflowOf,
} from './queries.ts';
import { StartVerification } from './start-verification.tsx';
import { texts } from './texts.ts';
import { TimeLeft, WizardSteps } from './wizard-frame.tsx';

const ROWS = 200;
const POLL_SECONDS = 15;
/** Newest first; none stays open for longer than half an hour. */
const VERIFICATIONS_READ = 100;

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  return (
    <>
      <h1>{pageTitles.ciConnections}</h1>
      {query.value.get('step') === 'account' ? (
        <Start projectName={projectName} />
      ) : (
        <Lists projectName={projectName} />
      )}
    </>
  );
}

function Start({ projectName }: { readonly projectName: string }): VNode {
  const after = query.value.get('after');
  return (
    <FirstStep>
      {after === null ? (
        <StartVerification projectName={projectName} />
      ) : (
        <StartAfter projectName={projectName} name={`${projectName}/ciVerifications/${after}`} />
      )}
      <p>
        <a href={pathOf('ciConnections', { project: idOf(projectName) })}>{texts.start.cancel}</a>
      </p>
    </FirstStep>
  );
}

function FirstStep({ children }: { readonly children: ComponentChildren }): VNode {
  return (
    <section aria-labelledby="connect">
      <WizardSteps at="account" />
      <h2 id="connect">{texts.start.title}</h2>
      <p>{texts.start.about}</p>
      {children}
    </section>
  );
}

function StartAfter({ projectName, name }: { projectName: string; name: string }): VNode {
  return (
    <DataView of={useVerification(name)} lines={6}>
      {(after) => <StartVerification projectName={projectName} after={after} />}
    </DataView>
  );
}

/** Both lists of the page. */
interface Found {
  readonly connections: readonly Connection[];
  readonly open: readonly Verification[];
}

function Lists({ projectName }: { readonly projectName: string }): VNode {
  const connections = useListing<Connection>(
    `ciConnections ${projectName}`,
    pagesOf('AutomationService', 'listCiConnections', 'connections', {
      projectName,
      pageSize: ROWS,
    }),
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  const verifications = useListing<Verification>(
    `ciVerifications ${projectName}`,
    async (pageToken, options) => {
      const request = { projectName, pageSize: VERIFICATIONS_READ, pageToken };
      const answer = await read('AutomationService', 'listCiVerifications', request, options);
      return { items: answer.verifications, nextPageToken: '' };
    },
    { rows: VERIFICATIONS_READ, pollSeconds: POLL_SECONDS },
  );
  return (
    <>
      <p class="limitation">{texts.about}</p>
      <DataView of={verifications} lines={1}>
        {({ items }) => (
          <DataView of={connections}>
            {(listing) => (
              <Both
                projectName={projectName}
                found={{ connections: listing.items, open: items.filter(isOpen) }}
                foot={<ListFoot of={connections} />}
                isWhole={listing.nextPageToken === ''}
              />
            )}
          </DataView>
        )}
      </DataView>
    </>
  );
}

interface BothProps {
  readonly projectName: string;
  readonly found: Found;
  readonly foot: VNode;
  readonly isWhole: boolean;
}

function Both({ projectName, found, foot, isWhole }: BothProps): VNode {
  const { connections, open } = found;
  if (connections.length === 0 && open.length === 0) {
    return (
      <>
        <p>{texts.none}.</p>
        <FirstStep>
          <StartVerification projectName={projectName} />
        </FirstStep>
      </>
    );
  }
  return (
    <>
      <p>
        <a class="button" href={startPath(projectName)}>
          {texts.connect}
        </a>
      </p>
      {open.length > 0 && <Open verifications={open} />}
      {connections.length === 0 ? (
        <p>{texts.none}.</p>
      ) : (
        <>
          <Connections projectName={projectName} connections={connections} isWhole={isWhole} />
          {foot}
        </>
      )}
    </>
  );
}

function Open({ verifications }: { readonly verifications: readonly Verification[] }): VNode {
  return (
    <section aria-labelledby="open">
      <h2 id="open">{texts.open.title}</h2>
      <Table
        label={texts.open.label}
        columns={openColumns}
        rows={verifications}
        keyOf={({ name }) => name}
        href={({ name }) => `/${name}`}
      />
      <h2>{texts.list.label}</h2>
    </section>
  );
}

const openColumns: readonly Column<Verification>[] = [
  {
    key: 'name',
    title: texts.list.name,
    width: 'grow',
    cell: ({ displayName }) => displayName,
  },
  {
    key: 'state',
    title: texts.list.state,
    cell: ({ state }) => <VerificationState state={state} />,
  },
  {
    key: 'expires',
    title: texts.open.expires,
    phone: 'second',
    cell: ({ expiresUnix }) => <TimeLeft untilMs={Number(expiresUnix) * 1_000} />,
  },
];

interface ConnectionsProps {
  readonly projectName: string;
  readonly connections: readonly Connection[];
  readonly isWhole: boolean;
}

function Connections({ projectName, connections, isWhole }: ConnectionsProps): VNode {
  const accounts = useServiceAccounts(projectName).state.value.value?.items ?? [];
  const known = new Map(accounts.map(({ name, displayName }) => [name, displayName]));
  return (
    <Table
      label={texts.list.label}
      columns={columnsFor((name) => known.get(name) || idOf(name))}
      rows={connections}
      keyOf={({ name }) => name}
      href={({ name }) => `/${name}`}
      rowCount={isWhole ? connections.length : -1}
    />
  );
}

function columnsFor(accountTitle: (name: string) => string): readonly Column<Connection>[] {
  const { list } = texts;
  return [
    { key: 'name', title: list.name, width: 'grow', cell: ({ displayName }) => displayName },
    { key: 'state', title: list.state, cell: ({ state }) => <StateBadge value={state} /> },
    {
      key: 'account',
      title: list.account,
      phone: 'hide',
      cell: ({ serviceAccountName }) => accountTitle(serviceAccountName),
    },
    {
      key: 'repository',
      title: list.repository,
      phone: 'second',
      cell: ({ claims }) => <span class="claim">{workflowOf(claims).repository}</span>,
    },
    {
      key: 'workflow',
      title: list.workflow,
      phone: 'hide',
      cell: ({ claims }) => <span class="claim">{workflowOf(claims).workflow}</span>,
    },
    {
      key: 'event',
      title: list.event,
      phone: 'second',
      cell: ({ claims }) => workflowOf(claims).event,
    },
    {
      key: 'exchange',
      title: list.exchange,
      align: 'right',
      phone: 'second',
      cell: ({ lastExchangeUnix }) => <Age ms={msOf(lastExchangeUnix)} absent={list.never} />,
    },
    {
      key: 'refusal',
      title: list.refusal,
      align: 'right',
      phone: 'hide',
      cell: ({ lastRefusalUnix }) => <Age ms={msOf(lastRefusalUnix)} absent={list.noRefusal} />,
    },
  ];
}
