/** `svc agent install`: the agent's systemd unit, written and started, or shown with --dry-run. */
import type { Action, ActionContext } from '../client/action.ts';
import { UsageError } from '../client/faults.ts';
import { installOptions, installUnit } from '../install.ts';

export const installAction: Action = {
  name: 'install',
  summary: 'Install the systemd unit of the agent, and start it',
  options: [
    ...installOptions,
    { name: 'interval', takes: 'DURATION', help: 'Time between two readings, 1s to 30s' },
  ],
  notes: `
Run it again after the program has moved: the unit holds its path. Enrol first, or later: the unit
waits for the enrolment, and "systemctl restart svc-agent" starts it then.
`,
  run,
};

async function run(context: ActionContext): Promise<number> {
  const seconds = context.input.seconds('interval');
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    throw new UsageError(`--interval is 1s to 30s, not ${seconds}s`);
  }
  const flags = seconds === undefined ? [] : ['--interval', `${seconds}s`];
  return installUnit(context, 'agent', flags);
}
