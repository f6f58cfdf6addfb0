/**
 * Real tiny virtual machines for a test, in a lab folder of their own, so that a lab in use beside
 * it is neither seen nor stopped. Everything ends with the test.
 */
import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import type { Test } from 'tap';
import { componentPath } from './components.ts';

export interface VmLab {
  readonly uri: string;
  /** Runs a command of `vm-lab`, e.g. `lab.run('pause', 'web1')`; rejects when it fails. */
  run(...args: readonly string[]): Promise<string>;
}

/** Longest of them: the first start in a new folder asks QEMU what it can do. */
const COMMAND_MS = 60_000;

/** Opens a lab without VMs; the test's end stops its VMs and its libvirtd and removes it. */
export async function openVmLab(t: Test): Promise<VmLab> {
  const script = componentPath('vm-lab');
  // Short: a Unix socket's path has 107 characters.
  const folder = await mkdtemp(`${tmpdir()}/vml-`);
  const run = (...args: readonly string[]): Promise<string> => lab(script, folder, args);
  t.teardown(async () => {
    await run('down');
    await rm(folder, { recursive: true, force: true });
  });
  const cache = process.env.VM_LAB_CACHE ?? `${homedir()}/.cache/vm-lab`;
  const image = `${cache}/image`;
  // Without an image at hand the lab makes its own: some seconds, and a download.
  if (existsSync(`${image}/version`)) await cp(image, `${folder}/image`, { recursive: true });
  else await run('install');
  // What QEMU can do, where a lab has asked it before: that takes ten seconds.
  const asked = 'libvirt/cache';
  const isAsked = existsSync(`${cache}/${asked}`);
  if (isAsked) await cp(`${cache}/${asked}`, `${folder}/${asked}`, { recursive: true });
  return { uri: (await run('uri')).trim(), run };
}

function lab(script: string, folder: string, args: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const env = { ...process.env, VM_LAB_CACHE: folder };
  const answer = (error: ExecFileException | null, stdout: string, stderr: string): void => {
    if (error) reject(new Error(`vm-lab ${args.join(' ')}: ${stderr || error.message}`));
    else resolve(stdout);
  };
  execFile(script, [...args], { env, timeout: COMMAND_MS }, answer);
  return promise;
}
