/**
 * The plan of the house: five floors, the same rooms on each. The order of rooms is declared only
 * here: a room uses the rooms named before it on its own floor, and any room of the floors below.
 * `npm run verify` checks it, and `docs/architecture.md` draws it.
 */
export interface Room {
  readonly name: string;
  /** Its purpose, in one line. */
  readonly purpose: string;
  /** Only in src: a way in or out of the house, not a part of the domain. */
  readonly isEdge?: true;
}

/** From the room that all others use to the one that none uses. A floor has only some of them. */
export const rooms: readonly Room[] = [
  { name: 'gen', purpose: 'Messages and services, generated from the .proto files', isEdge: true },
  { name: 'proto', purpose: 'The .proto files: every method and message of the API', isEdge: true },
  {
    name: 'platform',
    purpose: 'Streams, commits, clocks, settings, logs: the basis of all rooms',
  },
  { name: 'identity', purpose: 'People, projects, memberships, service accounts, keys, sign-in' },
  { name: 'vms', purpose: 'The VMs and data centers that exist, and their reporters' },
  { name: 'telemetry', purpose: 'Samples: written, kept for seven days, queried' },
  { name: 'ci', purpose: 'Identity tokens of CI jobs, and the keys for which they are exchanged' },
  { name: 'alerting', purpose: 'Rules, their evaluation over samples, incidents' },
  { name: 'delivery', purpose: 'Notifications: queues, retries, webhook, chat and mail' },
  { name: 'audit', purpose: 'The recorded path of every state machine, checked and exported' },
  {
    name: 'sdk',
    purpose: 'The library for programs that call the service and receive webhooks',
    isEdge: true,
  },
  { name: 'admin', purpose: 'Commands of an operator on the machine itself', isEdge: true },
  {
    name: 'replay',
    purpose: 'A recording through the same pipelines, in virtual time',
    isEdge: true,
  },
  { name: 'testing', purpose: 'Replays for the tests of other projects', isEdge: true },
  { name: 'dashboard', purpose: 'The pages for the browser, and their server', isEdge: true },
  {
    name: 'service',
    purpose: 'Composition: opens every room, closes them in reverse',
    isEdge: true,
  },
  { name: 'embed', purpose: 'The service inside another program', isEdge: true },
  { name: 'cli', purpose: 'The command `svc`', isEdge: true },
];

/** Names of the rooms in order; the file that is in no room is last. */
export const order: readonly string[] = [...rooms.map(({ name }) => name), 'main.ts'];

/** The room of a path on its floor; for a file of the floor itself, the file. */
export function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** True for rooms that are only in src, and for files that are in no room. */
export function isEdge(room: string): boolean {
  const found = rooms.find(({ name }) => name === room);
  return found === undefined || found.isEdge === true;
}
