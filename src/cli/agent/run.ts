/** `svc agent run`: runs until a signal. Rows that wait then are on disk, and go out next time. */
import { FolderLocked, lockFolder } from '../../../sqlite/platform/lock-file.ts';
import { createLog } from '../../platform/log.ts';
import { startAgent } from '../../vms/agent/agent.ts';
import { EnrolmentUnusable } from '../../vms/agent/enrolment-file.ts';
import type { Action, ActionContext } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { EXIT_OK, EXIT_USAGE } from '../command.ts';
import { folderOf, folderOption } from './folder.ts';

/** Two readings more than 90 s apart are a gap: anything slower than this would be gaps alone. */
const INTERVAL_SECONDS_MAX = 30;

export const runAction: Action = {
  name: 'run',
  summary: 'Read this guest and send what is read, until SIGTERM or Ctrl-C',
  options: [
    folderOption,
    {
      name: 'interval',
      takes: 'DURATION',
      help: `Time between two readings, 1s to ${INTERVAL_SECONDS_MAX}s; default 30s`,
    },
  ],
  notes: `
While the service cannot be reached rows wait on disk with their own times, for 24 hours or 64 MiB;
beyond that the oldest are given up and counted. Exit code 2: this machine is not enrolled.
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
      ...{ level: 'info', readable: surroundings.isTerminal },
      ...{ clock: ports.clock, write: surroundings.log },
    });
    const agent = startAgent({ ...ports, folder, intervalMs, log });
    log.info({ folder, intervalMs }, 'The agent runs');
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
  throw new UsageError(`--interval is 1s to ${INTERVAL_SECONDS_MAX}s, not ${seconds}s`);
}

function lockOf(folder: string): ReturnType<typeof lockFolder> {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error;
    throw new UsageError(`An agent runs on ${folder} already`);
  }
}
