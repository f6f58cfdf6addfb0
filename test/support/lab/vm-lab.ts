/**
 * Real tiny virtual machines for a test: QEMU in software emulation under a libvirtd of their own.
 * Each lab has its own folder, so parallel labs neither see nor stop each other. Everything ends
 * with the test, even if the test is killed: see `libvirtd.sh`.
 *
 *     test ── virsh ──► libvirtd ──► QEMU ──► guest: kernel, busybox, guest agent
 *                       └── namespaces of their own ──┘
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { componentPath } from '../components.ts';
import { type Domain, domainXml } from './domain.ts';

export interface Shape {
  readonly vcpus: number;
  /** Memory, MiB. The kernel and the image need at least 96. */
  readonly memoryMib: number;
}

export interface VmLab {
  /** Address of its libvirtd, which starts with the first VM. */
  readonly uri: string;
  /**
   * Boots a VM and resolves once its guest agent answers. A stopped VM boots again with its
   * previous shape and disk.
   */
  start(vm: string, shape?: Shape): Promise<void>;
  /** Runs a `virsh` command on the lab, e.g. `virsh('suspend', 'web1')`. Resolves with its output. */
  virsh(...words: readonly string[]): Promise<string>;
  /** Starts a load or a fault inside the guest; the file `guest/load` has the kinds. */
  load(vm: string, kind: Load, amount?: number): Promise<void>;
  /** Stops the QEMU process for some seconds, like a hypervisor that does not answer. */
  freeze(vm: string, seconds: number): void;
  /** Kills the QEMU process, as an unexpected end. */
  crash(vm: string): void;
}

/** The amount is in seconds, except that `fill` takes MiB and `rest` takes nothing. */
export type Load = 'burn' | 'rest' | 'fill' | 'agent-off' | 'agent-hang';

const SMALL: Shape = { vcpus: 1, memoryMib: 128 };
/** A boot takes 4 s. The first one on a machine also queries QEMU's capabilities, for 10 s more. */
const START_MS_MAX = 120_000;
/** An emulated kernel may hang at its start if the host gives it little CPU. */
const RESETS_MAX = 2;
const COMMAND_MS_MAX = 300_000;
const POLL_MS = 200;

const execute = promisify(execFile);
const script = fileURLToPath(new URL('libvirtd.sh', import.meta.url));

/**
 * Opens a lab without VMs. The end of the test stops its VMs and libvirtd, and removes its files.
 */
export async function openVmLab(t: Test): Promise<VmLab> {
  const image = componentPath('vm-lab');
  // Short, because the path of a Unix socket has at most 107 characters.
  const folder = await mkdtemp(join(tmpdir(), 'lab-'));
  const lab = new Lab(folder, image);
  t.teardown(async () => {
    await lab.close();
    await rm(folder, { recursive: true, force: true });
  });
  return lab;
}

class Lab implements VmLab {
  readonly uri: string;
  readonly #folder: string;
  readonly #image: string;
  readonly #domains = new Map<string, Domain>();
  readonly #thaws = new Set<NodeJS.Timeout>();
  #libvirtd: Libvirtd | undefined;
  #libvirtdReady: Promise<void> | undefined;

  constructor(folder: string, image: string) {
    this.#folder = folder;
    this.#image = image;
    this.uri = `qemu+unix:///system?socket=${join(folder, 'run/libvirt-sock')}`;
  }

  async start(vm: string, shape: Shape = SMALL): Promise<void> {
    this.#libvirtdReady ??= this.#startLibvirtd();
    await this.#libvirtdReady;
    if (!this.#domains.has(vm)) await this.#define(vm, shape);
    await this.virsh('start', vm);
    const isReady = () => this.virsh('guestinfo', vm, '--hostname').catch(() => undefined);
    const [what, log] = [`the guest agent of ${vm}`, join(this.#folder, `${vm}.log`)];
    for (let resets = 0; ; resets++) {
      try {
        return await this.#until(what, isReady, log);
      } catch (error) {
        if (resets === RESETS_MAX || this.#libvirtd?.hasEnded()) throw error;
        await this.virsh('reset', vm);
      }
    }
  }

  async virsh(...words: readonly string[]): Promise<string> {
    const options = { timeout: COMMAND_MS_MAX };
    return (await execute('virsh', ['-q', '-c', this.uri, ...words], options)).stdout;
  }

  async load(vm: string, kind: Load, amount?: number): Promise<void> {
    const arg = amount === undefined ? [kind] : [kind, String(amount)];
    const call = { execute: 'guest-exec', arguments: { path: '/bin/load', arg } };
    await this.virsh('qemu-agent-command', '--timeout', '5', vm, JSON.stringify(call));
  }

  freeze(vm: string, seconds: number): void {
    const pid = this.#qemuOf(vm);
    process.kill(pid, 'SIGSTOP');
    const thaw = setTimeout(() => {
      this.#thaws.delete(thaw);
      process.kill(pid, 'SIGCONT');
    }, seconds * 1_000);
    this.#thaws.add(thaw);
  }

  crash(vm: string): void {
    process.kill(this.#qemuOf(vm), 'SIGKILL');
  }

  async close(): Promise<void> {
    for (const thaw of this.#thaws) clearTimeout(thaw);
    await this.#libvirtd?.end();
  }

  async #startLibvirtd(): Promise<void> {
    const { uri } = this;
    this.#libvirtd = await startLibvirtd(this.#folder, this.#image);
    const isReady = () => execute('virsh', ['-q', '-c', uri, 'version']).catch(() => undefined);
    await this.#until('libvirtd', isReady, join(this.#folder, 'libvirtd.log'));
  }

  /** The definition and its UUID stay when the VM stops. */
  async #define(vm: string, { vcpus, memoryMib }: Shape): Promise<void> {
    const disk = join(this.#folder, `${vm}.img`);
    const console = join(this.#folder, `${vm}.log`);
    const number = this.#domains.size + 1;
    const domain = { name: vm, number, vcpus, memoryMib, disk, console, image: this.#image };
    this.#domains.set(vm, domain);
    const file = join(this.#folder, `${vm}.xml`);
    await Promise.all([
      execute('cp', ['--sparse=always', join(this.#image, 'disk.img'), disk]),
      writeFile(file, domainXml(domain)),
      writeFile(console, ''),
    ]);
    await this.virsh('define', file);
  }

  /** Resolves once `probe` returns a value. Rejects with the end of `log` after the deadline. */
  async #until(what: string, probe: () => Promise<unknown>, log: string): Promise<void> {
    const endMs = performance.now() + START_MS_MAX;
    while ((await probe()) === undefined) {
      const hasEnded = this.#libvirtd?.hasEnded();
      if (hasEnded || performance.now() > endMs) {
        const text = existsSync(log) ? readFileSync(log, 'utf8').slice(-2_000) : '';
        const why = hasEnded ? 'libvirtd has ended' : `not in ${START_MS_MAX / 1_000} s`;
        throw new Error(`Lab: ${what} does not answer: ${why}\n${this.#libvirtd?.said()}${text}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Process id of a running VM's QEMU, in this machine's namespace. */
  #qemuOf(vm: string): number {
    const disk = join(this.#folder, `${vm}.img`);
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && opens(name, disk));
    if (pid === undefined) throw new Error(`Lab: ${vm} is not running`);
    return Number(pid);
  }
}

/** True for a QEMU process that has `disk` in its command line. */
function opens(pid: string, disk: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return words.startsWith('/usr/bin/qemu-system') && words.includes(disk);
  } catch {
    return false; // It has ended in the meantime.
  }
}

interface Libvirtd {
  hasEnded(): boolean;
  /** Everything written to its standard error. */
  said(): string;
  /** Resolves once it and all VMs have ended. */
  end(): Promise<void>;
}

async function startLibvirtd(folder: string, image: string): Promise<Libvirtd> {
  await mkdir(join(folder, 'etc'));
  await writeFile(join(folder, 'etc/qemu.conf'), QEMU_CONFIG);
  const log = join(folder, 'libvirtd.log');
  await writeFile(join(folder, 'libvirtd.conf'), LIBVIRTD_CONFIG.replace('LOG', log));
  const cache = join(dirname(image), 'libvirt');
  // The child is process 1 of its namespace. When it ends, the kernel ends all others in there.
  const child: ChildProcess = spawn(
    'unshare',
    [
      '--mount',
      '--net',
      '--pid',
      '--fork',
      '--mount-proc',
      'sh',
      script,
      folder,
      cache,
      join(image, 'busybox'),
    ],
    // A Ctrl-C that reaches the test ends the test, which closes the pipe.
    { stdio: ['pipe', 'ignore', 'pipe'], detached: true },
  );
  const exited = once(child, 'exit');
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4_000);
  });
  child.stdin?.on('error', () => {}); // It has ended by itself.
  return {
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    said: () => said,
    async end() {
      child.stdin?.end();
      await exited;
    },
  };
}

/** The namespaces separate the guests. Libvirt's own means would require more of the machine. */
const QEMU_CONFIG = `user = "+0"
group = "+0"
dynamic_ownership = 0
remember_owner = 0
cgroup_controllers = [ ]
namespaces = [ ]
security_driver = "none"
stdio_handler = "file"
`;

const LIBVIRTD_CONFIG = `auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
log_level = 3
log_outputs = "3:file:LOG"
`;
