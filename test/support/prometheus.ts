/**
 * A real Prometheus for a test: on its own loopback port, with its own data folder, filled by
 * remote write and read through its HTTP API, killed by its process id at the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onOwnPorts, PortTaken, saysPortTaken } from './places.ts';
import { until } from './program.ts';
import { encodeRemoteWrite, type RemoteSeries } from './remote-write.ts';

export interface PrometheusOptions {
  /** Path of the program. */
  readonly program: string;
  /** Existing folder for the configuration and the data. */
  readonly folder: string;
  /** Text of the configuration file. Default: nothing is scraped. */
  readonly config?: string;
}

export interface Prometheus {
  /** Origin without a trailing slash. */
  readonly origin: string;
  readonly pid: number;
  /** Adds samples, each series in order of time. Throws with Prometheus's answer if refused. */
  write(series: readonly RemoteSeries[]): Promise<void>;
  /** JSON of `POST /api/v1/PATH`, whatever its status. */
  post(path: string, parameters: Readonly<Record<string, string>>): Promise<unknown>;
  /** End of its output so far. */
  log(): string;
  /** Sends SIGKILL. Resolves once the process has ended. */
  kill(): Promise<void>;
}

/**
 * Starts it and waits until it is ready. Throws with its log if it ends or does not become ready.
 */
export function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  return onOwnPorts(1, ([port = 0]) => startOn(port, options));
}

async function startOn(port: number, options: PrometheusOptions): Promise<Prometheus> {
  const config = join(options.folder, 'prometheus.yml');
  mkdirSync(options.folder, { recursive: true });
  writeFileSync(config, options.config ?? 'global: {}\n');
  const child = spawn(
    options.program,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(options.folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--web.enable-remote-write-receiver',
      '--storage.tsdb.retention.time=100y',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-20_000);
  });
  // Emitted after its last output.
  const gone = once(child, 'close');
  // A test that times out has no teardown, and none of its processes may outlive it.
  process.once('exit', () => child.kill('SIGKILL'));
  const kill = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await gone;
  };
  const origin = `http://127.0.0.1:${port}`;
  try {
    await until(`${options.program} is ready`, async () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('It ended');
      const answer = await fetch(`${origin}/-/ready`).catch(() => undefined);
      return answer?.ok || undefined;
    });
  } catch (error) {
    await kill();
    if (saysPortTaken(log)) throw new PortTaken(options.program, log);
    throw new Error(`${options.program} did not start:\n${log}`, { cause: error });
  }
  return {
    origin,
    pid: child.pid ?? 0,
    write: (series) => write(origin, series),
    post: (path, parameters) => post(`${origin}/api/v1/${path}`, parameters),
    log: () => log,
    kill,
  };
}

async function write(origin: string, series: readonly RemoteSeries[]): Promise<void> {
  const answer = await fetch(`${origin}/api/v1/write`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '0.1.0',
    },
    body: encodeRemoteWrite(series),
  });
  if (!answer.ok) throw new Error(`Remote write: ${answer.status} ${await answer.text()}`);
}

async function post(url: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(parameters) });
  return answer.json();
}
