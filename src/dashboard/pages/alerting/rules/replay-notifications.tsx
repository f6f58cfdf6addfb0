/**
 * The notifications of a replay: time, subject, recipient, outcome, and the text on demand.
 * Destinations and texts are returned only to users who may change destinations.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { StateBadge } from '../../../components/badges.tsx';
import { DestinationLink } from '../../../components/destination-link.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { type Column, Table } from '../../../components/table.tsx';
import { Time } from '../../../components/time.tsx';
import { useDestinationTitles } from '../../../data/catalogue.ts';
import { mayDo } from '../../../data/projects.ts';
import { notificationNames, unsentNames } from '../incidents/incident-texts.ts';
import { texts } from './replay-texts.ts';
import type { Replay } from './replay-vms.tsx';

type Notification = Replay['notifications'][number];

export interface ReplayNotificationsProps {
  readonly projectName: string;
  readonly notifications: readonly Notification[];
  readonly titleOf: (vmName: string) => string;
}

export function ReplayNotifications(props: ReplayNotificationsProps): VNode {
  const { projectName, notifications, titleOf } = props;
  const titles = useDestinationTitles(projectName);
  const displayed = useSignal<Notification | undefined>(undefined);
  const isEditor = mayDo('EDITOR');
  const placeOf = ({ vmName, labels }: Notification): string =>
    vmName === '' ? texts.datacenter : [titleOf(vmName), ...Object.values(labels)].join(' · ');
  const to = destinationColumn(titles);
  const body = bodyColumn((notification) => {
    displayed.value = notification;
  }, placeOf);
  const known = openColumns(placeOf);
  // Several may share the time, VM and destination: one for each recipient.
  const rows = notifications.map((notification, index) => ({ notification, index }));
  const { value: open } = displayed;
  return (
    <>
      {!isEditor && <p class="weak">{texts.hidden}</p>}
      <Table
        label={texts.title}
        columns={isEditor ? [...known, to, outcomeColumn, body] : [...known, outcomeColumn]}
        rows={rows}
        keyOf={({ index }) => String(index)}
      />
      <Dialog
        title={open ? texts.bodyOf(nameOf(open), placeOf(open)) : texts.body}
        isOpen={open !== undefined}
        onClose={() => {
          displayed.value = undefined;
        }}
      >
        <p class="weak">{texts.bodyHelp}</p>
        <pre class="replay-body">{open?.body === undefined ? '' : readable(open.body)}</pre>
      </Dialog>
    </>
  );
}

interface Row {
  readonly notification: Notification;
  readonly index: number;
}

function nameOf({ event }: Notification): string {
  return notificationNames[event] ?? event;
}

function openColumns(placeOf: (notification: Notification) => string): readonly Column<Row>[] {
  return [
    {
      key: 'at',
      title: texts.at,
      cell: ({ notification }) => <Time ms={Number(notification.atUnix) * 1_000} />,
    },
    { key: 'event', title: texts.event, cell: ({ notification }) => nameOf(notification) },
    {
      key: 'vm',
      title: texts.vm,
      width: 'grow',
      phone: 'second',
      cell: ({ notification }) =>
        notification.vmName === '' ? (
          placeOf(notification)
        ) : (
          <a href={`/${notification.vmName}`}>{placeOf(notification)}</a>
        ),
    },
  ];
}

const outcomeColumn: Column<Row> = {
  key: 'outcome',
  title: texts.outcome,
  phone: 'second',
  cell: ({ notification: { outcome, reason } }) => (
    <span class="badges">
      <StateBadge value={outcome} />
      {reason !== '' && <span class="weak">{unsentNames[reason] ?? reason}</span>}
    </span>
  ),
};

function destinationColumn(titles: ReadonlyMap<string, string>): Column<Row> {
  return {
    key: 'to',
    title: texts.to,
    width: 'grow',
    phone: 'second',
    cell: ({ notification: { destinationName, recipient } }) =>
      destinationName !== undefined && (
        <>
          <DestinationLink name={destinationName} titles={titles} />
          {recipient !== undefined && ` ${recipient}`}
        </>
      ),
  };
}

function bodyColumn(
  show: (notification: Notification) => void,
  placeOf: (notification: Notification) => string,
): Column<Row> {
  return {
    key: 'body',
    title: texts.body,
    phone: 'second',
    cell: ({ notification }) =>
      notification.body !== undefined && (
        <button
          type="button"
          class="quiet"
          aria-label={`${texts.show}: ${texts.bodyOf(nameOf(notification), placeOf(notification))}`}
          onClick={() => show(notification)}
        >
          {texts.show}
        </button>
      ),
  };
}

/** Indented JSON; any other text unchanged. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
