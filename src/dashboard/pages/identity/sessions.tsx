/** The user's sessions, and ending one of them. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Badge } from '../../components/badges.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Age, msOf } from '../../components/time.tsx';
import { toast } from '../../components/toasts.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { useMutation } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all } from './texts.ts';

const texts = all.sessions;

type Session = ResponseOf<'ProjectService', 'listSessions'>['sessions'][number];

const POLL_SECONDS = 30;

export function Sessions(): VNode {
  const requested = useSignal<Session | undefined>(undefined);
  const end = useMutation('ProjectService', 'endSession');
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
            columns={columnsFor((session) => {
              requested.value = session;
            })}
            // Most recent use first; users look for old sessions at the end.
            rows={sessions.toSorted((a, b) => Number(b.lastUsedUnix) - Number(a.lastUsedUnix))}
            keyOf={(session) => session.name}
          />
        )}
      </DataView>
      <p class="weak">{texts.lifetime}</p>
      <ConfirmDialog
        title={texts.endTitle(agentName(agent))}
        isOpen={requested.value !== undefined}
        onClose={() => {
          requested.value = undefined;
        }}
        action={texts.end}
        needs="VIEWER"
        mutation={end}
        request={() => ({ name })}
        onSaved={() => {
          toast(texts.ended);
          list.reload();
        }}
      >
        <p>{texts.endEffect}</p>
      </ConfirmDialog>
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
    {
      key: 'created',
      title: texts.created,
      phone: 'hide',
      cell: ({ createdUnix }) => <Age ms={msOf(createdUnix)} />,
    },
    {
      key: 'used',
      title: texts.used,
      phone: 'second',
      cell: ({ lastUsedUnix }) => <Age ms={msOf(lastUsedUnix)} />,
    },
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
