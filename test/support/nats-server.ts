/**
 * A real nats-server for a test: on its own loopback port, with its own store folder and
 * `sync_interval: always`, killed by its process id at the end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Test } from 'tap';
import { componentPath } from './components.ts';
import { dataFolder, onOwnPorts, PortTaken, saysPortTaken } from './places.ts';
import { until } from './program.ts';
import { isFullRun } from './tries.ts';

const NEWEST = 'nats-server 2.15.1';

/**
 * Versions of nats-server for a contract: the oldest and the newest supported one in a full run,
 * the newest alone in `npm test`.
 */
export const natsServerVersions = isFullRun()
  ? (['nats-server 2.10.27', NEWEST] as const)
  : ([NEWEST] as const);

export interface NatsServerOptions {
  /** Path of the program. */
  readonly program: string;
  /** Existing folder for the configuration and the store. A store in it is reused. */
  readonly folder: string;
  /** More lines for the configuration file. */
  readonly settings?: string;
  /** false: without JetStream. Default true. */
  readonly jetStream?: boolean;
  /** Default: `always`. */
  readonly syncInterval?: string;
  /** true: with a monitoring address. */
  readonly isMonitored?: boolean;
}

export interface NatsServer {
  readonly url: string;
  /** Its monitoring address; '' if it has none. */
  readonly monitorUrl: string;
  readonly pid: number;
  /** Its last output; `PortTaken` if it has ended because of a port. Undefined while it runs. */
  ended(): Error | undefined;
  /** The end of its output. */
  log(): string;
  /** Sends SIGKILL. Resolves once the process has ended. */
  kill(): Promise<void>;
  /** Restarts it on the same port and store. Resolves once it accepts connections. */
  start(): Promise<void>;
}

/** Starts a server. Throws with its log if it ends or does not accept connections. */
export function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const ports = options.isMonitored === true ? 2 : 1;
  return onOwnPorts(ports, ([port = 0, monitor]) => startOn(port, monitor, options));
}

/**
 * A server that ends with the test: of the newest version, in a folder of its own, unless `options`
 * say otherwise.
 */
export async function natsServerFor(
  t: Test,
  options: Partial<NatsServerOptions> = {},
): Promise<NatsServer> {
  const defaults = { program: componentPath(NEWEST), folder: dataFolder(t) };
  const server = await startNatsServer({ ...defaults, ...options });
  t.teardown(() => server.kill());
  return server;
}

async function startOn(
  port: number,
  monitor: number | undefined,
  options: NatsServerOptions,
): Promise<NatsServer> {
  const store = `${options.folder}/store`;
  const file = `${options.folder}/nats.conf`;
  mkdirSync(store, { recursive: true });
  const { syncInterval = 'always' } = options;
  const jetStream = `jetstream { store_dir: "${store}", sync_interval: ${syncInterval} }`;
  writeFileSync(
    file,
    [
      `listen: "127.0.0.1:${port}"`,
      monitor === undefined ? '' : `http: "127.0.0.1:${monitor}"`,
      options.jetStream === false ? '' : jetStream,
      options.settings ?? '',
    ].join('\n'),
  );
  let child: ChildProcess | undefined;
  let log = '';
  const ended = (): Error | undefined => {
    if (child === undefined || (child.exitCode === null && child.signalCode === null)) return;
    if (saysPortTaken(log)) return new PortTaken(options.program, log);
    return new Error(`${options.program} has ended:\n${log}`);
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill('SIGKILL');
    await gone;
  };
  const start = async (): Promise<void> => {
    const started = spawn(options.program, ['--config', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    // A test that times out has no teardown, and none of its processes may outlive it.
    process.once('exit', () => started.kill('SIGKILL'));
    log = '';
    started.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4_000);
    });
    const closed = once(started, 'close');
    try {
      await until(`${options.program} accepts connections`, async () => {
        if (started.exitCode !== null || started.signalCode !== null) throw new Error('It ended');
        return (await accepts(port)) || undefined;
      });
    } catch (error) {
      await kill();
      // Its last output may still be on its way.
      await closed;
      if (saysPortTaken(log)) throw new PortTaken(options.program, log);
      throw new Error(`${options.program} did not start:\n${log}`, { cause: error });
    }
  };
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    monitorUrl: monitor === undefined ? '' : `http://127.0.0.1:${monitor}`,
    get pid() {
      return child?.pid ?? 0;
    },
    ended,
    log: () => log,
    kill,
    start,
  };
}

/** True if something listens on the port of 127.0.0.1. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}
