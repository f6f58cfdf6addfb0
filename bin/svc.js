#!/usr/bin/env node
// The command `svc`. Plain JavaScript that any Node can parse: it hands over to the Node that the
// project pins (an optional dependency for each processor), so that a machine with another Node still works, and
// says in one sentence what to do when that is not possible.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { builtProgram } from './built-program.js';

const [major, minor] = process.versions.node.split('.').map(Number);
const pinned = fileURLToPath(
  new URL(`../node_modules/node-linux-${process.arch}/bin/node`, import.meta.url),
);
const built = builtProgram();

if (built === undefined && !existsSync(new URL('../src/main.ts', import.meta.url))) {
  process.stderr.write(
    'This is the package for programs that use the service (svc/sdk) or run it (svc/embed). ' +
      'The command runs from a checkout of the project: "npm ci && npm start" there\n',
  );
  process.exitCode = 1;
} else if (major > 24 || (major === 24 && minor >= 12)) {
  // Halves the time to ready. Beside the program, not in the shared temporary folder that is Node's
  // own choice: what is read back is run. Where it cannot be written, nothing is kept.
  const cache = `../node_modules/.cache/svc-compiled/${built ?? 'sources'}`;
  const compiled = fileURLToPath(new URL(cache, import.meta.url));
  module.enableCompileCache(compiled);
  // Threads find it by the variable alone: a first query waits half as long. The service has no
  // children that are programs of others, unlike "svc auth ci".
  if (process.argv[2] === 'serve') process.env.NODE_COMPILE_CACHE ??= compiled;
  // Node's own response to the signal opens a debugger, which reads all secrets in memory.
  process.on('SIGUSR1', () => {});
  // The bundle loads in two thirds of the time of the sources, which run if one has changed since.
  const { main } = built
    ? await import(`../dist/${built}/main.js`)
    : await import('../src/main.ts');
  process.exitCode = await main(process.argv.slice(2));
} else if (existsSync(pinned) && process.env.SVC_REEXEC === undefined) {
  const child = spawn(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, SVC_REEXEC: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => {
    if (signal) process.removeAllListeners(signal);
    if (signal) process.kill(process.pid, signal);
    else process.exitCode = code ?? 1;
  });
} else {
  process.stderr.write(
    `svc needs Node 24.12 or newer; this is ${process.versions.node}. ` +
      'Run "npm ci" in the project folder, without --omit=optional: it installs the right one\n',
  );
  process.exitCode = 1;
}
