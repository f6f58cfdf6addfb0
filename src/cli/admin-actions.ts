/** Actions of `svc admin`: project limits, retired VMs, collectors, audit, restored backups. */

import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import type {
  EndedCounts,
  Restoration,
  RevivedCredential,
} from '../../actors/identity/restoration.ts';
import { cutText } from '../../actors/platform/plain-text.ts';
import {
  LIMIT_NAMES,
  type LimitName,
  PROJECT_LIMITS,
} from '../../actors/platform/project-limits.ts';
import type { SnapshotManifest } from '../../streams/platform/snapshots.ts';
import { TRANSITIONS_PATH } from '../admin/audit-routes.ts';
import {
  COLLECTOR_PATHS,
  type ListedCollector,
  type ListedCollectorKey,
  type MadeCollectorKey,
  type RevokedCollectorKey,
} from '../admin/collector-routes.ts';
import {
  type LimitReport,
  PROJECT_LIMIT_PATHS,
  type RetiredVmAnswer,
} from '../admin/project-limit-routes.ts';
import { RESTORED_PATH } from '../admin/restored-routes.ts';
import { SNAPSHOT_PATH } from '../admin/snapshot-routes.ts';
import { ListTransitionsResponseSchema } from '../gen/svc/audit/v1/audit_pb.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { Action } from './client/action.ts';
import type { Input } from './client/arguments.ts';
import { table } from './client/output.ts';
import { localTime, NOT_OBSERVED } from './client/texts.ts';
import type { ClientPorts } from './command.ts';
import { transitionTable } from './transition-table.ts';

const project = { name: 'PROJECT' } as const;

export const limitActions: readonly AdminAction[] = [
  {
    name: 'limits show',
    summary: 'Show the limits of a project and their current use',
    positionals: [project],
    path: PROJECT_LIMIT_PATHS.show,
    ask: (input) => ({ project: input.positional(0) }),
    render: (answer) => limitTable(answer as LimitReport),
  },
  {
    name: 'limits set',
    summary: 'Set limits of a project; the others stay unchanged',
    positionals: [project],
    options: LIMIT_NAMES.map((name) => {
      const { default: byDefault, max, help } = PROJECT_LIMITS[name];
      const bounds = `default ${byDefault.toLocaleString('en')}, at most ${max.toLocaleString('en')}`;
      return { name: optionOf(name), takes: 'N', help: `${help}; ${bounds}` };
    }),
    isChange: true,
    path: PROJECT_LIMIT_PATHS.set,
    ask: (input) => ({
      project: input.positional(0),
      ...Object.fromEntries(LIMIT_NAMES.map((name) => [name, input.text(optionOf(name)) ?? ''])),
    }),
    render: (answer) => limitTable(answer as LimitReport),
  },
  {
    name: 'vms retire',
    summary:
      'Retire a VM that no longer exists: its incidents end without a recovery, its history stays',
    positionals: [project, { name: 'VM' }],
    isChange: true,
    path: PROJECT_LIMIT_PATHS.retireVm,
    ask: (input) => ({ project: input.positional(0), vm: input.positional(1) }),
    render(answer) {
      const { vm, isNew } = answer as RetiredVmAnswer;
      return isNew ? `${vm} is retired\n` : `${vm} was already retired\n`;
    },
  },
];

/** `samplesPerSecond` → `samples-per-second`. */
function optionOf(name: LimitName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function limitTable({ limits, used, unevaluated }: LimitReport): string {
  const rows = LIMIT_NAMES.map((name) => [
    name,
    String(used[name] ?? NOT_OBSERVED),
    String(limits[name]),
  ]);
  const text = table(['OF', 'USED', 'LIMIT'], rows, '');
  return unevaluated === 0 ? text : `${text}${unevaluated} instances are not evaluated\n`;
}

/** Inputs of an action that needs no service. */
export interface OfflineContext {
  readonly settings: Settings;
  readonly ports: Pick<ClientPorts, 'clock' | 'random'>;
}

/** One action of the operator. */
export interface AdminAction extends Pick<Action, 'summary' | 'positionals' | 'options'> {
  /** Words on the command line: `project create`. */
  readonly name: string;
  /** True if it changes something and is therefore sent with a request id. */
  readonly isChange?: boolean;
  /** For actions that create a secret. */
  readonly secret?: {
    /** It is printed alone on standard output, so that it can be piped into a file. */
    readonly of: (answer: unknown) => string;
    /** What to do if the secret of an earlier response is lost. */
    readonly ifLost: (answer: unknown) => string;
  };
  /** Path of the service's route. */
  readonly path: string;
  /** Exit status of a fault of the service; default: 1. */
  readonly exitOnFault?: number;
  /** True if it reads standard input to its end, for values that must not appear in an argument. */
  readonly readsInput?: boolean;
  /**
   * Builds the request of the route. Throws `UsageError`.
   *
   * @param text standard input; '' if it is not read
   */
  readonly ask: (input: Input, text: string) => Readonly<Record<string, string>>;
  /** Does the same without a service, for actions that a service that cannot start needs. */
  readonly offline?: (
    body: Readonly<Record<string, string>>,
    context: OfflineContext,
  ) => Promise<unknown>;
  /**
   * Renders the response for people, with a final newline and without the secret. The type of the
   * response is that of its route.
   */
  readonly render: (answer: unknown) => string;
}

export const auditActions: readonly AdminAction[] = [
  {
    name: 'transitions',
    summary:
      'Show who did what, newest first: people, sessions, links and collectors, or one project',
    options: [
      {
        name: 'project',
        takes: 'ID',
        help: 'Only this project; default: entries of no project (_system)',
      },
      { name: 'machine', takes: 'NAME', help: 'Only this machine, such as session or credential' },
      { name: 'instance', takes: 'NAME|ID', help: 'Only this instance, by id or resource name' },
      { name: 'limit', takes: 'N', help: 'At most this many, 1 to 1000; default 50' },
      {
        name: 'page-token',
        takes: 'TOKEN',
        help: 'Token of the next page, from the previous response',
      },
    ],
    path: TRANSITIONS_PATH,
    ask: (input) => ({
      project: (input.text('project') ?? '').replace(/^projects\//, ''),
      machine: input.text('machine') ?? '',
      instance: input.text('instance') ?? '',
      limit: input.text('limit') ?? '',
      pageToken: input.text('page-token') ?? '',
    }),
    render(answer) {
      const page = fromJson(ListTransitionsResponseSchema, answer as JsonValue);
      const { transitions, nextPageToken } = page;
      const more = nextPageToken === '' ? '' : `\nolder entries: --page-token ${nextPageToken}\n`;
      return `${transitionTable(transitions, 'No matching transitions')}${more}`;
    },
  },
];

export const collectorActions: readonly AdminAction[] = [
  {
    name: 'collectors',
    summary:
      'Show the last readings of each collector by project, and readings that are not stored',
    path: COLLECTOR_PATHS.readings,
    ask: () => ({}),
    render: (answer) => collectorTable(answer as readonly ListedCollector[]),
  },
  {
    name: 'collector-key create',
    summary: "Create a key for a data center's collector, printed once",
    options: [
      { name: 'datacenter', takes: 'NAME', help: 'Data center whose machines it reports' },
      {
        name: 'project',
        takes: 'ID',
        multiple: true,
        help: 'Project it may write to; default: every project',
      },
      {
        name: 'network',
        takes: 'RANGE',
        multiple: true,
        help: 'Address or range that the key may be used from, such as 10.0.0.0/8; default: any',
      },
      { name: 'days', takes: 'DAYS', help: 'Lifetime in days, 1 to 365; default 90' },
    ],
    isChange: true,
    secret: {
      of: (answer) => (answer as MadeCollectorKey).key,
      ifLost: (answer) =>
        `Revoke the key, then create another: svc admin collector-key revoke ${(answer as MadeCollectorKey).id}`,
    },
    path: COLLECTOR_PATHS.create,
    ask: (input) => ({
      datacenter: input.required('datacenter'),
      project: input.list('project').join(','),
      network: input.list('network').join(','),
      days: input.text('days') ?? '',
    }),
    render(answer) {
      const { id, datacenter, projects, networks, expiresMs } = answer as MadeCollectorKey;
      const until = localTime(Math.floor(expiresMs / 1000));
      const many = projects?.length === 1 ? 'project' : 'projects';
      const into = projects === null ? 'every project' : `${many} ${projects.join(', ')}`;
      const from = networks === null ? '' : `, from ${networks.join(', ')}`;
      return `key ${id} of the collector of ${datacenter}, for ${into}${from}, valid until ${until}:\n`;
    },
  },
  {
    name: 'collector-key list',
    summary: 'List active collector keys',
    path: COLLECTOR_PATHS.list,
    ask: () => ({}),
    render: (answer) => keyTable(answer as readonly ListedCollectorKey[]),
  },
  {
    name: 'collector-key revoke',
    summary: 'Revoke a collector key at once',
    positionals: [{ name: 'ID' }],
    isChange: true,
    path: COLLECTOR_PATHS.revoke,
    ask: (input) => ({ id: input.positional(0) }),
    render(answer) {
      const { id, state, isNew } = answer as RevokedCollectorKey;
      return isNew ? `key ${id} is revoked\n` : `key ${id} has already ended (${state})\n`;
    },
  },
];

function collectorTable(collectors: readonly ListedCollector[]): string {
  const time = (ms: number | undefined) =>
    ms === undefined ? NOT_OBSERVED : localTime(Math.floor(ms / 1000));
  const where = ['COLLECTOR', 'DATACENTER', 'PROJECT', 'VMS', 'ELSEWHERE'];
  const head = where.concat('LAST READING', 'RECEIVED', 'KEY UNTIL', 'NOT STORED');
  const lines = collectors.flatMap(({ id, datacenter, expiresMs, readings }) => {
    const none = readings.length === 0 ? [{ project: NOT_OBSERVED }] : readings;
    return none.map((one: ListedCollector['readings'][number]) => [
      id,
      datacenter,
      one.project,
      String(one.last?.vms ?? NOT_OBSERVED),
      elsewhereText(one.elsewhere),
      time(one.last?.observedMs),
      time(one.last?.receivedMs),
      time(expiresMs),
      String(one.refusedCount ?? NOT_OBSERVED),
    ]);
  });
  const none = 'No collectors. Create a key for one: "svc admin collector-key create"';
  return table(head, lines, none) + refusedTable(collectors);
}

/** Maximum length of a displayed series, characters: its labels can be longer than a line. */
const SERIES_CHARS_MAX = 60;

/** Readings that arrive but are not stored; '' if there are none. */
function refusedTable(collectors: readonly ListedCollector[]): string {
  const lines = collectors.flatMap(({ id, readings }) =>
    readings.flatMap(({ project, refused = [] }) =>
      refused.map(({ vm, series, reason, message, times }) => [
        id,
        project,
        vm || NOT_OBSERVED,
        cutText(series || 'the row', SERIES_CHARS_MAX),
        reason,
        String(times),
        message,
      ]),
    ),
  );
  if (lines.length === 0) return '';
  const head = ['COLLECTOR', 'PROJECT', 'VM', 'SERIES', 'REASON', 'COUNT', 'WHAT TO DO'];
  return `\nReadings that arrive but are not stored:\n${table(head, lines, '')}`;
}

/** Number of VMs that another collector reports, and how many of them run here too. */
function elsewhereText(elsewhere: ListedCollector['readings'][number]['elsewhere']): string {
  if (elsewhere === undefined) return NOT_OBSERVED;
  const { vms, running } = elsewhere;
  return running === 0 ? String(vms) : `${vms}, ${running} running`;
}

function keyTable(keys: readonly ListedCollectorKey[]): string {
  const seconds = (ms: number | undefined) => localTime(ms && Math.floor(ms / 1000));
  return table(
    ['ID', 'DATACENTER', 'PROJECT', 'NETWORKS', 'LAST 4', 'UNTIL', 'LAST USED'],
    keys.map(({ id, datacenter, projects, networks, lastFour, expiresMs, lastUsedMs }) => [
      id,
      datacenter,
      projects?.join(', ') ?? 'every',
      networks?.join(', ') ?? 'any',
      lastFour,
      seconds(expiresMs),
      seconds(lastUsedMs),
    ]),
    'No collector keys. Create one: "svc admin collector-key create"',
  );
}

export const snapshotActions: readonly AdminAction[] = [
  {
    name: 'snapshot',
    summary: 'On NATS: write a snapshot now, from which a new or long-absent member starts',
    path: SNAPSHOT_PATH,
    ask: () => ({}),
    render(answer) {
      const { id, position, chunks, compressedBytes } = answer as SnapshotManifest;
      const size = `${(compressedBytes / 1024 ** 2).toFixed(1)} MiB in ${chunks} chunks`;
      return `snapshot ${id} of EVENTS at ${position.applied}: ${size}\n`;
    },
  },
];

export const restoredActions: readonly AdminAction[] = [
  {
    name: 'restored',
    summary: 'After restoring a backup: end sessions, links, pairings and tokens; list keys',
    isChange: true,
    path: RESTORED_PATH,
    ask: () => ({}),
    render: (answer) => restorationText(answer as Restoration),
  },
];

const KINDS: Readonly<Record<RevivedCredential['kind'], string>> = {
  pk: 'personal key',
  sk: 'service account',
  col: 'collector',
  vm: 'agent',
  ci: 'CI trust',
};

/** Advice for each kind in the table. */
const ADVICE = [
  'Keys that were revoked, rotated or disabled after the backup are valid again. Compare the list with',
  'your records and revoke what should not exist: "svc admin revoke-key NAME" for the key of a user,',
  'collector or agent, "svc trusts disable" for a CI trust. Rotate keys whose secrets may have leaked.',
  'Removed members and disabled people also have access again: check "svc admin',
  'people list" and "svc members list".',
];

function restorationText({ generation, atMs, ended, credentials }: Restoration): string {
  const since = localTime(Math.floor(atMs / 1000));
  const list = table(
    ['KIND', 'NAME', 'CALLED', 'OWNER', 'LAST 4', 'CREATED', 'UNTIL'],
    credentials.map(rowOf),
    'No active keys, collectors, agents or CI trusts.',
  );
  const advice = credentials.length === 0 ? '' : `\n${ADVICE.join('\n')}\n`;
  return `generation ${generation} started ${since}; ended: ${countsText(ended)}\n\n${list}${advice}`;
}

function rowOf(each: RevivedCredential): string[] {
  return [
    KINDS[each.kind],
    each.name,
    each.displayName,
    each.ownerDisplayName || each.owner,
    each.lastFour,
    localTime(Math.floor(each.createdMs / 1000)),
    each.expiresMs === null ? 'never expires' : localTime(Math.floor(each.expiresMs / 1000)),
  ];
}

function countsText(ended: EndedCounts): string {
  return [
    `${ended.session} sessions`,
    `${ended.signInLink} sign-in links`,
    `${ended.invitation} invitations`,
    `${ended.ciVerification} CI verifications`,
    `${ended.enrolment} enrolment tokens`,
    `access tokens of ${ended.ciConnection} CI trusts`,
  ].join(', ');
}
