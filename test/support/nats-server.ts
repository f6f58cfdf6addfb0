/**
 * A real nats-server for a test: on a free loopback port, with a store folder of its own and
 * `sync_interval: always`, killed by its process id at the end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';

export interface NatsServerOptions {
  /** Path of the program. */
  readonly program: string;
  /** Existing folder for the configuration and the store; what it holds is served again. */
  readonly folder: string;
  /** More lines for the configuration file. */
  readonly settings?: string;
  /** false: without JetStream. Default true. */
  readonly jetStream?: boolean;
}

export interface NatsServer {
  readonly url: string;
  readonly pid: number;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same port and store; resolves when it accepts connections. */
  start(): Promise<void>;
}

/** A running server. Throws with its log when it does not accept connections within 10 s. */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const port = await freePort();
  const store = `${options.folder}/store`;
  const file = `${options.folder}/nats.conf`;
  mkdirSync(store, { recursive: true });
  const jetStream = `jetstream { store_dir: "${store}", sync_interval: always }`;
  writeFileSync(
    file,
    [
      `listen: "127.0.0.1:${port}"`,
      options.jetStream === false ? '' : jetStream,
      options.settings ?? '',
    ].join('\n'),
  );
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const gone = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGKILL');
    await gone;
  };
  const start = async (): Promise<void> => {
    const started = spawn(options.program, ['--config', file], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child = started;
    let log = '';
    started.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4_000);
    });
    for (let tries = 0; tries < 500; tries++) {
      if (started.exitCode !== null) break;
      if (await accepts(port)) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await kill();
    throw new Error(`${options.program} did not start:\n${log}`);
  };
  await start();
  return {
    url: `nats://127.0.0.1:${port}`,
    get pid() {
      return child?.pid ?? 0;
    },
    kill,
    start,
  };
}

/** A port that is free now: taken from the system and given back. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

function accepts(port: number): Promise<boolean> {
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
