/**
 * `svc agent`: expanded monitoring from inside a guest. Enrols with a one-time token, runs, reports
 * its status, installs the systemd unit, and removes the enrolment. The token comes from the
 * environment or standard input, never from the command line, which every process on the machine
 * can read.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { release } from 'node:os';
import { FolderLocked, lockFolder } from '../../sqlite/platform/lock-file.ts';
import { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import { parseSecret } from '../platform/keys.ts';
import { createLog } from '../platform/log.ts';
import { bufferFolder, startAgent } from '../vms/agent/agent.ts';
import {
  EnrolmentUnusable,
  enrolmentPath,
  prepareFolder,
  readEnrolment,
  type StoredEnrolment,
  thisMachine,
  writeEnrolment,
} from '../vms/agent/enrolment-file.ts';
import { type BufferStats, RowBuffer } from '../vms/agent/row-buffer.ts';
import { type AgentStatus, readStatus, statusPath } from '../vms/agent/status-file.ts';
import { type Action, type ActionContext, family } from './client/action.ts';
import type { Option } from './client/arguments.ts';
import { Fault, NoAnswer, UsageError } from './client/faults.ts';
import { facts, json, localTime } from './client/output.ts';
import { EXIT_FAULT, EXIT_OK, EXIT_USAGE } from './command.ts';
import { installOptions, installUnit } from './install.ts';

const FOLDER = '/var/lib/svc-agent';

const folderOption: Option = {
  name: 'state',
  takes: 'FOLDER',
  help: `Folder of the enrolment and the buffer; default: SVC_AGENT_STATE, or ${FOLDER}`,
};

/** The agent's folder; under systemd the one given to the unit. */
function folderOf({ input, environment }: ActionContext): string {
  const { STATE_DIRECTORY, SVC_AGENT_STATE } = environment;
  // Several folders are separated by colons; the unit has one.
  const given = STATE_DIRECTORY?.split(':')[0];
  return input.text('state') || SVC_AGENT_STATE || given || FOLDER;
}

const installAction: Action = {
  name: 'install',
  summary: 'Install and start the systemd unit of the agent',
  options: [
    ...installOptions,
    { name: 'interval', takes: 'DURATION', help: 'Interval between readings, 1s to 30s' },
  ],
  notes: `
Run it again after moving the program: the unit holds its path. You can enrol before or after
this: the unit waits for the enrolment. Start it then with "systemctl restart svc-agent".
`,
  run: install,
};

async function install(context: ActionContext): Promise<number> {
  const seconds = context.input.seconds('interval');
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    throw new UsageError(`--interval must be 1s to 30s, not ${seconds}s`);
  }
  const flags = seconds === undefined ? [] : ['--interval', `${seconds}s`];
  return installUnit(context, 'agent', flags);
}

/** Two readings more than 90 s apart are a gap, so a longer interval would produce only gaps. */
const INTERVAL_SECONDS_MAX = 30;

const runAction: Action = {
  name: 'run',
  summary: 'Read this guest and send the readings, until SIGTERM or Ctrl-C',
  options: [
    folderOption,
    {
      name: 'interval',
      takes: 'DURATION',
      help: `Interval between readings, 1s to ${INTERVAL_SECONDS_MAX}s; default 30s`,
    },
  ],
  notes: `
While the service cannot be reached, rows wait on disk with their own times, up to 24 hours or 64
MiB. Then the oldest are discarded and counted. Exit code 2: this machine is not enrolled.
`,
  run,
};

async function run(context: ActionContext): Promise<number> {
  const { surroundings, ports } = context;
  const folder = folderOf(context);
  const intervalMs = intervalSeconds(context) * 1000;
  const lock = lockOf(folder);
  try {
    const log = createLog({
      level: 'info',
      readable: surroundings.isTerminal,
      clock: ports.clock,
      write: surroundings.log,
    });
    const agent = startAgent({ ...ports, folder, intervalMs, log });
    log.info({ folder, intervalMs }, 'Agent started');
    const { promise: signalled, resolve } = Promise.withResolvers<void>();
    const forget = surroundings.onSignal((signal) => signal !== 'SIGHUP' && resolve());
    try {
      await Promise.race([signalled, agent.ended]);
    } finally {
      forget();
      await agent.stop();
    }
    return EXIT_OK;
  } catch (error) {
    if (!(error instanceof EnrolmentUnusable)) throw error;
    surroundings.stderr(`svc agent run: ${error.message}\n`);
    return EXIT_USAGE;
  } finally {
    lock.release();
  }
}

function intervalSeconds({ input }: ActionContext): number {
  const seconds = input.seconds('interval') ?? INTERVAL_SECONDS_MAX;
  if (seconds >= 1 && seconds <= INTERVAL_SECONDS_MAX) return seconds;
  throw new UsageError(`--interval must be 1s to ${INTERVAL_SECONDS_MAX}s, not ${seconds}s`);
}

function lockOf(folder: string): ReturnType<typeof lockFolder> {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error;
    throw new UsageError(`An agent is already running in ${folder}`);
  }
}

/**
 * Number of intervals without a change of the status file after which the agent counts as stopped.
 */
const SILENT_INTERVALS = 3;

const statusAction: Action = {
  name: 'status',
  summary: 'Show the VM that this machine is enrolled as, and whether its rows are sent',
  options: [folderOption],
  notes: '\nExit code 1: not enrolled, not running, or rows are not sent.\n',
  async run(context) {
    const folder = folderOf(context);
    const { enrolment, problem } = enrolmentIn(folder);
    const waiting = waitingIn(folder, context);
    const status = readStatus(folder);
    const isRunning = status !== undefined && isFresh(status, context.ports.clock.now());
    const fault = problem ?? (isRunning ? status.fault : 'The agent is not running');
    if (context.json) {
      const displayed = enrolment && withoutKey(enrolment);
      context.print(json({ folder, enrolment: displayed, isRunning, fault, waiting, status }));
    } else {
      const displayed = { enrolment, isRunning, fault, waiting, status };
      context.print(facts(lines(displayed)));
    }
    return fault === undefined ? EXIT_OK : EXIT_FAULT;
  },
};

const unenrolAction: Action = {
  name: 'unenrol',
  summary: 'Delete the key and the queued rows',
  options: [folderOption],
  async run(context) {
    const folder = folderOf(context);
    const wasEnrolled = existsSync(enrolmentPath(folder));
    const { enrolment } = enrolmentIn(folder);
    for (const path of [enrolmentPath(folder), bufferFolder(folder), statusPath(folder)]) {
      rmSync(path, { recursive: true, force: true });
    }
    if (!wasEnrolled) context.report(`There was no enrolment in ${folder}`);
    else {
      const vm = enrolment?.vmName ?? 'the VM';
      context.report(
        'The key was deleted from this machine. Stop the agent: systemctl disable --now svc-agent',
      );
      context.report(`To invalidate the key everywhere, unenrol ${vm} in its project too`);
    }
    return EXIT_OK;
  },
};

function enrolmentIn(folder: string): { enrolment?: StoredEnrolment; problem?: string } {
  try {
    return { enrolment: readEnrolment(folder) };
  } catch (error) {
    if (!(error instanceof EnrolmentUnusable)) throw error;
    return { problem: error.message };
  }
}

/** Reads the files, so that it also works while the agent is stopped. */
function waitingIn(folder: string, { ports }: ActionContext): BufferStats {
  const path = bufferFolder(folder);
  if (!existsSync(path)) return { rows: 0, bytes: 0 };
  return new RowBuffer({ ...ports, folder: path, onDropped: () => {} }).stats();
}

function isFresh({ writtenMs, intervalMs }: AgentStatus, nowMs: number): boolean {
  return nowMs - writtenMs <= SILENT_INTERVALS * intervalMs;
}

function withoutKey({ key: _, machine: __, ...displayed }: StoredEnrolment): object {
  return displayed;
}

function lines(of: {
  readonly enrolment: StoredEnrolment | undefined;
  readonly isRunning: boolean;
  readonly fault: string | undefined;
  readonly waiting: BufferStats;
  readonly status: AgentStatus | undefined;
}): [string, string][] {
  const { enrolment, isRunning, fault, waiting, status } = of;
  const rejected = Object.entries(status?.rejected ?? {}).map(([why, times]) => `${why} ${times}`);
  const oldest = waiting.oldestMs === undefined ? '' : ` since ${timeOf(waiting.oldestMs)}`;
  return [
    ['VM', enrolment?.vmName ?? ''],
    ['service', enrolment?.endpoint ?? ''],
    ['key until', localTime(enrolment?.expiresUnix)],
    ['running', isRunning ? 'yes' : 'no'],
    ['fault', fault ?? ''],
    ['queued', `${waiting.rows} rows, ${waiting.bytes} bytes${oldest}`],
    ['last sent', status?.lastSentMs === undefined ? '' : timeOf(status.lastSentMs)],
    ['dropped', status ? `${status.droppedRows} rows` : ''],
    ['rejected', rejected.join(', ')],
    ['left out', (status?.notStorable ?? []).join(' ')],
  ];
}

function timeOf(ms: number): string {
  return localTime(Math.floor(ms / 1000));
}

const enrolAction: Action = {
  name: 'enrol',
  summary: 'Enrol this VM; reads the token from SVC_ENROLMENT_TOKEN or standard input',
  options: [folderOption],
  notes: `
This uses up the token. If no answer arrives, it may be used up too: enrol the VM again to get
another one. An agent enrolled earlier is refused once this one is enrolled.
`,
  async run(context) {
    const folder = folderOf(context);
    const token = await readToken(context);
    makeWritable(folder);
    const enrolment = await exchange(context, token);
    forgetOtherVm(folder, enrolment, context.report);
    writeEnrolment(folder, enrolment);
    const { key: _, machine: __, ...displayed } = enrolment;
    if (context.json) context.print(json({ ...displayed, folder }));
    else context.print(enrolledText(displayed, folder));
    return EXIT_OK;
  },
};

async function readToken({ environment, ports }: ActionContext): Promise<string> {
  const given = environment.SVC_ENROLMENT_TOKEN?.trim();
  const requested = () =>
    ports.isInteractive ? ports.ask('Enrolment token: ') : ports.readInput();
  const token = given || (await requested()).trim();
  if (token === '') {
    const hint = 'Set SVC_ENROLMENT_TOKEN, or write the token to standard input';
    throw new UsageError('The enrolment token is missing', hint);
  }
  if (parseSecret('enrol', token) !== undefined) return token;
  const hint = 'Check that it was copied completely, starting with svc_enrol_';
  throw new Fault('The enrolment token is invalid: its format or checksum is wrong', { hint });
}

/** Checked before the token is used up. */
function makeWritable(folder: string): void {
  try {
    prepareFolder(folder);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Fault(`${folder} is not writable: ${cause}`, {
      hint: 'Run this as root, or choose another folder with --state',
    });
  }
}

async function exchange(context: ActionContext, enrolmentToken: string): Promise<StoredEnrolment> {
  const api = context.api('nobody');
  try {
    const request = { enrolmentToken, system: describeSystem() };
    const answer = await api.call(AutomationService.method.enrolAgent, request);
    const { projectName, vmName, key, expiresUnix } = answer;
    return {
      endpoint: api.access.endpoint,
      projectName,
      vmName,
      key,
      expiresUnix: Number(expiresUnix),
      machine: thisMachine(),
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const hint =
      'The token may be used up. If it is rejected next time, create a new one for the VM';
    throw new NoAnswer(error.message, hint);
  }
}

/** Queued rows belong to the previously enrolled VM and would be rejected for another one. */
function forgetOtherVm(
  folder: string,
  { vmName }: StoredEnrolment,
  report: (line: string) => void,
): void {
  try {
    if (readEnrolment(folder).vmName === vmName) return;
  } catch (error) {
    if (!(error instanceof EnrolmentUnusable)) throw error;
  }
  rmSync(bufferFolder(folder), { recursive: true, force: true });
  report(`This machine now sends as ${vmName}`);
}

/** Image and kernel, to describe the enrolment. */
function describeSystem(): string {
  let image = 'Linux';
  try {
    const [, name] =
      /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
    image = name || image;
  } catch {
    // An image without the file is still Linux.
  }
  return `${image}, Linux ${release()}`;
}

function enrolledText(
  { endpoint, vmName, expiresUnix }: Pick<StoredEnrolment, 'endpoint' | 'vmName' | 'expiresUnix'>,
  folder: string,
): string {
  return facts([
    ['VM', vmName],
    ['service', endpoint],
    ['key until', localTime(expiresUnix)],
    ['stored in', folder],
  ]);
}

export const agentCommand = family(
  'agent',
  'Monitor this VM from inside the guest',
  [enrolAction, installAction, runAction, statusAction, unenrolAction],
  `
The agent sends load, available memory, swap and running processes of this guest, which no hypervisor
can see, and nothing else. Enrol the VM in its project first: the answer has the token.
`,
);
