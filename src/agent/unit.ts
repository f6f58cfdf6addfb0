/** The systemd unit of the agent, with the paths of this machine. */
import { readFileSync } from 'node:fs';

const TEMPLATE = new URL('./svc-agent.service', import.meta.url);

export const UNIT_NAME = 'svc-agent.service';

/** Where systemd looks for what the administrator of a machine has put there (systemd.unit(5)). */
export const UNIT_FOLDER = '/etc/systemd/system';

/** Folders that the unit's sandbox hides: a program there could not be started. */
const HIDDEN = ['/home/', '/root/', '/run/user/', '/tmp/', '/var/tmp/'];

export interface UnitOptions {
  /** Program and first arguments: Node, and `bin/svc.js`. Absolute paths. */
  readonly command: readonly string[];
  /** Seconds between two readings; absent: the program's default. */
  readonly intervalSeconds?: number;
}

/** Text of the unit. */
export function unitText({ command, intervalSeconds }: UnitOptions): string {
  const interval = intervalSeconds === undefined ? [] : ['--interval', `${intervalSeconds}s`];
  const words = [...command, 'agent', 'run', ...interval].map(quoted);
  return readFileSync(TEMPLATE, 'utf8').replace(
    /^ExecStart=.*$/m,
    () => `ExecStart=${words.join(' ')}`,
  );
}

/** The first path that the unit could not reach; undefined: all can be. */
export function hiddenPath(command: readonly string[]): string | undefined {
  return command.find((path) => HIDDEN.some((folder) => path.startsWith(folder)));
}

/** A word of ExecStart: `%` and `$` are systemd's, blanks and quotes end a word (systemd.service(5)). */
function quoted(word: string): string {
  const literal = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  if (!/[\s"'\\;]/.test(literal)) return literal;
  return `"${literal.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
