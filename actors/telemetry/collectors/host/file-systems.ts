/**
 * Mounts of this host, and how full they are, without waiting for a dead file system.
 *
 * A query on a network file system blocks in the kernel if its server is gone, and no signal ends
 * it. In this process it would occupy one of libuv's four threads each time. So a separate process
 * runs the query: one `stat -f` for all local mounts, and one for each remote mount. A mount is not
 * queried again before its last process has ended, so each mount has at most one stuck process.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Absence } from '../../../../streams/telemetry/metrics/absence-causes.ts';
import { seriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import type { ObservedValue, SourceFault } from '../collector.ts';
import { parseCount, type RunCommand } from '../command.ts';
import { absentIf } from './proc.ts';

/** Sizes of the mounts that responded, and a fault for each that did not. */
export interface FileSystemReading {
  readonly values: readonly ObservedValue[];
  readonly faults: readonly SourceFault[];
  /** Reasons why file systems are missing in `values`. */
  readonly absences: readonly Absence[];
}

/** Reads mounts; it remembers between reads which of them still hang. */
export interface FileSystemReader {
  /** Ends by the deadline; a mount that did not respond has no values and a fault. */
  read(mounts: readonly Mount[], signal: AbortSignal): Promise<FileSystemReading>;
}

/** @param options `deadlineMs` for each process */
export function createFileSystemReader(options: {
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly deadlineMs: number;
}): FileSystemReader {
  /** Names of the mount groups whose process has not ended yet. */
  const stuck = new Set<string>();

  const ask = async (group: readonly Mount[], signal: AbortSignal): Promise<FileSystemReading> => {
    const paths = group.map((mount) => mount.mountpoint);
    const name = paths.join('\n');
    if (stuck.has(name)) return nothing(notAnswering(paths));
    const args = ['-f', '-c', STAT_FORMAT, '--', ...paths];
    const command = { file: 'stat', args, deadlineMs: options.deadlineMs, signal };
    const running = options.run(command, options.clock);
    stuck.add(name);
    const outcome = await running.catch((error: unknown) => {
      // Without this it would never be queried again and seem dead forever.
      stuck.delete(name);
      throw error;
    });
    void outcome.gone.then(() => stuck.delete(name));
    if (outcome.kind === 'killed') return nothing(notAnswering(paths));
    if (outcome.kind === 'missing') return nothing(statMissing);
    if (outcome.kind === 'failed') return nothing(couldNotAsk(outcome.error));
    return answered(group, outcome.stdout, outcome.stderr);
  };

  return {
    async read(mounts, signal) {
      const local = mounts.filter((mount) => !mount.remote);
      const groups = mounts.filter((mount) => mount.remote).map((mount) => [mount]);
      if (local.length > 0) groups.unshift(local);
      const readings = await Promise.all(groups.map((group) => ask(group, signal)));
      return {
        values: readings.flatMap((reading) => reading.values),
        faults: readings.flatMap((reading) => reading.faults),
        absences: readings.flatMap((reading) => reading.absences),
      };
    },
  };
}

function nothing(fault: SourceFault): FileSystemReading {
  const isSilent = fault.reason === 'TIMED_OUT';
  const cause = isSilent ? 'FILE_SYSTEM_NOT_ANSWERING' : 'UNREADABLE';
  return { values: [], faults: [fault], absences: [{ reading: 'filesystem', cause }] };
}

/** A mount without a line was not read, whatever stat printed about it. */
function answered(group: readonly Mount[], stdout: string, stderr: string): FileSystemReading {
  const byPath = new Map(group.map((mount) => [mount.mountpoint, mount]));
  const lines = stdout.split('\n');
  const values = lines.flatMap((line) => {
    const read = parseStatLine(line);
    const mount = read && byPath.get(read.path);
    return mount ? fileSystemValues({ ...mount, ...read }) : [];
  });
  const printed = new Set(lines.map((line) => STAT_LINE.exec(line)?.[5]));
  const unread = [...byPath.keys()].filter((path) => !printed.has(path));
  const absences = absentIf(lines.some(hasMoreFreeThanAll), 'filesystem', 'IMPOSSIBLE');
  if (unread.length === 0) return { values, faults: [], absences };
  const complaint = stderr.trim().split('\n')[0] || 'stat printed nothing';
  const message = `file systems: ${unread.join(', ')} could not be read: ${complaint}`;
  return {
    values,
    faults: [{ reason: 'INCOMPLETE', message }],
    absences: [...absences, ...absentIf(true, 'filesystem', 'UNREADABLE')],
  };
}

function hasMoreFreeThanAll(line: string): boolean {
  const [all, free] = line.split(' ').slice(1, 3).map(parseCount);
  return all !== undefined && free !== undefined && free > all;
}

const statMissing: SourceFault = {
  reason: 'SOURCE_MISSING',
  message: 'no program "stat" on this machine: install coreutils to see file systems',
};

function couldNotAsk(error: string): SourceFault {
  return { reason: 'INCOMPLETE', message: `file systems: could not run "stat": ${error}` };
}

function notAnswering(paths: readonly string[]): SourceFault {
  return {
    reason: 'TIMED_OUT',
    message: `the file system at ${paths.join(', ')} is not responding: check whether its server is reachable`,
  };
}

/** One mount of this host that is worth a reading. */
export interface Mount {
  readonly mountpoint: string;
  readonly fstype: string;
  /** On another machine or in a user-space server: a query may hang. */
  readonly remote: boolean;
}

/** Images are always 100 % full by nature: a snap package or a CD is not a full disk. */
const IMAGE_TYPES = new Set(['squashfs', 'iso9660', 'udf', 'erofs', 'cramfs', 'romfs']);
const REMOTE_TYPES =
  /^(nfs|nfs4|cifs|smb3|smbfs|ceph|9p|virtiofs|lustre|gpfs|beegfs|afs|fuse\.(glusterfs|sshfs|ceph|ceph-fuse|s3fs|rclone|juicefs|moosefs))$/;

/** true: full by nature, so its usage says nothing. */
export function isImage(fstype: string): boolean {
  return IMAGE_TYPES.has(fstype);
}

/**
 * Parses /proc/self/mountinfo: real file systems, each once, at its shortest mount point. Two
 * mounts belong to one file system if they share the device, as folders of one NFS export do, or
 * the source.
 */
export function parseMountinfo(text: string): Mount[] {
  const mounts: IdentifiedMount[] = [];
  for (const line of text.split('\n')) {
    const mount = parseMount(line);
    if (mount) mounts.push(mount);
  }
  const seen = new Set<string>();
  const once = new Set<Mount>();
  for (const mount of mounts.toSorted(byMountPoint)) {
    if (!mount.identities.some((identity) => seen.has(identity))) once.add(mount);
    for (const identity of mount.identities) seen.add(identity);
  }
  return mounts
    .filter((mount) => once.has(mount))
    .map(({ mountpoint, fstype, remote }) => ({ mountpoint, fstype, remote }));
}

interface IdentifiedMount extends Mount {
  readonly identities: readonly string[];
}

function parseMount(line: string): IdentifiedMount | undefined {
  const dash = line.indexOf(' - ');
  if (dash < 0) return undefined;
  const [, , device, root, mountpoint] = line.slice(0, dash).split(' ');
  const [fstype, source] = line.slice(dash + 3).split(' ');
  if (!device || !root || !mountpoint || !fstype || !source || isImage(fstype)) return undefined;
  const path = unescapeOctal(mountpoint);
  // `stat -f` prints one line per path, so such a path could forge another path's line.
  if (path.includes('\n')) return undefined;
  if (REMOTE_TYPES.test(fstype)) {
    return { mountpoint: path, fstype, remote: true, identities: [device, `${fstype} ${source}`] };
  }
  const local = source.startsWith('/dev/') || fstype === 'zfs';
  // A bind mount of a folder (or of one file, in a container) is not a file system of its own. A
  // subvolume of btrfs looks the same, but is the usual way to mount btrfs.
  if (!local || (root !== '/' && fstype !== 'btrfs')) return undefined;
  const isAnonymous = device.startsWith('0:');
  const identities = isAnonymous ? [device, `${fstype} ${source}`] : [device];
  return { mountpoint: path, fstype, remote: fstype.startsWith('fuse'), identities };
}

/**
 * Order of mounts of one file system: by the length of the mount point, then by its text. The first
 * one represents the file system.
 */
export function byMountPoint(
  { mountpoint: a }: Pick<Mount, 'mountpoint'>,
  { mountpoint: b }: Pick<Mount, 'mountpoint'>,
): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : Number(a > b);
}

/** Blanks and backslashes in mountinfo are escaped as `\040` and similar. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/**
 * Block size, all blocks, free blocks, free blocks for ordinary users, path: see {@link
 * parseStatLine}.
 */
const STAT_FORMAT = '%S %b %f %a %n';
const STAT_LINE = /^(\d+) (\d+) (\d+) (\d+) (.+)$/;

/**
 * Parses one line of `stat -f -c STAT_FORMAT`. Size is the space for ordinary programs, used plus
 * available, from which `df` computes its percentage and which the QEMU guest agent reports: at 100
 * % a program gets "no space left", though root may have a reserve.
 */
export function parseStatLine(
  line: string,
): { readonly path: string; readonly sizeBytes: number; readonly usedBytes: number } | undefined {
  const match = STAT_LINE.exec(line);
  if (!match) return undefined;
  const [block, all, free, available] = match.slice(1, 5).map(parseCount);
  const path = match[5];
  if (block === undefined || all === undefined || free === undefined) return undefined;
  if (available === undefined || path === undefined || free > all) return undefined;
  const used = all - free;
  // A file system without capacity (like /proc) has no size and therefore no reading.
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
