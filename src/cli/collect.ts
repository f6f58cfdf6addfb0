/**
 * `svc collect`: the collector for a fleet of libvirt hosts, as a separate program. Enrols with a
 * collector key, runs, shows where each domain belongs, reports its status, and installs the
 * systemd unit. The key comes from the environment or standard input, never from the command line.
 */
import { readFileSync } from 'node:fs';
import { runCommand } from '../../actors/telemetry/collectors/command.ts';
import { type MappedRow, readFleet } from '../../actors/telemetry/collectors/fleet/fleet-once.ts';
import { type Mapping, UnusableMapping } from '../../actors/telemetry/collectors/fleet/mapping.ts';
import { parseSecret } from '../platform/keys.ts';
import { thisMachine, writeEnrolment } from '../vms/agent/enrolment-file.ts';
import { createSender } from '../vms/agent/sender.ts';
import {
  buffersFolder,
  type CollectStatus,
  collectStatusPath,
  startCollect,
} from '../vms/collect/collect.ts';
import { readMapping } from '../vms/collect/mapping-file.ts';
import { type Action, type ActionContext, type ClientCommand, family } from './client/action.ts';
import type { Option } from './client/arguments.ts';
import { EXIT_DENIED, Fault, UsageError } from './client/faults.ts';
import { facts, json, table } from './client/output.ts';
import { localTime } from './client/texts.ts';
import { EXIT_FAULT, EXIT_OK } from './command.ts';
import { intervalOption, intervalSeconds, isFresh, makeWritable, Reporter } from './reporter.ts';

const MAPPING = '/etc/svc/collect.map';
const BUFFER_MIB_DEFAULT = 256;
const MIB = 2 ** 20;

const mappingOption: Option = {
  name: 'mapping',
  takes: 'FILE',
  help: `File that maps domains to projects; default ${MAPPING}`,
};
const runOptions: readonly Option[] = [
  mappingOption,
  intervalOption,
  {
    name: 'buffer-mib',
    takes: 'N',
    help: `Maximum size of the queued rows per project; default ${BUFFER_MIB_DEFAULT}`,
  },
  { name: 'filesystems', help: 'Query the guest agents for file systems; requires write access' },
];

const collector = new Reporter({
  command: 'collect',
  noun: 'collector',
  folderVariable: 'SVC_COLLECT_STATE',
  secretVariable: 'SVC_COLLECTOR_KEY',
  secretNoun: 'Collector key',
  runOptions,
  pathsIn: (folder) => [buffersFolder(folder), collectStatusPath(folder)],
});

function mappingPathOf({ input }: ActionContext): string {
  return input.text('mapping') || MAPPING;
}

/** Throws `UsageError` with all problems of the mapping. */
function mappingOf(context: ActionContext): Mapping {
  const path = mappingPathOf(context);
  try {
    return readMapping(path);
  } catch (error) {
    if (!(error instanceof UnusableMapping)) throw error;
    throw new UsageError([`${path}:`, ...error.problems].join('\n'));
  }
}

const enrolAction: Action = {
  name: 'enrol',
  summary: 'Store a collector key, read from SVC_COLLECTOR_KEY or standard input',
  options: [collector.folderOption],
  notes: `
The operator of the service creates the key: svc admin collector-key create --datacenter DC-1
--project A --project B. It is tested before it is stored. A running collector uses a new key at once.
`,
  async run(context) {
    const folder = collector.folderOf(context);
    const key = await readKey(context);
    makeWritable(folder);
    const { endpoint } = context.access('nobody');
    await tryKey(context, endpoint, key);
    const nobody = { projectName: '', vmName: '', expiresUnix: 0 };
    writeEnrolment(folder, { endpoint, key, machine: thisMachine(), ...nobody });
    if (context.json) context.print(json({ endpoint, folder }));
    else {
      context.print(
        facts([
          ['service', endpoint],
          ['stored in', folder],
        ]),
      );
    }
    return EXIT_OK;
  },
};

async function readKey(context: ActionContext): Promise<string> {
  const key = await collector.readSecret(context);
  if (parseSecret('col', key) !== undefined) return key;
  const hint = 'Set SVC_COLLECTOR_KEY, or write the key to standard input; it starts with svc_col_';
  throw new UsageError('The collector key is missing or incomplete', hint);
}

/** Reasons of the service for a project that a valid key does not cover. */
const BEYOND_KEY: ReadonlySet<string> = new Set(['PROJECT_BOUNDARY', 'NOT_FOUND']);

/** Writes nothing to a project that no key covers: the reason tells whether the key is valid. */
async function tryKey({ ports }: ActionContext, endpoint: string, key: string): Promise<void> {
  const as = { endpoint, key, projectName: 'projects/svc-collect-enrolment', vmName: '' };
  const batch = { id: '', rows: [] };
  const outcome = await createSender(ports.clock)(as, batch, new AbortController().signal);
  if (outcome.kind === 'stored') return;
  if ('reason' in outcome && BEYOND_KEY.has(outcome.reason ?? '')) return;
  const exitCode = outcome.kind === 'denied' ? EXIT_DENIED : EXIT_FAULT;
  throw new Fault(`The key could not be tested: ${outcome.message}`, { exitCode });
}

const checkAction: Action = {
  name: 'check',
  summary: 'Read the mapping and its libvirt hosts once, and show where each domain belongs',
  options: [mappingOption],
  notes:
    '\nNothing is sent. Exit code 1: a libvirt host did not respond, or a domain matches no rule.\n',
  async run(context) {
    const { clock, random } = context.ports;
    const { rows, faults } = await readFleet({
      mapping: mappingOf(context),
      clock,
      random,
      run: runCommand,
    });
    const unmatched = rows.filter(({ project }) => project === undefined).length;
    if (context.json) context.print(json({ domains: rows, unmatched, faults }));
    else {
      context.print(domainTable(rows));
      const domains = rows.length === 1 ? '1 domain' : `${rows.length} domains`;
      context.report(`${domains}, ${unmatched} without a matching rule`);
      for (const fault of faults) context.report(fault);
    }
    return unmatched === 0 && faults.length === 0 ? EXIT_OK : EXIT_FAULT;
  },
};

function domainTable(rows: readonly MappedRow[]): string {
  return table(
    ['DOMAIN', 'UUID', 'SOURCE', 'PROJECT', 'LINE'],
    rows.map(({ name, vm, source, project = '-', line }) => [
      name,
      vm,
      source,
      project,
      line === undefined ? '-' : String(line),
    ]),
    'No domains',
  );
}

const runAction: Action = {
  name: 'run',
  summary: 'Read the libvirt hosts of the mapping and send the readings, until SIGTERM or Ctrl-C',
  options: [collector.folderOption, ...runOptions],
  notes: `
The mapping is read again when it changes, and at SIGHUP. An invalid mapping is reported, and the
previous one stays in use. While the service cannot be reached, rows wait on disk with their own
times, up to 24 hours. Exit code 2: not enrolled, or the mapping cannot be used.
`,
  run,
};

async function run(context: ActionContext): Promise<number> {
  const { ports, input } = context;
  const folder = collector.folderOf(context);
  const intervalMs = intervalSeconds(context) * 1000;
  const mappingPath = mappingPathOf(context);
  mappingOf(context);
  return collector.run(context, (log) => {
    const running = startCollect({
      clock: ports.clock,
      random: ports.random,
      folder,
      mappingPath,
      intervalMs,
      log,
      bytesMax: (input.number('buffer-mib') ?? BUFFER_MIB_DEFAULT) * MIB,
      fileSystems: input.isOn('filesystems'),
    });
    log.info({ folder, mappingPath, intervalMs }, 'Collector started');
    return running;
  });
}

const statusAction: Action = {
  name: 'status',
  summary: 'Show sources, projects, queued rows and domains that match no rule',
  options: [collector.folderOption],
  notes: '\nExit code 1: not enrolled, not running, or not reading or sending everything.\n',
  async run(context) {
    const folder = collector.folderOf(context);
    const { problem } = collector.enrolmentIn(folder);
    const status = readStatus(folder);
    const isRunning = status !== undefined && isFresh(status, context.ports.clock.now());
    const faults = faultsOf(isRunning ? status : undefined, problem);
    if (context.json) context.print(json({ folder, isRunning, faults, status }));
    else context.print(statusText(status, faults));
    return faults.length === 0 ? EXIT_OK : EXIT_FAULT;
  },
};

/** Undefined if it has not run here, or if the file is damaged. */
function readStatus(folder: string): CollectStatus | undefined {
  try {
    return JSON.parse(readFileSync(collectStatusPath(folder), 'utf8')) as CollectStatus;
  } catch {
    return undefined;
  }
}

function faultsOf(status: CollectStatus | undefined, problem: string | undefined): string[] {
  if (problem !== undefined) return [problem];
  if (status === undefined) return ['The collector is not running'];
  const of = ({ fault }: { readonly fault?: string }) => (fault === undefined ? [] : [fault]);
  return [...status.faults, ...status.sources.flatMap(of), ...status.projects.flatMap(of)];
}

function statusText(status: CollectStatus | undefined, faults: readonly string[]): string {
  const lines = faults.map((fault) => `fault: ${fault}\n`).join('');
  if (status === undefined) return lines;
  const { sources, projects, unmatched, unmatchedCount, rejected } = status;
  // Older collectors wrote neither.
  const { leftOutReadings = Number.NaN, notStorable = [] } = status;
  const sourceRows = sources.map(({ name, lastRowMs, fault }) => [
    name,
    timeOf(lastRowMs),
    fault === undefined ? 'read' : 'fault',
  ]);
  const projectRows = projects.map((one) => [
    one.project,
    String(one.vms),
    String(one.waitingRows),
    timeOf(one.lastSentMs),
    String(one.droppedRows),
  ]);
  const refused = Object.entries(rejected).map(([why, times]) => `${why} ${times}`);
  return [
    lines,
    table(['SOURCE', 'LAST READING', 'STATE'], sourceRows, 'No sources'),
    '\n',
    table(
      ['PROJECT', 'VMS', 'QUEUED', 'LAST SENT', 'DROPPED'],
      projectRows,
      'No domain belongs to a project',
    ),
    refused.length === 0 ? '' : `refused: ${refused.join(', ')}\n`,
    leftOutReadings > 0 ? `left out: ${leftOutReadings} readings that cannot be stored\n` : '',
    ...notStorable.map((sentence) => `  ${sentence}\n`),
    unmatchedCount === 1
      ? '\n1 domain matches no rule and is not sent\n'
      : `\n${unmatchedCount} domains match no rule and are not sent\n`,
    unmatchedCount === 0 ? '' : unmatchedTable(unmatched),
  ].join('');
}

function unmatchedTable(unmatched: CollectStatus['unmatched']): string {
  const rows = unmatched.map(({ name, vm, source }) => [name, vm, source]);
  return table(['DOMAIN', 'UUID', 'SOURCE'], rows, '');
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? '-' : localTime(Math.floor(ms / 1000));
}

export const collectCommand: ClientCommand = {
  // Its `run` is a service.
  outlivesReader: true,
  ...family(
    'collect',
    'Collect from many libvirt hosts into many projects',
    [
      checkAction,
      enrolAction,
      collector.installAction(`
Run it again after moving the program: the unit holds its path. The unit waits for the enrolment, and
stops if the mapping is invalid: fix it and run "systemctl restart svc-collect". Keys for qemu+ssh belong in
/var/lib/svc-collect/.ssh. For users who may read libvirt, see docs/sources.md.
`),
      runAction,
      statusAction,
      collector.unenrolAction(
        () => 'Elsewhere the key stays valid until revoked: svc admin collector-key revoke ID',
      ),
    ],
    `
A mapping says which libvirts are read, and which domain belongs to which project:
  source qemu+ssh://monitor@host-a/system
  uuid 4c4c4544-0051-4e10-8050-b7c04f4b4d32 project shop
  name shop-* project shop
  metadata urn:svc:project
The first rule that fits decides. docs/operations/collect.md has all of it.
`,
  ),
};
