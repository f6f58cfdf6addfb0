/**
 * This host as a VM: the readings of a guest agent, read in-process from /proc, /sys and the
 * mounts. A bare machine has real readings within a minute of `npm start`. The pure functions in
 * this folder parse the text.
 */
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Absence } from '../../../../streams/telemetry/metrics/absence-causes.ts';
import type { ObservedRow, ObservedValue, Reading, Source, SourceFault } from '../collector.ts';
import { type RunCommand, runCommand } from '../command.ts';
import {
  hasUnreadableDisk,
  hasUnreadableInterface,
  parseDiskstats,
  parseNetDev,
} from './devices.ts';
import { createFileSystemReader, type FileSystemReading, parseMountinfo } from './file-systems.ts';
import { absentIf, parseMeminfo, parseStat, parseUptimeMs, value } from './proc.ts';

/** The kernel's files. undefined = it does not exist or is not readable. */
export interface HostFiles {
  text(path: string): Promise<string | undefined>;
  names(folder: string): Promise<readonly string[] | undefined>;
}

/** Files to read, and the VM to report; tests pass their own files and commands. */
export interface HostSourceOptions {
  readonly clock: Clock;
  /** This host's VM id: see `loadHostIdentity`. */
  readonly vm: string;
  /** Default: those of this machine. */
  readonly files?: HostFiles;
  readonly run?: RunCommand;
  /** Deadline for file systems, ms; default 2 s. The rest of the row does not depend on them. */
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 2_000;

/** Returns one row of baseline series per round; only an agent reports expanded series. */
export function createHostSource(options: HostSourceOptions): Source {
  const { clock } = options;
  const files = options.files ?? kernelFiles;
  const fileSystems = createFileSystemReader({
    clock,
    run: options.run ?? runCommand,
    deadlineMs: options.deadlineMs ?? DEADLINE_MS,
  });
  const firstMs = clock.now();
  const firstElapsedMs = clock.elapsed();

  return {
    name: 'host',
    async read(signal): Promise<Reading> {
      const mountinfo = await files.text('/proc/self/mountinfo');
      const mounted = fileSystems.read(parseMountinfo(mountinfo ?? ''), signal);
      const text = await readProc(files);
      const observedMs = clock.now();
      // Without /proc/uptime: calendar time of the start, plus a clock that never goes back.
      const sinceStart = Math.round(firstMs + clock.elapsed() - firstElapsedMs);
      const sequence = parseUptimeMs(text.file.get('/proc/uptime') ?? '') ?? sinceStart;
      const row = hostRow({
        vm: options.vm,
        observedMs,
        sequence,
        text,
        mounted: await mounted,
        isMountless: mountinfo === undefined,
      });
      const faults = [...missingFiles(text, mountinfo), ...(await mounted).faults];
      return { rows: row ? [row] : [], faults };
    },
    async close() {},
  };
}

const PROC_FILES = [
  '/proc/stat',
  '/proc/meminfo',
  '/proc/diskstats',
  '/proc/net/dev',
  '/proc/uptime',
  '/proc/sys/kernel/random/boot_id',
  '/proc/sys/kernel/hostname',
] as const;

interface ProcText {
  readonly file: ReadonlyMap<string, string>;
  readonly blockDevices: readonly string[] | undefined;
  readonly cards: ReadonlySet<string>;
}

async function readProc(files: HostFiles): Promise<ProcText> {
  const texts = PROC_FILES.map(async (path) => [path, await files.text(path)]);
  const [entries, blockDevices, cards] = await Promise.all([
    Promise.all(texts),
    files.names('/sys/block'),
    findCards(files),
  ]);
  const file = new Map(
    entries.filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return { file, blockDevices, cards };
}

/** Interfaces with a device behind them: a card, or virtio and similar in a VM. */
async function findCards(files: HostFiles): Promise<ReadonlySet<string>> {
  const names = (await files.names('/sys/class/net')) ?? [];
  const backed = names.map(
    async (name) => (await files.names(`/sys/class/net/${name}/device`)) && name,
  );
  return new Set((await Promise.all(backed)).filter((name) => name !== undefined));
}

/** The row of all readings; undefined if there are none. */
function hostRow(read: {
  readonly vm: string;
  readonly observedMs: number;
  readonly sequence: number;
  readonly text: ProcText;
  readonly mounted: FileSystemReading;
  /** true: the list of mounts could not be read. */
  readonly isMountless: boolean;
}): ObservedRow | undefined {
  const { text } = read;
  const { file } = text;
  const cpu = parseStat(file.get('/proc/stat') ?? '');
  const memory = parseMeminfo(file.get('/proc/meminfo') ?? '');
  const values: ObservedValue[] = [
    ...value('svc_vm_cpu_seconds_total', cpu.busySeconds),
    ...memory.baseline,
    ...parseDiskstats(file.get('/proc/diskstats') ?? '', text.blockDevices ?? []),
    ...parseNetDev(file.get('/proc/net/dev') ?? '', text.cards),
    ...read.mounted.values,
  ];
  const absences: Absence[] = [
    ...absentIf(cpu.busySeconds === undefined, 'cpu', 'UNREADABLE'),
    ...memory.absences,
    ...absentIf(isDiskUnreadable(text), 'disk', 'UNREADABLE'),
    ...absentIf(isNetworkUnreadable(text), 'network', 'UNREADABLE'),
    ...read.mounted.absences,
    ...absentIf(read.isMountless, 'filesystem', 'UNREADABLE'),
  ];
  if (values.length === 0) return undefined;
  return {
    vm: read.vm,
    displayName: file.get('/proc/sys/kernel/hostname')?.trim() || 'this host',
    observedMs: read.observedMs,
    bootId: file.get('/proc/sys/kernel/random/boot_id')?.trim() ?? '',
    sequence: read.sequence,
    ...(cpu.vcpus !== undefined && { vcpus: cpu.vcpus }),
    state: 'RUNNING',
    stateReason: '',
    values,
    ...(absences.length > 0 && { absences }),
  };
}

function isDiskUnreadable({ file, blockDevices }: ProcText): boolean {
  const diskstats = file.get('/proc/diskstats');
  if (diskstats === undefined || blockDevices === undefined) return true;
  return hasUnreadableDisk(diskstats, blockDevices);
}

function isNetworkUnreadable({ file, cards }: ProcText): boolean {
  const dev = file.get('/proc/net/dev');
  return dev === undefined || hasUnreadableInterface(dev, cards);
}

function missingFiles(text: ProcText, mountinfo: string | undefined): SourceFault[] {
  const missing: string[] = PROC_FILES.filter((path) => !text.file.has(path));
  if (mountinfo === undefined) missing.push('/proc/self/mountinfo');
  if (text.blockDevices === undefined) missing.push('/sys/block');
  if (missing.length === 0) return [];
  const reason = missing.length > PROC_FILES.length ? 'SOURCE_MISSING' : 'INCOMPLETE';
  return [{ reason, message: `cannot read ${missing.join(', ')}: their readings are absent` }];
}

/** Files of the machine on which this process runs. */
export const kernelFiles: HostFiles = {
  text: (path) => readFile(path, 'utf8').catch(absent),
  names: (folder) => readdir(folder).catch(absent),
};

/** The caller treats every error as "not there" and reports a fault. */
function absent(): undefined {
  return undefined;
}
