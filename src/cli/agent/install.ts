/** `svc agent install`: the systemd unit, written and started, or shown with --dry-run. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hiddenPath, UNIT_FOLDER, UNIT_NAME, unitText } from '../../agent/unit.ts';
import type { Action, ActionContext } from '../client/action.ts';
import { Fault, UsageError } from '../client/faults.ts';
import { EXIT_FAULT, EXIT_OK } from '../command.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));
/** There where systemd is what runs the machine (sd_booted(3)). */
const BOOTED = '/run/systemd/system';

export const installAction: Action = {
  name: 'install',
  summary: 'Install the systemd unit of the agent, and start it',
  options: [
    { name: 'dry-run', help: 'Print the unit, and change nothing' },
    { name: 'unit-folder', takes: 'FOLDER', help: `Where the unit goes; default ${UNIT_FOLDER}` },
    { name: 'interval', takes: 'DURATION', help: 'Time between two readings, 1s to 30s' },
  ],
  notes: `
Again after the program has moved: the unit holds its path. Enrol first, or later: the unit waits for
the enrolment, and "systemctl restart svc-agent" starts it then.
`,
  run,
};

async function run(context: ActionContext): Promise<number> {
  const { input, print, tell } = context;
  const command = [process.execPath, PROGRAM];
  const seconds = input.seconds('interval');
  if (seconds !== undefined && (seconds < 1 || seconds > 30)) {
    throw new UsageError(`--interval is 1s to 30s, not ${seconds}s`);
  }
  const text = unitText({ command, ...(seconds !== undefined && { intervalSeconds: seconds }) });
  const hidden = hiddenPath(command);
  if (hidden !== undefined) {
    const sentence = `${hidden} is in a folder that the unit's sandbox hides`;
    const hint = 'Install the program elsewhere, such as in /opt/svc';
    if (!input.isOn('dry-run')) throw new Fault(sentence, { hint });
    tell(`${sentence}. ${hint}`);
  }
  if (input.isOn('dry-run')) {
    print(text);
    return EXIT_OK;
  }
  const path = join(input.text('unit-folder') ?? UNIT_FOLDER, UNIT_NAME);
  write(path, text);
  tell(`Installed ${path}`);
  return input.text('unit-folder') === undefined ? start(context) : EXIT_OK;
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o644 });
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    throw new Fault(`The unit could not be written: ${told}`, { hint: 'Run this as root' });
  }
}

/** `enable` works on a disk image too, where no systemd runs. */
async function start({ ports, surroundings, tell }: ActionContext): Promise<number> {
  const { environment, onSignal } = surroundings;
  const isBooted = existsSync(BOOTED);
  const enable = ['enable', UNIT_NAME];
  const steps = isBooted ? [['daemon-reload'], enable, ['restart', UNIT_NAME]] : [enable];
  for (const words of steps) {
    const ended = await ports.runChild({ command: ['systemctl', ...words], environment, onSignal });
    if ('problem' in ended) throw new Fault(`systemctl could not be run: ${ended.problem}`);
    if (ended.exitCode !== 0) {
      tell(`"systemctl ${words.join(' ')}" ended with ${ended.exitCode}`);
      return EXIT_FAULT;
    }
  }
  if (!isBooted) tell('systemd does not run here: the agent starts with the machine');
  return EXIT_OK;
}
