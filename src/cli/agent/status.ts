/** `svc agent status` and `svc agent unenrol`: what there is of the agent here, and its end. */
import { existsSync, rmSync } from 'node:fs';
import { bufferFolder } from '../../vms/agent/agent.ts';
import {
  EnrolmentUnusable,
  enrolmentPath,
  readEnrolment,
  type StoredEnrolment,
} from '../../vms/agent/enrolment-file.ts';
import { type BufferStats, RowBuffer } from '../../vms/agent/row-buffer.ts';
import { type AgentStatus, readStatus, statusPath } from '../../vms/agent/status-file.ts';
import type { Action, ActionContext } from '../client/action.ts';
import { facts, json, localTime } from '../client/output.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';
import { folderOf, folderOption } from './folder.ts';

/** Silence of the status file after which the agent is taken for not running, in its intervals. */
const SILENT_INTERVALS = 3;

export const statusAction: Action = {
  name: 'status',
  summary: 'Show as which VM this machine is enrolled, and whether its rows go out',
  options: [folderOption],
  notes: '\nExit code 1: not enrolled, not running, or rows do not go out.\n',
  async run(context) {
    const folder = folderOf(context);
    const { enrolment, problem } = enrolmentIn(folder);
    const waiting = waitingIn(folder, context);
    const status = readStatus(folder);
    const isRunning = status !== undefined && isFresh(status, context.ports.clock.now());
    const fault = problem ?? (isRunning ? status.fault : 'The agent does not run');
    if (context.json) {
      const shown = enrolment && withoutKey(enrolment);
      context.print(json({ folder, enrolment: shown, isRunning, fault, waiting, status }));
    } else {
      const shown = { enrolment, isRunning, fault, waiting, status };
      context.print(facts(lines(shown)));
    }
    return fault === undefined ? EXIT_OK : EXIT_FAULT;
  },
};

export const unenrolAction: Action = {
  name: 'unenrol',
  summary: 'Forget the key, and what waits to be sent',
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
        'The key is forgotten here. Stop the agent: systemctl disable --now svc-agent',
      );
      context.report(`Nobody else can use it once ${vm} is un-enrolled in its project too`);
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

/** Reads the files, so that it also works for an agent that does not run. */
function waitingIn(folder: string, { ports }: ActionContext): BufferStats {
  const path = bufferFolder(folder);
  if (!existsSync(path)) return { rows: 0, bytes: 0 };
  return new RowBuffer({ ...ports, folder: path, onDropped: () => {} }).stats();
}

function isFresh({ writtenMs, intervalMs }: AgentStatus, nowMs: number): boolean {
  return nowMs - writtenMs <= SILENT_INTERVALS * intervalMs;
}

function withoutKey({ key: _, machine: __, ...shown }: StoredEnrolment): object {
  return shown;
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
    ['runs', isRunning ? 'yes' : 'no'],
    ['fault', fault ?? ''],
    ['waiting', `${waiting.rows} rows, ${waiting.bytes} bytes${oldest}`],
    ['last sent', status?.lastSentMs === undefined ? '' : timeOf(status.lastSentMs)],
    ['given up', status ? `${status.droppedRows} rows` : ''],
    ['refused', rejected.join(', ')],
  ];
}

function timeOf(ms: number): string {
  return localTime(Math.floor(ms / 1000));
}
