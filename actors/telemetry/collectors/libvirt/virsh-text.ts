/**
 * Parses the output of virsh. Pure.
 *
 * One virsh process prints three parts: all domains by UUID, id and name; the statistics, which
 * identify a domain only by name; and all domains again. Between the parts a name can move to
 * another domain, and a restart changes an id. Statistics belong to a domain only if it is the same
 * before and after. Names may contain quotes, blanks and text that looks like a header, so the
 * start of a line determines its kind, and names are taken whole.
 */
import { parseCount } from '../command.ts';
import { byMountPoint, isImage } from '../host/file-systems.ts';

/**
 * The commands, for one virsh process. Never `domstats a b`: it fails completely if one of them is
 * gone.
 */
export function statisticsCommand(options: { readonly nowait: boolean }): string {
  const list = 'list --all --id --uuid --name';
  return `${list}; domstats --raw${options.nowait ? ' --nowait' : ''}; ${list}`;
}

/** One domain with its statistics, as virsh printed them. */
export interface Domain {
  readonly uuid: string;
  readonly name: string;
  /** libvirt's number of this run of the domain; undefined = it is not running. */
  readonly id?: string;
  /** `key` to text, e.g. `vcpu.0.time` to `12680000000`. */
  readonly fields: ReadonlyMap<string, string>;
}

/** Result of one run of virsh on all domains. */
export interface Statistics {
  readonly domains: readonly Domain[];
  /**
   * Names that belonged to another domain, another run or no domain before or after: no statistics
   * this time.
   */
  readonly changed: readonly string[];
  /** Number of domains in either list, with or without statistics; 0 = libvirt has none. */
  readonly listed: number;
  /** UUIDs of all domains; undefined: some line was not recognized, so some may be missing. */
  readonly uuids?: ReadonlySet<string>;
}

const LISTED = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) (\d+|-) (.+)$/;
const HEADER = /^Domain: '(.*)'$/;

/** Parses the output of {@link statisticsCommand}. Unknown lines are ignored. */
export function parseStatistics(text: string): Statistics {
  const before = new Map<string, string>();
  const after = new Map<string, string>();
  const blocks = new Map<string, Map<string, string>>();
  const twice = new Set<string>();
  let block: Map<string, string> | undefined;
  let isWhole = true;
  for (const line of text.split('\n')) {
    // Nine out of ten lines are fields: their indent identifies them without a pattern.
    if (line.startsWith('  ')) {
      const equals = line.indexOf('=');
      const key = line.slice(2, equals);
      if (equals > 2 && block && !block.has(key)) block.set(key, line.slice(equals + 1));
      continue;
    }
    const name = HEADER.exec(line)?.[1];
    const [, uuid = '', id = '', listed] = LISTED.exec(line) ?? [];
    if (name !== undefined) {
      if (blocks.has(name)) twice.add(name);
      block = new Map();
      blocks.set(name, block);
    } else if (listed !== undefined) {
      const list = blocks.size === 0 ? before : after;
      if (list.has(listed)) twice.add(listed);
      list.set(listed, `${uuid} ${id}`);
    } else if (line.trim() !== '') isWhole = false;
  }
  const identities = [...before.values(), ...after.values()];
  const uuids = new Set(identities.map((identity) => identity.split(' ', 1)[0] ?? ''));
  return { ...match({ before, after, blocks, twice }), ...(isWhole && { uuids }) };
}

function match(read: {
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
  readonly blocks: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly twice: ReadonlySet<string>;
}): Omit<Statistics, 'uuids'> {
  const { before, after, blocks, twice } = read;
  const names = new Set([...before.keys(), ...after.keys(), ...blocks.keys()]);
  const domains: Domain[] = [];
  const changed: string[] = [];
  for (const name of names) {
    const identity = before.get(name);
    const fields = blocks.get(name);
    const same = identity !== undefined && identity === after.get(name) && !twice.has(name);
    const [uuid, id] = identity?.split(' ') ?? [];
    if (!same || !fields || uuid === undefined || id === undefined) changed.push(name);
    else domains.push({ uuid, name, fields, ...(id !== '-' && { id }) });
  }
  const listed = new Set([...before.keys(), ...after.keys()]).size;
  return { domains, changed, listed };
}

/** Above libvirt's maximum number of vCPUs, disks or interfaces in one domain. */
const INDEX_MAX = 8_192;

/**
 * `0` to `n - 1`, where n is the number in field `count`: the possible indexes of a group of
 * fields.
 */
export function indexesOf(fields: ReadonlyMap<string, string>, count: string): string[] {
  const length = Math.min(parseCount(fields.get(count)) ?? 0, INDEX_MAX);
  return Array.from({ length }, (_, index) => `${index}`);
}

/** One file system as reported by the guest agent. */
export interface GuestFileSystem {
  readonly mountpoint: string;
  readonly fstype: string;
  readonly sizeBytes: number;
  readonly usedBytes: number;
}

/** The agent's report, and the reason if a part of it was left out. */
export interface GuestFileSystems {
  readonly fileSystems: readonly GuestFileSystem[];
  readonly cause?: 'NO_SIZES' | 'IMPOSSIBLE';
}

/** A file system as listed: agents list it again for each of its mount points. */
interface ListedFileSystem extends GuestFileSystem {
  /** Device or volume in the guest, with its disks; '' = not reported. */
  readonly device: string;
}

/**
 * Parses `virsh guestinfo --filesystem`: each file system once, at its shortest mount point,
 * because a bind mount or a subvolume is not a file system of its own. undefined = the agent said
 * nothing at all: after `guest-agent-timeout`, a mute agent yields empty output and success. A file
 * system whose size or usage the agent does not report, or reports as more than full, is left out,
 * with a cause.
 */
export function parseGuestFileSystems(text: string): GuestFileSystems | undefined {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, key, fieldText = ''] = /^(fs\.[\w.-]+) *: ?(.*)$/.exec(line) ?? [];
    if (key !== undefined) fields.set(key, fieldText);
  }
  if (!fields.has('fs.count')) return undefined;
  const found = new Map<string, ListedFileSystem>();
  let cause: GuestFileSystems['cause'];
  for (const index of indexesOf(fields, 'fs.count')) {
    const mountpoint = fields.get(`fs.${index}.mountpoint`);
    const fstype = fields.get(`fs.${index}.fstype`);
    const sizeBytes = parseCount(fields.get(`fs.${index}.total-bytes`));
    const usedBytes = parseCount(fields.get(`fs.${index}.used-bytes`));
    if (!mountpoint || !fstype || isImage(fstype)) continue;
    if (sizeBytes === undefined || usedBytes === undefined) cause ??= 'NO_SIZES';
    else if (usedBytes > sizeBytes) cause = 'IMPOSSIBLE';
    if (!sizeBytes || usedBytes === undefined || usedBytes > sizeBytes) continue;
    // A mount over another one at the same mount point hides it.
    const device = deviceOf(fields, index);
    found.set(mountpoint, { mountpoint, fstype, sizeBytes, usedBytes, device });
  }
  const fileSystems = onceEach([...found.values()]);
  // Some mounts have no size by nature: the cause is reported only if none has one.
  const isWorthSaying = cause === 'IMPOSSIBLE' || fileSystems.length === 0;
  return { fileSystems, ...(cause && isWorthSaying && { cause }) };
}

/**
 * The agent's name, such as `vda1`, is unique in a guest; without one, its disks identify the
 * device.
 */
function deviceOf(fields: ReadonlyMap<string, string>, index: string): string {
  const name = fields.get(`fs.${index}.name`);
  const disks = indexesOf(fields, `fs.${index}.disk.count`).map((disk) => {
    const of = (key: string) => fields.get(`fs.${index}.disk.${disk}.${key}`);
    return of('device') ?? '';
  });
  return [name ?? '', ...disks].filter((part) => part !== '').join(' ');
}

/**
 * Sizes of two mounts of one file system differ by no more than this share: it may have been
 * written to in between.
 */
const SAME_SIZE = 0.99;

/**
 * Each file system at its shortest mount point. One without a device name is never another mount of
 * one. Mounts of one device with different sizes are limited by quotas of their own and fill up
 * independently.
 */
function onceEach(listed: readonly ListedFileSystem[]): GuestFileSystem[] {
  const once: ListedFileSystem[] = [];
  for (const fs of listed.toSorted(byMountPoint)) {
    if (!once.some((other) => isSameFileSystem(other, fs))) once.push(fs);
  }
  return listed.filter((fs) => once.includes(fs)).map(({ device: _, ...fs }) => fs);
}

function isSameFileSystem(a: ListedFileSystem, b: ListedFileSystem): boolean {
  if (a.device === '' || a.device !== b.device || a.fstype !== b.fstype) return false;
  const [small = 0, large = 0] = [a.sizeBytes, b.sizeBytes].sort((x, y) => x - y);
  return small >= SAME_SIZE * large;
}
