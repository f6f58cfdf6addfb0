/**
 * Which mounts are file systems worth a reading, and what `stat -f` says of them: pure functions
 * from text. A file system is counted once, however often and wherever it is mounted.
 * Format of mountinfo: proc_pid_mountinfo(5).
 */

import { seriesKey } from '../../../../streams/telemetry/samples/series-key.ts';
import type { ObservedValue } from '../collector.ts';
import { parseCount } from './count.ts';

export interface Mount {
  readonly mountpoint: string;
  readonly fstype: string;
  /** On another machine or in a user-space server: asking may hang for ever. */
  readonly remote: boolean;
}

/** Images, always 100 % full by nature: a snap package or a CD is no full disk. */
const IMAGE_TYPES = new Set(['squashfs', 'iso9660', 'udf', 'erofs', 'cramfs', 'romfs']);
const REMOTE_TYPES =
  /^(nfs|nfs4|cifs|smb3|smbfs|ceph|9p|virtiofs|lustre|gpfs|beegfs|afs|fuse\.(glusterfs|sshfs|ceph|ceph-fuse|s3fs|rclone|juicefs|moosefs))$/;

/** true: full by nature, so its usage says nothing. */
export function isImage(fstype: string): boolean {
  return IMAGE_TYPES.has(fstype);
}

/** Reads /proc/self/mountinfo: real file systems, each once, at its shortest mount point. */
export function parseMountinfo(text: string): Mount[] {
  const found = new Map<string, Mount>();
  for (const line of text.split('\n')) {
    const mount = parseMount(line);
    if (!mount) continue;
    const other = found.get(mount.identity);
    if (!other || isBefore(mount.mountpoint, other.mountpoint)) found.set(mount.identity, mount);
  }
  return [...found.values()].map(({ mountpoint, fstype, remote }) => ({
    mountpoint,
    fstype,
    remote,
  }));
}

function parseMount(line: string): (Mount & { readonly identity: string }) | undefined {
  const dash = line.indexOf(' - ');
  if (dash < 0) return undefined;
  const [, , device, root, mountpoint] = line.slice(0, dash).split(' ');
  const [fstype, source] = line.slice(dash + 3).split(' ');
  if (!device || !root || !mountpoint || !fstype || !source || isImage(fstype)) return undefined;
  const path = unescapeOctal(mountpoint);
  // `stat -f` answers a line a path, so such a path could forge another's line.
  if (path.includes('\n')) return undefined;
  if (REMOTE_TYPES.test(fstype)) {
    return { mountpoint: path, fstype, remote: true, identity: `${fstype} ${source}` };
  }
  const local = source.startsWith('/dev/') || fstype === 'zfs';
  // A bind mount of a folder (or of one file, in a container) is no file system of its own.
  // A subvolume of btrfs is mounted the same way and is the usual way to mount it.
  if (!local || (root !== '/' && fstype !== 'btrfs')) return undefined;
  const identity = device.startsWith('0:') ? `${fstype} ${source}` : device;
  return { mountpoint: path, fstype, remote: fstype.startsWith('fuse'), identity };
}

function isBefore(a: string, b: string): boolean {
  return a.length < b.length || (a.length === b.length && a < b);
}

/** Blanks and backslashes in mountinfo are `\040` and the like. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Blocks' size, all, free, free for ordinary users, path: see {@link parseStatLine}. */
export const STAT_FORMAT = '%S %b %f %a %n';

/**
 * Reads one line of `stat -f -c STAT_FORMAT`. Size is what ordinary programs can use, used and
 * available together, as `df` counts its percentage and as the QEMU guest agent reports it: at
 * 100 % a program gets "no space left", though root may have a reserve.
 */
export function parseStatLine(
  line: string,
): { readonly path: string; readonly sizeBytes: number; readonly usedBytes: number } | undefined {
  const match = /^(\d+) (\d+) (\d+) (\d+) (.+)$/.exec(line);
  if (!match) return undefined;
  const [block, all, free, available] = match.slice(1, 5).map(parseCount);
  const path = match[5];
  if (block === undefined || all === undefined || free === undefined) return undefined;
  if (available === undefined || path === undefined || free > all) return undefined;
  const used = all - free;
  // Nothing to fill (a /proc-like file system): no size, so no reading.
  if (used + available === 0) return undefined;
  return { path, sizeBytes: (used + available) * block, usedBytes: used * block };
}

/** The two series of a file system. */
export function fileSystemValues(fs: {
  readonly mountpoint: string;
  readonly fstype: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
}): ObservedValue[] {
  const labels = { fstype: fs.fstype, mountpoint: fs.mountpoint };
  return [
    [seriesKey('svc_vm_filesystem_size_bytes', labels), fs.sizeBytes],
    [seriesKey('svc_vm_filesystem_used_bytes', labels), fs.usedBytes],
  ];
}
