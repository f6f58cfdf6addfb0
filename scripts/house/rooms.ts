/**
 * The plan of the house: five floors, the same rooms on each. The order of rooms is declared here
 * and nowhere else: a room uses the rooms named before it on its own floor, and any room of the
 * floors below. `npm run verify` checks it, and `docs/architecture.md` draws it.
 */
export interface Room {
  readonly name: string;
  /** What it is for, in one line. */
  readonly purpose: string;
  /** Stands in src alone: a way in or out of the house, not a part of the domain. */
  readonly isEdge?: true;
}

/** From the room that all others use to the one that none uses. A floor has some of them. */
export const rooms: readonly Room[] = [
  { name: 'gen', purpose: 'Messages and services, generated from the .proto files', isEdge: true },
  { name: 'proto', purpose: 'The .proto files: every method and message of the API', isEdge: true },
  {
    name: 'platform',
    purpose: 'Streams, commits, clocks, settings, logs: what all rooms stand on',
  },
  { name: 'identity', purpose: 'People, projects, memberships, service accounts, keys, sign-in' },
  { name: 'vms', purpose: 'Which VMs and data centers exist, and who reports them' },
  { name: 'telemetry', purpose: 'Samples: written, kept for seven days, queried' },
  { name: 'ci', purpose: 'Identity tokens of CI jobs, and the keys they are exchanged for' },
  { name: 'alerting', purpose: 'Rules, their evaluation over samples, incidents' },
  { name: 'delivery', purpose: 'Notifications: queues, retries, webhook, chat and mail' },
  { name: 'audit', purpose: 'The recorded path of every state machine, checked and exported' },
  {
    name: 'sdk',
    purpose: 'The library for programs that call the service and receive webhooks',
    isEdge: true,
  },
  { name: 'admin', purpose: 'What an operator does on the machine itself', isEdge: true },
  {
    name: 'replay',
    purpose: 'A recording through the same pipelines, in virtual time',
    isEdge: true,
  },
  { name: 'testing', purpose: 'Replays for the tests of other projects', isEdge: true },
  { name: 'dashboard', purpose: 'The pages for the browser, and what serves them', isEdge: true },
  {
    name: 'service',
    purpose: 'Composition: opens every room, closes them in reverse',
    isEdge: true,
  },
  { name: 'embed', purpose: 'The service inside another program', isEdge: true },
  { name: 'cli', purpose: 'The command `svc`', isEdge: true },
];

/** Names of the rooms in their order; last the one file that stands in no room. */
export const order: readonly string[] = [...rooms.map(({ name }) => name), 'main.ts'];

/** The room of a path on its floor; for a file of the floor itself the file. */
export function roomOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** True for rooms that stand in src alone, and for what stands in none. */
export function isEdge(room: string): boolean {
  const found = rooms.find(({ name }) => name === room);
  return found === undefined || found.isEdge === true;
}
