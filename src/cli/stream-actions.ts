/** Actions of `svc admin` on the streams: their content and number of copies. */
import { type DisplayedStream, STREAMS_PATH, type StreamsAnswer } from '../admin/stream-routes.ts';
import { bytesText, count } from '../platform/table.ts';
import type { AdminAction } from './admin-actions.ts';
import { table } from './client/output.ts';
import { NOT_OBSERVED } from './client/texts.ts';

export const streamActions: readonly AdminAction[] = [
  {
    name: 'streams',
    summary: 'Show the streams and their copies in the NATS cluster; --replicas changes the number',
    options: [
      {
        name: 'replicas',
        takes: 'N',
        choices: ['1', '3', '5'],
        help: 'Number of copies of every stream: 3 survive the loss of one server',
      },
    ],
    path: STREAMS_PATH,
    ask: (input) => ({ replicas: input.text('replicas') ?? '' }),
    render: (answer) => streamsText(answer as StreamsAnswer),
  },
];

function streamsText({ on, streams }: StreamsAnswer): string {
  const right = (title: string) => ({ title, align: 'right' as const });
  const columns = [
    'STREAM',
    right('MESSAGES'),
    right('SIZE'),
    'COPIES',
    'LEADER',
    'FOLLOWERS',
    right('CONSUMERS'),
    'SUBJECTS',
  ];
  const text = table(columns, streams.map(rowOf), 'No streams');
  if (on === 'SQLite') return `${text}The streams are embedded in the data folder\n`;
  const few = streams.filter(({ copies }) => copies.set < copies.wanted);
  if (few.length === 0) return text;
  const names = few.map(({ name }) => name).join(', ');
  const wanted = few[0]?.copies.wanted;
  return `${text}Fewer copies than wanted: ${names}. Run: svc admin streams --replicas ${wanted}\n`;
}

function rowOf({ name, subjects, messages, bytes, consumers, copies, ...rest }: DisplayedStream) {
  const few = copies.set < copies.wanted ? `, wanted ${copies.wanted}` : '';
  const followers = rest.followers.map(({ server, isOffline, isCurrent, lag }) => {
    if (isOffline) return `${server} (offline)`;
    return isCurrent ? server : `${server} (${count(lag)} behind)`;
  });
  return [
    name,
    count(messages),
    bytes === undefined ? NOT_OBSERVED : bytesText(bytes),
    `${copies.current} of ${copies.set}${few}`,
    rest.leader ?? NOT_OBSERVED,
    followers.join(', ') || NOT_OBSERVED,
    consumers === undefined ? NOT_OBSERVED : count(consumers),
    subjects.join(' '),
  ];
}
