/**
 * Image that every guest of the lab boots from: a Debian kernel, an initramfs with busybox, the
 * virtio drivers and the QEMU guest agent, and an empty disk. `npm run components -- install
 * vm-lab` creates it once and installs nothing of it on this machine.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { archiveOf, type InArchive } from './cpio.ts';

/** Packages that the host needs. The image also needs those of `GUEST_PACKAGES`. */
export const HOST_PACKAGES = [
  'qemu-system-x86',
  'libvirt-daemon',
  'libvirt-daemon-driver-qemu',
  'libvirt-clients',
  'e2fsprogs',
];

/** Suite of the packages that are unpacked for the image: the same kernel on all machines. */
export const GUEST_SUITE = 'bookworm';
export const GUEST_PACKAGES = ['linux-image-cloud-amd64', 'qemu-guest-agent', 'busybox-static'];

/** In loading order, because `insmod` resolves no dependencies. */
const MODULES = [
  'virtio_ring',
  'virtio',
  'virtio_pci_legacy_dev',
  'virtio_pci_modern_dev',
  'virtio_pci',
  'failover',
  'net_failover',
  'virtio_net',
  'virtio_blk',
  'virtio_console',
  'virtio_balloon',
];

/** Folder that the loader searches. */
const LIBRARIES = 'lib/x86_64-linux-gnu';
const DISK_BYTES = 64 * 2 ** 20;
/** Folders of programs that are not in a user's PATH. */
const SYSTEM_PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
const guestFolder = fileURLToPath(new URL('guest', import.meta.url));

/**
 * Folder of the image in the cache. Its name depends on its sources, so a stale one is not used.
 */
export function labImage(cache: string): string {
  const sources = [fileURLToPath(import.meta.url), ...guestFiles().map(({ path }) => path)];
  const hash = createHash('sha256');
  for (const path of sources) hash.update(readFileSync(path));
  return join(cache, 'vm-lab', `image-${hash.digest('hex').slice(0, 12)}`);
}

/** True if QEMU and libvirt are installed. */
export function hasHostPrograms(): boolean {
  const programs = ['/usr/sbin/libvirtd', '/usr/bin/virsh', '/usr/bin/qemu-system-x86_64'];
  return programs.every(existsSync);
}

/**
 * Creates the image in `image`, an empty folder: `vmlinuz`, `initrd.gz`, `disk.img` and `busybox`.
 * Throws with the reason, for example if this machine lacks a library of the guest agent.
 * @param unpacked the guest packages, unpacked into one folder
 */
export function makeImage(unpacked: string, image: string): void {
  const busybox = one(unpacked, '**/bin/busybox');
  writeFileSync(join(image, 'busybox'), readFileSync(busybox), { mode: 0o755 });
  writeFileSync(join(image, 'vmlinuz'), readFileSync(one(unpacked, 'boot/vmlinuz-*')));
  const root = [...foldersOfRoot(), ...programsOfRoot(unpacked, busybox)];
  const modules = modulesOfRoot(unpacked, join(image, 'busybox'));
  writeFileSync(join(image, 'initrd.gz'), gzipSync(archiveOf([...root, ...modules])));
  const disk = join(image, 'disk.img');
  writeFileSync(disk, '');
  truncateSync(disk, DISK_BYTES);
  const words = ['-q', '-F', '-m', '0', '-L', 'data', disk];
  execFileSync('mkfs.ext4', words, { env: { ...process.env, PATH: SYSTEM_PATH } });
}

function foldersOfRoot(): InArchive[] {
  const names = ['bin', 'data', 'dev', 'lib64', 'modules', 'proc', 'run', 'sys', 'lib', LIBRARIES];
  return names.map((path) => ({ path, mode: 0o755 }));
}

function programsOfRoot(unpacked: string, busybox: string): InArchive[] {
  const agent = one(unpacked, 'usr/sbin/qemu-ga');
  const files = [
    { path: busybox, to: 'bin/busybox' },
    { path: agent, to: 'bin/qemu-ga' },
    ...guestFiles(),
    ...librariesOf(agent),
  ];
  return files.map(({ path, to }) => ({ path: to, mode: 0o755, content: readFileSync(path) }));
}

function guestFiles(): { path: string; to: string }[] {
  const names = readdirSync(guestFolder).sort();
  return names.map((name) => ({
    path: join(guestFolder, name),
    to: name === 'init' ? name : join('bin', name),
  }));
}

/** Libraries of this machine that a program loads, and their loader, which has its own folder. */
function librariesOf(program: string): { path: string; to: string }[] {
  const printed = execFileSync('ldd', [program], { encoding: 'utf8' });
  const missing = /^\s*(\S+) => not found/m.exec(printed)?.[1];
  if (missing !== undefined) {
    throw new Error(`The guest agent needs ${missing}, which is not installed on this machine`);
  }
  const paths = [...printed.matchAll(/(?:=> |^\s*)(\/\S+)/gm)].map(([, path = '']) => path);
  return paths.map((path) => {
    const folder = path.startsWith('/lib64/') ? 'lib64' : LIBRARIES;
    return { path, to: join(folder, basename(path)) };
  });
}

/** Kernel modules, numbered in loading order. Missing ones are built into the kernel. */
function modulesOfRoot(unpacked: string, busybox: string): InArchive[] {
  return MODULES.flatMap((name, i) => {
    const [path] = globSync(`lib/modules/**/${name}.ko{,.xz}`, { cwd: unpacked });
    if (path === undefined) return [];
    const file = readFileSync(join(unpacked, path));
    const content = path.endsWith('.xz')
      ? execFileSync(busybox, ['unxz', '-c'], { input: file, maxBuffer: 2 ** 26 })
      : file;
    return [{ path: `modules/${10 + i}-${name}.ko`, mode: 0o644, content }];
  });
}

function one(folder: string, pattern: string): string {
  const [path] = globSync(pattern, { cwd: folder });
  if (path === undefined) throw new Error(`The guest packages have no ${pattern}`);
  return join(folder, path);
}
