/**
 * `svc agent`: expanded monitoring from inside a guest. Enrols with a one-time token, runs, reports
 * its status, installs the systemd unit, and removes the enrolment. The token comes from the
 * environment or standard input, never from the command line, which every process on the machine
 * can read.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { release } from 'node:os';
import { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import { parseSecret } from '../platform/keys.ts';
import { bufferFolder, startAgent } from '../vms/agent/agent.ts';
import { type StoredEnrolment, thisMachine, writeEnrolment } from '../vms/agent/enrolment-file.ts';
import { type BufferStats, RowBuffer } from '../vms/agent/row-buffer.ts';
import { type AgentStatus, readStatus, statusPath } from '../vms/agent/status-file.ts';
import { type Action, type ActionContext, type ClientCommand, family } from './client/action.ts';
import { Fault, NoAnswer, UsageError } from './client/faults.ts';
import { facts, json } from './client/output.ts';
import { localTime } from './client/texts.ts';
import { EXIT_FAULT, EXIT_OK } from './command.ts';
import { intervalOption, intervalSeconds, isFresh, makeWritable, Reporter } from './reporter.ts';

const agent = new Reporter({
  command: 'agent',
  noun: 'agent',
  folderVariable: 'SVC_AGENT_STATE',
  secretVariable: 'SVC_ENROLMENT_TOKEN',
  secretNoun: 'Enrolment token',
  runOptions: [intervalOption],
  pathsIn: (folder) => [bufferFolder(folder), statusPath(folder)],
});

const runAction: Action = {
  name: 'run',
  summary: 'Read this guest and send the readings, until SIGTERM or Ctrl-C',
  options: [agent.folderOption, intervalOption],
  notes: `
While the service cannot be reached, rows wait on disk with their own times, up to 24 hours or 64
MiB. Then the oldest are discarded and counted. Exit code 2: this machine is not enrolled.
`,
  async run(context) {
    const folder = agent.folderOf(context);
    const intervalMs = intervalSeconds(context) * 1000;
    return agent.run(context, (log) => {
      const running = startAgent({ ...context.ports, folder, intervalMs, log });
      log.info({ folder, intervalMs }, 'Agent started');
      return running;
    });
  },
};

const statusAction: Action = {
  name: 'status',
  summary: 'Show the VM that this machine is enrolled as, and whether its rows are sent',
  options: [agent.folderOption],
  notes: '\nExit code 1: not enrolled, not running, or rows are not sent.\n',
  async run(context) {
    const folder = agent.folderOf(context);
    const { enrolment, problem } = agent.enrolmentIn(folder);
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

/** Reads the files, so that it also works while the agent is stopped. */
function waitingIn(folder: string, { ports }: ActionContext): BufferStats {
  const path = bufferFolder(folder);
  if (!existsSync(path)) return { rows: 0, bytes: 0 };
  return new RowBuffer({ ...ports, folder: path, onDropped: () => {} }).stats();
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
  options: [agent.folderOption],
  notes: `
This uses up the token. If no answer arrives, it may be used up too: enrol the VM again to get
another one. An agent enrolled earlier is refused once this one is enrolled.
`,
  async run(context) {
    const folder = agent.folderOf(context);
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

async function readToken(context: ActionContext): Promise<string> {
  const token = await agent.readSecret(context);
  if (token === '') {
    const hint = 'Set SVC_ENROLMENT_TOKEN, or write the token to standard input';
    throw new UsageError('The enrolment token is missing', hint);
  }
  if (parseSecret('enrol', token) !== undefined) return token;
  const hint = 'Check that it was copied completely, starting with svc_enrol_';
  throw new Fault('The enrolment token is invalid: its format or checksum is wrong', { hint });
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
  if (agent.enrolmentIn(folder).enrolment?.vmName === vmName) return;
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

export const agentCommand: ClientCommand = {
  // Its `run` is a service.
  outlivesReader: true,
  ...family(
    'agent',
    'Monitor this VM from inside the guest',
    [
      enrolAction,
      agent.installAction(`
Run it again after moving the program: the unit holds its path. You can enrol before or after
this: the unit waits for the enrolment. Start it then with "systemctl restart svc-agent".
`),
      runAction,
      statusAction,
      agent.unenrolAction((enrolment) => {
        const vm = enrolment?.vmName ?? 'the VM';
        return `To invalidate the key everywhere, unenrol ${vm} in its project too`;
      }),
    ],
    `
The agent sends load, available memory, swap and running processes of this guest, which no hypervisor
can see, and nothing else. Enrol the VM in its project first: the answer has the token.
`,
  ),
};
