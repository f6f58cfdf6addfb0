/**
 * The program, started with the address of a NATS server that may not be running yet, and its
 * answers in the meantime.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { reservePort } from './places.ts';
import { dataFolder } from './program.ts';

const program = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));

/**
 * Starts a program that ends with the test. `get` resolves with undefined while nothing listens.
 */
export async function startWaiting(t: Test, url: string) {
  const port = await reservePort();
  const metricsPort = await reservePort();
  const child = spawn(process.execPath, [program, 'serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      SVC_DATA: dataFolder(t),
      SVC_COLLECT: 'none',
      SVC_DEMO: 'on',
      SVC_NATS_URL: url,
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_METRICS_LISTEN: `127.0.0.1:${metricsPort}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const exited = once(child, 'exit');
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  const get = async (path: string, at = port) => {
    const answer = await fetch(`http://127.0.0.1:${at}${path}`).catch(() => undefined);
    return answer && { status: answer.status, text: await answer.text() };
  };
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    return child.exitCode;
  };
  return { get, stop, metricsPort, log: () => text };
}
