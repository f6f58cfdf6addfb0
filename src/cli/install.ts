/**
 * `svc install`, and the code that `svc agent install` and `svc collect install` share: a systemd
 * unit, written and started, or printed with --dry-run.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ActionContext, single } from './client/action.ts';
import type { Option } from './client/arguments.ts';
import { Fault } from './client/faults.ts';
import { EXIT_FAULT, EXIT_OK } from './command.ts';

const PROGRAM = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));
/** Exists if systemd is the init system of the machine (sd_booted(3)). */
const BOOTED = '/run/systemd/system';

/** Folder for units of the local administrator (systemd.unit(5)). */
const UNIT_FOLDER = '/etc/systemd/system';

export const installOptions: readonly Option[] = [
  { name: 'dry-run', help: 'Print the unit without changing anything' },
  { name: 'unit-folder', takes: 'FOLDER', help: `Folder of the unit; default ${UNIT_FOLDER}` },
];

export const installCommand = single({
  name: 'install',
  summary: 'Install and start the systemd unit of the service',
  options: installOptions,
  notes: `
Run it again after moving the program: the unit holds its path. The service runs in a sandbox
under its own user, stores its data in /var/lib/svc and reads its settings from /etc/svc/svc.env,
one NAME=value per line. After changing them, run "systemctl restart svc". By default it listens
on this machine only and has no demo project.
`,
  run: (context) => installUnit(context, 'service'),
});

/**
 * Writes the unit and starts it; with `--dry-run` prints it, with `--unit-folder` only writes it.
 * Resolves to the exit code. Throws a `Fault` if the unit cannot be written or could not work.
 */
export async function installUnit(
  context: ActionContext,
  kind: UnitKind,
  flags: readonly string[] = [],
): Promise<number> {
  const { input, print, report } = context;
  const command = [process.execPath, PROGRAM];
  const text = unitText(kind, { command, flags });
  const hidden = hiddenPath(command);
  if (hidden !== undefined) {
    const sentence = `${hidden} is in a folder that the unit's sandbox hides`;
    const hint = 'Install the program elsewhere, for example in /opt/svc';
    if (!input.isOn('dry-run')) throw new Fault(sentence, { hint });
    report(`${sentence}. ${hint}`);
  }
  if (input.isOn('dry-run')) {
    print(text);
    return EXIT_OK;
  }
  const path = join(input.text('unit-folder') ?? UNIT_FOLDER, units[kind].name);
  write(path, text);
  report(`Installed ${path}`);
  return input.text('unit-folder') === undefined ? start(context, units[kind].name) : EXIT_OK;
}

function write(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o644 });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new Fault(`The unit could not be written: ${problem}`, { hint: 'Run this as root' });
  }
}

/** `enable` also works on a disk image on which systemd is not running. */
async function start(
  { ports, surroundings, report }: ActionContext,
  unit: string,
): Promise<number> {
  const { environment, onSignal } = surroundings;
  const isBooted = existsSync(BOOTED);
  const enable = ['enable', unit];
  const steps = isBooted ? [['daemon-reload'], enable, ['restart', unit]] : [enable];
  for (const words of steps) {
    const ended = await ports.runChild({ command: ['systemctl', ...words], environment, onSignal });
    if ('problem' in ended) throw new Fault(`systemctl could not be run: ${ended.problem}`);
    if (ended.exitCode !== 0) {
      report(`"systemctl ${words.join(' ')}" failed with exit code ${ended.exitCode}`);
      return EXIT_FAULT;
    }
  }
  if (!isBooted) report(`systemd is not running here: ${unit} will start when the machine boots`);
  return EXIT_OK;
}

/** The programs that run under systemd, each with its command line. */
export const units = {
  service: { name: 'svc.service', words: ['serve'] },
  agent: { name: 'svc-agent.service', words: ['agent', 'run'] },
  collector: { name: 'svc-collect.service', words: ['collect', 'run'] },
} as const;

export type UnitKind = keyof typeof units;

/** Folders that the unit's sandbox hides: a program there could not be started. */
const HIDDEN = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

export interface UnitOptions {
  /** Program and first arguments: Node and `bin/svc.js`. Absolute paths. */
  readonly command: readonly string[];
  /** Additional arguments of the program. */
  readonly flags?: readonly string[];
}

/** Text of the unit. */
export function unitText(kind: UnitKind, { command, flags = [] }: UnitOptions): string {
  const { name, words } = units[kind];
  const line = [...command, ...words, ...flags].map(quoted).join(' ');
  const template = readFileSync(new URL(name, import.meta.url), 'utf8');
  return template.replace(/^ExecStart=.*$/m, () => `ExecStart=${line}`);
}

/** The first path that a unit could not reach; undefined if all are reachable. */
export function hiddenPath(command: readonly string[]): string | undefined {
  return command.find((path) => HIDDEN.some((folder) => path.startsWith(folder)));
}

/**
 * Escapes a word of ExecStart: systemd interprets `%` and `$`, and blanks and quotes end a word
 * (systemd.service(5)).
 */
function quoted(word: string): string {
  const literal = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  if (!/[\s"'\\;]/.test(literal)) return literal;
  return `"${literal.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
