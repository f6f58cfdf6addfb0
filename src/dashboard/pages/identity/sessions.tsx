/** The user's sessions, and ending one of them. */

import type { VNode } from 'preact';
import { ActDialog, useChosen } from '../../components/act-dialog.tsx';
import { Badge } from '../../components/badges.tsx';
import { ageColumn } from '../../components/columns.tsx';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all } from './texts.ts';

const texts = all.sessions;

type Session = ResponseOf<'ProjectService', 'listSessions'>['sessions'][number];

const POLL_SECONDS = 30;

export function Sessions(): VNode {
  const requested = useChosen<Session>();
  const list = useLoaded(
    'sessions',
    (options) => read('ProjectService', 'listSessions', {}, options),
    POLL_SECONDS,
  );
  const { name = '', agent = '' } = requested.value ?? {};
  return (
    <>
      <DataView of={list} lines={2}>
        {({ sessions }) => (
          <Table
            label={texts.label}
            columns={columnsFor(requested.choose)}
            // Most recent use first; users look for old sessions at the end.
            rows={sessions.toSorted((a, b) => Number(b.lastUsedUnix) - Number(a.lastUsedUnix))}
            keyOf={(session) => session.name}
          />
        )}
      </DataView>
      <p class="weak">{texts.lifetime}</p>
      <ActDialog
        {...requested.frame}
        method={['ProjectService', 'endSession']}
        title={texts.endTitle(agentName(agent))}
        action={texts.end}
        needs="VIEWER"
        request={() => ({ name })}
        done={texts.ended}
        onSaved={list.reload}
      >
        <p>{texts.endEffect}</p>
      </ActDialog>
    </>
  );
}

function columnsFor(end: (session: Session) => void): Column<Session>[] {
  const methods: Readonly<Record<string, string>> = all.account.methods;
  return [
    {
      key: 'agent',
      title: texts.agent,
      width: 'grow',
      cell: ({ agent }) => <span title={agent}>{agentName(agent)}</span>,
    },
    {
      key: 'method',
      title: texts.method,
      phone: 'second',
      cell: ({ signInMethod }) => methods[signInMethod] ?? signInMethod,
    },
    ageColumn('created', texts.created, ({ createdUnix }) => createdUnix, { phone: 'hide' }),
    ageColumn('used', texts.used, ({ lastUsedUnix }) => lastUsedUnix, { phone: 'second' }),
    {
      key: 'end',
      title: texts.actions,
      align: 'right',
      cell: (session) =>
        session.current ? (
          <Badge tone="good" text={texts.current} />
        ) : (
          <button
            type="button"
            class="quiet"
            aria-label={texts.endOf(agentName(session.agent))}
            onClick={() => end(session)}
          >
            {texts.end}
          </button>
        ),
    },
  ];
}

/** Names in a User-Agent; the first match counts. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Windows', 'Windows'],
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** `Firefox, Linux` for a User-Agent; any other text unchanged. */
function agentName(agent: string): string {
  const browser = BROWSERS.find(([part]) => agent.includes(part))?.[1];
  const system = SYSTEMS.find(([part]) => agent.includes(part))?.[1];
  if (browser === undefined) return agent || texts.unknownAgent;
  return system === undefined ? browser : `${browser}, ${system}`;
}
