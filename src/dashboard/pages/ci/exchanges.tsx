/** The newest exchanges of a connection, from the audit trail: time and run of the job. */

import type { VNode } from 'preact';
import { ListTable } from '../../components/list-table.tsx';
import type { Column } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { useListing } from '../../data/listing.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';
import { texts as all } from './texts.ts';

const texts = all.connection;
const ROWS = 20;
const POLL_SECONDS = 15;

interface ExchangesProps {
  readonly projectName: string;
  readonly connectionName: string;
}

export function Exchanges({ projectName, connectionName }: ExchangesProps): VNode {
  const list = useListing<Transition>(
    `exchanges ${connectionName}`,
    async (pageToken, options) => {
      const request = {
        projectName,
        instanceName: connectionName,
        events: ['exchanged'],
        pageSize: ROWS,
        pageToken,
      };
      const answer = await read('AuditService', 'listTransitions', request, options);
      return { items: answer.transitions, nextPageToken: answer.nextPageToken };
    },
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  return (
    <ListTable
      of={list}
      label={texts.exchanges}
      columns={columns}
      keyOf={({ sequence, event }) => `${sequence} ${event}`}
      empty={texts.noExchange}
    />
  );
}

/** Claims kept for audit, by their names on each platform. */
const ACTOR = ['actor', 'user_login'];
const RUN = ['run_id', 'pipeline_id', 'build_number', 'oidc.circleci.com/workflow-id'];
const COMMIT = ['sha', 'build_commit'];

/** Undefined if the token lacks it or the platform has no such claim. */
function recorded({ fields }: Transition, names: readonly string[]): string | undefined {
  const claims = fields?.recorded;
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined;
  const values: Readonly<Record<string, unknown>> = claims;
  return names.map((name) => values[name]).find((value) => typeof value === 'string');
}

const columns: readonly Column<Transition>[] = [
  {
    key: 'time',
    title: texts.exchanged,
    width: 'grow',
    cell: ({ atUnixMs }) => <Time ms={Number(atUnixMs)} />,
  },
  { key: 'actor', title: texts.actor, cell: (row) => recorded(row, ACTOR), phone: 'second' },
  { key: 'run', title: texts.run, cell: (row) => <code>{recorded(row, RUN)}</code> },
  {
    key: 'commit',
    title: texts.commit,
    phone: 'second',
    cell: (row) => <code>{recorded(row, COMMIT)?.slice(0, 12)}</code>,
  },
];
