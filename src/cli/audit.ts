/**
 * `svc audit`: `list` queries the API for who did what (`audit-list.ts`); `verify` proves that the
 * recorded history matches what was committed. It queries the service that runs on the data folder.
 * If none runs, it reads control.db and events.db itself and says so. Results go to standard
 * output, everything else to standard error.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { VerifyProgress } from '../../actors/audit/log-verifier.ts';
import type { Broken, ProjectVerification } from '../../actors/audit/project-check.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import { AUDIT_VERIFY_PATH, type AuditVerification } from '../admin/audit-routes.ts';
import type { FilesProgress } from '../admin/check/check-thread.ts';
import type { SinkComparison } from '../audit/export/compare-sink.ts';
import {
  AuditService,
  ListTransitionsResponseSchema,
  type Transition,
} from '../gen/svc/audit/v1/audit_pb.ts';
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import { readMasterKey } from '../platform/master-key.ts';
import { ConfigError } from '../platform/settings/config.ts';
import { tableLines } from '../platform/table.ts';
import { actorsCalled } from './audit-actors.ts';
import {
  type Action,
  type ActionContext,
  type ClientCommand,
  family,
  projectOption,
} from './client/action.ts';
import type { Api } from './client/api.ts';
import { EXIT_NOT_FOUND, Fault, UsageError } from './client/faults.ts';
import { projectName, resourceName } from './client/names.ts';
import { messageDocument } from './client/output.ts';
import { processPorts } from './client/ports.ts';
import { ProgressLine } from './client/progress-line.ts';
import { EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { filesLines, isDamaged } from './damage-lines.ts';
import { timeOptions } from './monitoring/filters.ts';
import { settingsOfService } from './service-folder.ts';
import { actionTable, transitionTable } from './transition-table.ts';

const USAGE = `Usage: svc audit verify [--data FOLDER] [--sink FILE]... [--json]
       svc audit list [flags]

  list    Show who did what in a project, newest first; see "svc help audit list".

  verify  Prove that the recorded history matches what was committed. Checks every project's chain
          of commits, the bodies that the log still holds, the transitions in the audit trail,
          each step by its machine, every row of an instance, and every page and row of all
          databases except history.db ("svc history check"). Exit code 1 on a fault, which
          is reported with its first commit, or if the log is elsewhere: then only the chain can
          be checked.

  --sink  Compare the files of an audit sink (SVC_AUDIT_SINK), including rotated ones, with
          control.db instead: each line must be the commit of its position, and none may be
          missing between the first and the last. Exit code 1 on a difference.
  --data  Folder of the databases, as for "svc serve". Default: SVC_DATA, or ./data if it exists,
          or /var/lib/svc.
  --json  The result as one JSON document, for programs.

The service that runs on the folder is queried; if none runs, the databases are read directly.
`;

interface Requested {
  readonly folder: string;
  readonly masterKeyFile: string;
  readonly json: boolean;
  /** Files of an audit sink; if empty, the log is verified. */
  readonly sinks: readonly string[];
}

function parseArguments(
  [what, ...rest]: readonly string[],
  { environment }: Surroundings,
): Requested | { readonly problem: string } {
  if (what !== 'verify') {
    const seen = what === undefined ? 'no action given' : `${JSON.stringify(what)} is unknown`;
    return { problem: `${seen}. Use list or verify` };
  }
  const { sinks, others } = takeSinks(rest);
  if (sinks.includes('')) return { problem: '--sink requires a file' };
  const flags = others.filter((argument) => argument !== '--json');
  const isData = flags.length === 0 || /^--data(=|$)/.test(flags[0] ?? '');
  if (!isData || flags.length > 2) {
    return { problem: `${JSON.stringify(flags.find((flag) => !/^--data/.test(flag)))} is unknown` };
  }
  try {
    const settings = settingsOfService(flags, environment);
    const { data: folder, masterKeyFile } = settings;
    return { folder, masterKeyFile, json: flags.length < others.length, sinks };
  } catch (error) {
    if (error instanceof ConfigError) return { problem: error.problems.join('\n') };
    throw error;
  }
}

/** Extracts `--sink FILE` and `--sink=FILE`; returns them and the remaining arguments. */
function takeSinks(given: readonly string[]): { sinks: string[]; others: string[] } {
  const sinks: string[] = [];
  const others: string[] = [];
  for (let i = 0; i < given.length; i++) {
    const argument = given[i] ?? '';
    if (argument === '--sink') sinks.push(given[++i] ?? '');
    else if (argument.startsWith('--sink=')) sinks.push(argument.slice('--sink='.length));
    else others.push(argument);
  }
  return { sinks, others };
}

/** Reads the files in place, whether or not a service runs. Changes nothing. */
async function verifySink(
  { folder, json, sinks }: Requested,
  { stdout }: Surroundings,
): Promise<number> {
  const control = controlIn(folder);
  const { compareOnDisk } = await import('../admin/audit-routes.ts');
  try {
    const result = await compareOnDisk(sinks, control);
    stdout(json ? `${JSON.stringify(result, null, 2)}\n` : sinkText(result));
    return isWholeSink(result) ? EXIT_OK : EXIT_FAULT;
  } catch (error) {
    throw toDataFolderFault(error, control);
  }
}

/** Path of the projection. Throws `DataFolderUnusable` if it does not exist. */
function controlIn(folder: string): string {
  const control = join(folder, 'control.db');
  if (existsSync(control)) return control;
  throw new DataFolderUnusable(
    `${control} does not exist. Specify the data folder of the service with --data or SVC_DATA`,
  );
}

async function verify(requested: Requested, surroundings: Surroundings): Promise<number> {
  if (requested.sinks.length > 0) return verifySink(requested, surroundings);
  const { json } = requested;
  const progress = new ProgressLine(surroundings, 'verified', 'commits');
  const result = await askOrRead(requested, surroundings, (line) => {
    if ('verified' in line) progress.show(line.verified, line.commits);
  });
  progress.end();
  const text = json ? `${JSON.stringify(result, null, 2)}\n` : verificationText(result);
  surroundings.stdout(text);
  return isProven(result) ? EXIT_OK : EXIT_FAULT;
}

async function askOrRead(
  { folder, masterKeyFile }: Requested,
  { stderr, client = processPorts() }: Surroundings,
  onProgress: (progress: VerifyProgress | FilesProgress) => void,
): Promise<AuditVerification> {
  try {
    // Both sides are the same program.
    const onLine = (line: unknown) => onProgress(line as VerifyProgress | FilesProgress);
    return (await askService(folder, AUDIT_VERIFY_PATH, onLine)) as AuditVerification;
  } catch (error) {
    if (!(error instanceof NoService)) throw error;
  }
  const paths = { control: controlIn(folder), events: join(folder, 'events.db') };
  stderr(`No service is running on ${folder}. Reading its databases directly\n`);
  if (!existsSync(paths.events))
    stderr('There is no events.db, so only the chain itself can be verified\n');
  const { verifyOnDisk } = await import('../admin/audit-routes.ts');
  try {
    const masterKey = existsSync(masterKeyFile) ? readMasterKey(masterKeyFile) : undefined;
    return await verifyOnDisk({ folder, masterKey }, { clock: client.clock, onProgress });
  } catch (error) {
    throw toDataFolderFault(error, paths.control);
  }
}

function verificationText(verification: AuditVerification): string {
  return [logText(verification), ...filesLines(verification.files)].join('');
}

function logText(verification: AuditVerification): string {
  const { projects, hasLog, files } = verification;
  if (projects.length === 0 && isDamaged(files)) {
    return 'The log could not be verified, because a database is damaged\n';
  }
  if (projects.length === 0) return 'No commits yet, so there is nothing to verify\n';
  const columns = [
    { title: 'project' },
    ...['commits', 'headers only', 'steps', 're-evaluated'].map((title) => ({
      title,
      align: 'right' as const,
    })),
    { title: 'result' },
  ];
  const broken = projects.flatMap((project) => (project.broken ? [project.broken] : []));
  const rows = projects.map((project) => rowOf(project, hasLog));
  const end = broken.length === 0 ? provenLines(verification) : brokenLines(broken);
  return [...tableLines(columns, rows), '', ...end, ''].join('\n');
}

/** True if the whole history is proven and the log was available as evidence. */
function isProven({ projects, hasLog, files }: AuditVerification): boolean {
  if (isDamaged(files)) return false;
  return projects.every(({ broken }) => broken === null) && (hasLog || projects.length === 0);
}

/** True if the sink holds commits, each as in the log, with none missing in between. */
function isWholeSink({ faults, same, dropped }: SinkComparison): boolean {
  return faults.length === 0 && same + dropped > 0;
}

function sinkText(comparison: SinkComparison): string {
  const { lines, same, dropped, cutOff, faults } = comparison;
  const counts = `${inGroups(lines)} lines: ${inGroups(same)} commits equal to the log, ${inGroups(dropped)} older than the log, ${inGroups(cutOff)} cut off`;
  if (faults.length > 0)
    return [counts, ...faults.map((fault) => `BROKEN: ${fault}`), ''].join('\n');
  const result = isWholeSink(comparison)
    ? 'Proven: no commit is missing between the first and the last.'
    : 'Not proven: the sink holds no commits.';
  return [counts, result, ''].join('\n');
}

function rowOf(project: ProjectVerification, hasLog: boolean): string[] {
  const { commits, headersAlone, steps, decidedAgain } = project;
  const counts = [commits, headersAlone, steps, decidedAgain].map(inGroups);
  return [project.project, ...counts, resultOf(project, hasLog)];
}

function resultOf({ broken, headersAlone }: ProjectVerification, hasLog: boolean): string {
  if (broken?.commit) return `BROKEN at commit ${broken.commit.number}`;
  if (broken) return 'BROKEN: not attributable to a commit';
  if (!hasLog) return 'chain only';
  return headersAlone === 0 ? 'holds' : 'holds, as far back as the log reaches';
}

function provenLines({ projects, hasLog }: AuditVerification): string[] {
  const sum = (field: 'headersAlone' | 'stateAlone' | 'instances' | 'commits'): number =>
    projects.reduce((total, project) => total + project[field], 0);
  const headers = sum('headersAlone');
  const chain =
    'Proven: every chain of commits is complete; each transition in the audit trail belongs to a ' +
    'commit of its project; each instance is in the state that its last transition led to.';
  const bodies = `the decisions in ${inGroups(headers)} of ${inGroups(sum('commits'))} commits`;
  const begins = beginLines(projects);
  const rows = `anything beyond the state of ${inGroups(sum('stateAlone'))} of ${inGroups(sum('instances'))} instances`;
  const notProven = `Not proven: ${bodies}, and ${rows}`;
  if (!hasLog) {
    const how = 'start the service, whose log is on a server, and run this again';
    return [
      chain,
      `${notProven}, because the log is not available here. To verify them, ${how}.`,
      ...begins,
    ];
  }
  if (headers > 0) {
    const held = 'The rest of the log matches what was committed.';
    return [chain, held, `${notProven}: too old.`, ...begins];
  }
  return ['Every chain is complete, and the record matches what was committed.', ...begins];
}

/**
 * The position up to which old commits were dropped after their retention; a commit of each chain
 * confirms it.
 */
function beginLines(projects: readonly ProjectVerification[]): string[] {
  return projects.flatMap(({ project, start }) => {
    if (start === null) return [];
    const { number, atMs } = start;
    const date = new Date(atMs).toISOString().slice(0, 10);
    return [
      `${project} starts after commit ${inGroups(number)} of ${date}: older commits were dropped.`,
    ];
  });
}

function brokenLines(broken: readonly Broken[]): string[] {
  return [
    'The first fault of each project:',
    ...broken.map(({ project, commit, detail }) => {
      const at = commit && `commit ${commit.number} (${commit.id}, position ${commit.sequence})`;
      return `  ${project}: ${at ?? 'not attributable to a commit'}: ${detail}`;
    }),
    '',
    'What to do:',
    '  1. Keep a copy of the data folder as evidence.',
    '  2. Check for a failing disk (dmesg, smartctl), and find out who could write to the folder.',
    '  3. Restore the folder from an intact copy. Run this command on the copy first.',
  ];
}

function inGroups(value: number): string {
  return value.toLocaleString('en-US');
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 10_000;
/** Page size, rows. */
const PAGE = 1_000;
/** Maximum number of rows searched for a correlation id. */
const LOOKED_AT_MAX = 20_000;
/** The machine whose steps have a correlation id. */
const CORRELATED = 'ciConnection';

/**
 * `svc audit list`: who did what in a project, newest first, as far as the caller may see it. An
 * owner can find a refused exchange by the correlation id in the job's error.
 */
const auditListAction: Action = {
  name: 'list',
  summary: 'Show who did what in a project, newest first',
  options: [
    projectOption,
    {
      name: 'instance',
      takes: 'NAME',
      help: 'Only this resource, such as serviceAccounts/NAME or vms/ID',
    },
    { name: 'steps', help: 'All steps of all machines, not only actions of people and keys' },
    { name: 'machine', takes: 'NAME', help: 'Only steps of this machine, such as credential' },
    { name: 'correlation', takes: 'ID', help: 'Only refusals with this correlation id' },
    ...timeOptions('Committed at or after', 'Committed at or before'),
    {
      name: 'by',
      takes: 'NAME',
      help: 'Caused by this person or service account, or as shown in the list',
    },
    { name: 'event', takes: 'NAME', multiple: true, help: 'Only steps with this event' },
    { name: 'request', takes: 'ID', help: 'Decided by the request with this id' },
    { name: 'oldest-first', help: 'Show the oldest first' },
    {
      name: 'limit',
      takes: 'N',
      help: `At most this many, 1 to ${LIMIT_MAX}; default ${LIMIT_DEFAULT}`,
    },
  ],
  notes: `Only owners of the project see changes to identities. --machine, --event and --correlation
imply --steps.
--correlation searches the newest ${LOOKED_AT_MAX} transitions: those of trusts, unless --machine
or --instance selects others.`,
  async run(context) {
    const limit = limitOf(context);
    const api = context.api('person');
    const correlation = context.input.text('correlation');
    const instance = await instanceFilterOf(context, api, correlation !== undefined);
    const { input } = context;
    const isOfSteps =
      input.isOn('steps') ||
      input.isOn('machine') ||
      input.isOn('event') ||
      correlation !== undefined;
    const by = input.text('by');
    const actors = by ? await actorsCalled(api, instance.projectName, by) : [''];
    const filter = { ...instance, ...stepFilter(context), actors, actsOnly: !isOfSteps };
    const transitions =
      correlation === undefined
        ? (await newest(api, filter, limit)).transitions
        : await correlated(api, filter, { correlation, limit });
    if (context.json) {
      context.print(messageDocument(ListTransitionsResponseSchema, { transitions }));
    } else {
      const tableOf = isOfSteps ? transitionTable : actionTable;
      context.print(tableOf(transitions, `No matching ${isOfSteps ? 'steps' : 'actions'}`));
    }
    return EXIT_OK;
  },
};

interface Filter extends InstanceFilter, ReturnType<typeof stepFilter> {
  /** As in `Transition.by`; empty for all. */
  readonly actors: readonly string[];
  readonly actsOnly: boolean;
}

interface InstanceFilter {
  readonly projectName: string;
  readonly instanceName: string;
  readonly machine: string;
}

/** Filter of steps, regardless of their instance. */
function stepFilter({ input }: ActionContext) {
  const [since, until] = [input.time('since'), input.time('until')];
  return {
    startTimeUnixMs: BigInt(since ?? 0) * 1000n,
    // Includes the whole second.
    endTimeUnixMs: until === undefined ? 0n : BigInt(until) * 1000n + 999n,
    events: [...input.list('event')],
    requestId: input.text('request') ?? '',
    oldestFirst: input.isOn('oldest-first'),
  };
}

async function instanceFilterOf(
  context: ActionContext,
  api: Api,
  isCorrelated: boolean,
): Promise<InstanceFilter> {
  const { input } = context;
  const given = input.text('instance') ?? '';
  const machine = input.text('machine') ?? (isCorrelated && given === '' ? CORRELATED : '');
  const ofName = /^projects\/[^/]+(?=\/)/.exec(given)?.[0];
  if (ofName !== undefined) return { projectName: ofName, instanceName: given, machine };
  const project = await projectName(context, api);
  if (given !== '' && !given.includes('/')) {
    const what = JSON.stringify(given);
    throw new UsageError(`${what} lacks the collection. For example: serviceAccounts/ID`);
  }
  const instanceName = given === '' ? '' : await instanceCalled(context, api, given);
  return { projectName: project, instanceName, machine };
}

/** Full name of `serviceAccounts/Deploy bot`, or of an id, whose resource may have been deleted. */
async function instanceCalled(context: ActionContext, api: Api, given: string): Promise<string> {
  const [, collection = '', name = ''] = /^([^/]+)\/(.+)$/.exec(given) ?? [];
  // A key belongs to its account and is named by its id.
  if (name === '' || name.includes('/')) return `${await projectName(context, api)}/${given}`;
  return resourceName(context, api, { collection, given: name, takesUnknown: true });
}

function limitOf({ input }: ActionContext): number {
  const limit = input.number('limit') ?? LIMIT_DEFAULT;
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new UsageError(`--limit must be a whole number from 1 to ${LIMIT_MAX}`);
}

/** In the requested order, across all actors. */
async function newest(api: Api, { actors, ...filter }: Filter, limit: number) {
  const found = await Promise.all(actors.map((by) => newestOf(api, { ...filter, by }, limit)));
  const all = found.flatMap(({ transitions }) => transitions);
  const side = filter.oldestFirst ? 1 : -1;
  return {
    transitions: all.toSorted((a, b) => side * Number(a.sequence - b.sequence)).slice(0, limit),
    isAll: found.every(({ isAll }) => isAll),
  };
}

type ActorFilter = Omit<Filter, 'actors'> & { readonly by: string };

async function newestOf(api: Api, filter: ActorFilter, limit: number) {
  const transitions: Transition[] = [];
  for (let pageToken = ''; transitions.length < limit; ) {
    const pageSize = Math.min(PAGE, limit - transitions.length);
    const page = { ...filter, pageSize, pageToken };
    const answer = await api.call(AuditService.method.listTransitions, page);
    transitions.push(...answer.transitions);
    pageToken = answer.nextPageToken;
    if (pageToken === '') return { transitions, isAll: true };
  }
  return { transitions, isAll: false };
}

/**
 * Searches on the client, because the service has no index of correlation ids. Throws `Fault` if it
 * is not found.
 */
async function correlated(
  api: Api,
  filter: Filter,
  { correlation, limit }: { readonly correlation: string; readonly limit: number },
): Promise<Transition[]> {
  const { transitions, isAll } = await newest(api, filter, LOOKED_AT_MAX);
  const found = transitions.filter(({ eventJson }) => correlationIn(eventJson) === correlation);
  if (found.length > 0) return found.slice(0, limit);
  const looked = `${isAll ? 'all' : 'the newest'} ${transitions.length} steps`;
  throw new Fault(
    `None of ${looked} in ${filter.projectName} has the correlation id ${correlation}`,
    {
      exitCode: EXIT_NOT_FOUND,
      hint: 'A refusal is recorded within a minute, and only if the trust exists. Try again after a minute',
    },
  );
}

function correlationIn(eventJson: string): unknown {
  const { correlation } = JSON.parse(eventJson) as { readonly correlation?: unknown };
  return correlation;
}

const client = family('audit', 'Show who did what, and verify that the record is complete', [
  auditListAction,
]);

export const auditCommand: ClientCommand = {
  ...client,
  help: () => USAGE,
  // `verify` is not one of the client's actions.
  misnamed: () => undefined,
  run: async (args, surroundings) => {
    if (args[0] === auditListAction.name) return client.run(args, surroundings);
    const requested = parseArguments(args, surroundings);
    if ('problem' in requested) {
      surroundings.stderr(`svc audit: ${requested.problem}\n\n${USAGE}`);
      return EXIT_USAGE;
    }
    try {
      return await verify(requested, surroundings);
    } catch (error) {
      const isKnown = error instanceof AdminFault || error instanceof DataFolderUnusable;
      if (!isKnown) throw error;
      surroundings.stderr(`svc audit verify: ${error.message}\n`);
      return EXIT_FAULT;
    }
  },
};
