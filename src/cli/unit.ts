/** The systemd units that we ship, with the paths of this machine. */
import { readFileSync } from 'node:fs';

/** The two programs that run under systemd, each with the command line it is started with. */
export const units = {
  service: { name: 'svc.service', words: ['serve'] },
  agent: { name: 'svc-agent.service', words: ['agent', 'run'] },
} as const;

export type UnitKind = keyof typeof units;

/** Where systemd looks for what the administrator of a machine has put there (systemd.unit(5)). */
export const UNIT_FOLDER = '/etc/systemd/system';

/** Folders that a unit's sandbox hides: a program there could not be started. */
const HIDDEN = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

export interface UnitOptions {
  /** Program and first arguments: Node, and `bin/svc.js`. Absolute paths. */
  readonly command: readonly string[];
  /** Further arguments of the program. */
  readonly flags?: readonly string[];
}

/** Text of the unit. */
export function unitText(kind: UnitKind, { command, flags = [] }: UnitOptions): string {
  const { name, words } = units[kind];
  const line = [...command, ...words, ...flags].map(quoted).join(' ');
  const template = readFileSync(new URL(name, import.meta.url), 'utf8');
  return template.replace(/^ExecStart=.*$/m, () => `ExecStart=${line}`);
}

/** The first path that a unit could not reach; undefined: all can be. */
export function hiddenPath(command: readonly string[]): string | undefined {
  return command.find((path) => HIDDEN.some((folder) => path.startsWith(folder)));
}

/** A word of ExecStart: `%` and `$` are systemd's, blanks and quotes end a word (systemd.service(5)). */
function quoted(word: string): string {
  const literal = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  if (!/[\s"'\\;]/.test(literal)) return literal;
  return `"${literal.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
