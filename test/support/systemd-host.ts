/**
 * A host that systemd runs, made of this machine: its root under a layer in memory, booted in a
 * container with its own processes and network. No change in it remains on this machine.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { componentPath } from './components.ts';
import { machineName } from './places.ts';
import { until } from './program.ts';

const execute = promisify(execFile);

export interface SystemdHost {
  /** Its root folder, as a path of this machine. */
  readonly root: string;
  /** Runs a shell script as root. Resolves with its output; rejects with it if the script fails. */
  run(script: string): Promise<string>;
}

/** Boots it. Needs root, and the component `systemd-nspawn`. */
export async function startSystemdHost(t: {
  teardown(end: () => unknown): unknown;
}): Promise<SystemdHost> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-systemd-'));
  const [changed, work, root] = [
    join(folder, 'changed'),
    join(folder, 'work'),
    join(folder, 'root'),
  ];
  execFileSync('mount', ['-t', 'tmpfs', 'svc-test', folder]);
  for (const path of [changed, work, root]) mkdirSync(path);
  const layers = `lowerdir=/,upperdir=${changed},workdir=${work}`;
  execFileSync('mount', ['-t', 'overlay', '-o', layers, 'svc-test', root]);
  const child = spawn(
    componentPath('systemd-nspawn'),
    [
      '--register=no',
      '--keep-unit',
      '--private-network',
      '--boot',
      `--directory=${root}`,
      `--machine=${machineName()}`,
      'systemd.unit=basic.target',
    ],
    { stdio: 'ignore' },
  );
  const ended = once(child, 'exit');
  let init: number | undefined;
  t.teardown(async () => {
    // All its processes end with its first one.
    process.kill(init ?? child.pid ?? 0, 'SIGKILL');
    await ended;
    for (const path of [root, folder]) execFileSync('umount', ['--lazy', path]);
    rmdirSync(folder);
  });
  init = await until('systemd has started', () => systemdOf(child.pid ?? 0));
  const inside = ['--target', String(init), '--mount', '--uts', '--ipc', '--net', '--pid'];
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
  const run = async (script: string): Promise<string> => {
    const words = [...inside, '/bin/sh', '-ec', `exec 2>&1\ncd /\n${script}`];
    try {
      return (await execute('nsenter', words, { env, timeout: 600_000 })).stdout;
    } catch (error) {
      throw new Error(`${script}\n${(error as { readonly stdout?: string }).stdout ?? error}`);
    }
  };
  await until('systemd runs', () => run('systemctl is-active basic.target').catch(() => undefined));
  await run('ip link set lo up');
  return { root, run };
}

/**
 * The container's first process. For a moment there is another child before it, which creates it.
 */
function systemdOf(pid: number): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const systemd = children.find((child) => nameOf(child) === 'systemd');
  return systemd ? Number(systemd) : undefined;
}

function nameOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    // It has ended.
    return undefined;
  }
}
