/**
 * A program that runs commands of `svc` for a shell, without the start of a process for each:
 * `node command-server.ts COMMAND`. It writes an executable that a shell calls like `svc`, with the
 * same arguments, environment, standard streams and exit code. Commands run one after another in
 * the folder and home folder of this program, which prints one line when it is ready and ends with
 * its standard input.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { processPorts } from '../../src/cli/client/ports.ts';
import { runProgram } from '../../src/cli/program.ts';

const [command = ''] = process.argv.slice(2);
const socket = join(dirname(command), 'commands.sock');

/** Reads standard input only for a value `-`: a terminal or an open pipe would never end. */
const SCRIPT = `#!/bin/sh
call=$(mktemp -d)
trap 'rm -r "$call"' EXIT
case " $* " in *' - '*) cat > "$call/input" ;; *) : > "$call/input" ;; esac
printf '%s\\0' "$@" > "$call/arguments"
env --null > "$call/environment"
code=$(curl --silent --show-error --unix-socket '${socket}' "http://svc$call")
cat "$call/stderr" >&2
cat "$call/stdout"
exit "$code"
`;

async function run(call: string): Promise<number> {
  const read = (name: string) => readFileSync(join(call, name), 'utf8');
  const list = (name: string) => read(name).split('\0').slice(0, -1);
  const environment = Object.fromEntries(
    list('environment').map((line) => {
      const end = line.indexOf('=');
      return [line.slice(0, end), line.slice(end + 1)];
    }),
  );
  let [stdout, stderr] = ['', ''];
  // A command may set it for its whole process.
  process.umask(0o022);
  const code = await runProgram(list('arguments'), {
    environment,
    isTerminal: false,
    isStdoutTerminal: false,
    log: (line) => (stderr += line),
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
    onSignal: () => () => {},
    exitNow: () => {},
    client: { ...processPorts(), isInteractive: false, readInput: async () => read('input') },
  });
  writeFileSync(join(call, 'stdout'), stdout);
  writeFileSync(join(call, 'stderr'), stderr);
  return code;
}

let last: Promise<unknown> = Promise.resolve();
const server = createServer(({ url = '' }, response) => {
  last = last.then(async () => response.end(String(await run(url))));
});
server.listen(socket, () => {
  writeFileSync(command, SCRIPT, { mode: 0o755 });
  process.stdout.write('ready\n');
});
process.stdin.resume().once('end', () => process.exit(0));
