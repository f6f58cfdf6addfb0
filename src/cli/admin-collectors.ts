/** Acts of `svc admin` about keys of collectors. */
import {
  COLLECTOR_PATHS,
  type ListedCollectorKey,
  type MadeCollectorKey,
  type RevokedCollectorKey,
} from '../admin/collector-routes.ts';
import type { AdminAct } from './admin-act.ts';
import { localTime, table } from './client/output.ts';

export const collectorActs: readonly AdminAct[] = [
  {
    name: 'collector-key create',
    summary: "Make a key for a data center's collector; prints it, once",
    options: [
      { name: 'datacenter', takes: 'NAME', help: 'Whose machines it reports; no others' },
      { name: 'project', takes: 'ID', help: 'The one project it writes into; else every project' },
      { name: 'days', takes: 'DAYS', help: 'How long it works, 1 to 365; default 90' },
    ],
    isChange: true,
    ifLost: (answer) =>
      `Revoke the key, then make another: svc admin collector-key revoke ${(answer as MadeCollectorKey).id}`,
    path: COLLECTOR_PATHS.create,
    ask: (input) => ({
      datacenter: input.required('datacenter'),
      project: (input.text('project') ?? '').replace(/^projects\//, ''),
      days: input.text('days') ?? '',
    }),
    render(answer) {
      const { id, datacenter, project, expiresMs, key } = answer as MadeCollectorKey;
      const until = localTime(Math.floor(expiresMs / 1000));
      const into = project === null ? 'every project' : `project ${project}`;
      return `key ${id} of ${datacenter}'s collector, into ${into}, until ${until}:\n${key}\n`;
    },
  },
  {
    name: 'collector-key list',
    summary: 'List the keys of collectors that work',
    path: COLLECTOR_PATHS.list,
    ask: () => ({}),
    render: (answer) => keyTable(answer as readonly ListedCollectorKey[]),
  },
  {
    name: 'collector-key revoke',
    summary: "Revoke a collector's key at once",
    positionals: [{ name: 'ID' }],
    isChange: true,
    path: COLLECTOR_PATHS.revoke,
    ask: (input) => ({ id: input.positional(0) }),
    render(answer) {
      const { id, state, isNew } = answer as RevokedCollectorKey;
      return isNew ? `key ${id} is revoked\n` : `key ${id} had ended before: it is ${state}\n`;
    },
  },
];

function keyTable(keys: readonly ListedCollectorKey[]): string {
  const seconds = (ms: number | undefined) => localTime(ms && Math.floor(ms / 1000));
  return table(
    ['ID', 'DATACENTER', 'PROJECT', 'LAST 4', 'UNTIL', 'LAST USED'],
    keys.map(({ id, datacenter, project, lastFour, expiresMs, lastUsedMs }) => [
      ...[id, datacenter, project ?? 'every', lastFour],
      ...[seconds(expiresMs), seconds(lastUsedMs)],
    ]),
    'There are no keys of collectors: "svc admin collector-key create" makes one',
  );
}
