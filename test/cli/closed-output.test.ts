/** Commands whose output has no reader any more, as in `svc ... | head`, or cannot be written. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { agentCommand } from '../../src/cli/agent.ts';
import { collectCommand } from '../../src/cli/collect.ts';
import type { Command, Surroundings } from '../../src/cli/command.ts';
import { runCommand } from '../../src/cli/program.ts';
import { serveCommand } from '../../src/cli/serve.ts';

const bin = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

test('a command ends quietly when the reader of its output has exited', async (t) => {
  const child = spawn(process.execPath, [bin, 'help'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  t.same([code, stderr], [0, '']);
});

test('output that cannot be written is reported in one sentence, as a fault', async (t) => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [bin, 'version'], { stdio: ['ignore', full, 'pipe'] });
  if (!child.stderr) throw new Error('The child has no standard error');
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  t.equal(code, 1);
  t.match(stderr, /^Standard output could not be written: ENOSPC.*\n$/);
});

/** Runs a command whose reader exits while it runs. Returns the exit codes of `exitNow`. */
async function exitsOf(change: Partial<Command>, code: number): Promise<number[]> {
  const exits: number[] = [];
  let gone = (): void => {};
  const command: Command = {
    name: 'test',
    summary: '',
    help: () => '',
    run: async () => code,
    ...change,
  };
  const surroundings: Surroundings = {
    environment: {},
    stdout: () => {},
    stderr: () => {},
    log: () => {},
    isTerminal: false,
    onSignal: () => () => {},
    onReaderGone: (listener) => {
      gone = listener;
    },
    exitNow: (exit) => void exits.push(exit),
  };
  const ended = runCommand(command, [], surroundings);
  gone();
  await ended;
  gone();
  return exits;
}

test('services outlive the reader of their output, and a failure keeps its exit code', async (t) => {
  t.same(await exitsOf({}, 3), [0, 3]);
  t.same(await exitsOf({ outlivesReader: true }, 0), []);
  for (const command of [serveCommand, agentCommand, collectCommand]) {
    t.equal(command.outlivesReader, true, command.name);
  }
});
