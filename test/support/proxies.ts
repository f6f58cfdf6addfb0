/**
 * Real nginx and Caddy in front of the service, for a test: with a configuration of the guide, on a
 * free loopback port, without root and without the machine's own folders. Ended by process id.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accepts } from './nats-server.ts';
import { until } from './program.ts';

export interface ProxyOptions {
  /** Path of the program. */
  readonly program: string;
  /** Existing folder for its files. */
  readonly folder: string;
  /** Port on which its configuration listens. */
  readonly port: number;
}

type Teardown = { teardown(fn: () => unknown): unknown };

/** Starts nginx with `servers` inside its `http` block. Resolves with its output. */
export async function startNginx(
  t: Teardown,
  servers: string,
  { program, folder, port }: ProxyOptions,
): Promise<() => string> {
  const writes = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    [
      'daemon off;',
      'master_process off;',
      `pid ${folder}/nginx.pid;`,
      'error_log stderr warn;',
      'events {}',
      'http {',
      'access_log off;',
      ...writes.map((name) => `${name}_temp_path ${folder}/${name};`),
      servers,
      '}',
    ].join('\n'),
  );
  return start(t, [program, '-c', file, '-p', folder, '-e', 'stderr'], { folder, port });
}

/** Starts Caddy with the sites of a Caddyfile. Its own port for plain HTTP is `httpPort`. */
export async function startCaddy(
  t: Teardown,
  sites: string,
  { program, folder, port, httpPort }: ProxyOptions & { readonly httpPort: number },
): Promise<void> {
  const file = join(folder, 'Caddyfile');
  const ports = `http_port ${httpPort}\n\thttps_port ${port}\n\tdefault_bind 127.0.0.1`;
  // HTTP/3 would also need the UDP port.
  const own = `{\n\tadmin off\n\t${ports}\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n`;
  writeFileSync(file, own + sites);
  const args = [program, 'run', '--config', file, '--adapter', 'caddyfile'];
  await start(t, args, { folder, port });
}

async function start(
  t: Teardown,
  [program = '', ...args]: readonly string[],
  { folder, port }: Pick<ProxyOptions, 'folder' | 'port'>,
): Promise<() => string> {
  mkdirSync(folder, { recursive: true });
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-20_000);
  });
  const gone = once(child, 'exit');
  // A test that times out has no teardown.
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await gone;
  });
  await until(`${program} listens`, async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended:\n${log}`);
    return (await accepts(port)) || undefined;
  });
  return () => log;
}
