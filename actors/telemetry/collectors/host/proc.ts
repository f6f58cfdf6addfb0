/**
 * Readings from the kernel's text files on processors and memory: pure functions from text. A line
 * that is missing, short or not numeric gives no reading; it never gives a zero. Formats: proc(5),
 * https://docs.kernel.org/filesystems/proc.html
 */
import type {
  Absence,
  AbsenceCause,
  ReadingName,
} from '../../../../streams/telemetry/metrics/absence-causes.ts';
import type { ObservedValue } from '../collector.ts';
import { parseCount } from '../command.ts';

/** The unit of /proc/stat. A constant of Linux's user-space ABI on all machines that run Node. */
const TICKS_PER_SECOND = 100;
const KIB = 1024;

/** Readings of processors; a field is absent if the text does not have it. */
export interface CpuReading {
  /** Busy seconds of all CPUs together since boot: excludes idle, iowait and steal. */
  readonly busySeconds?: number;
  /** CPUs that are online now. */
  readonly vcpus?: number;
  /** Processes running or waiting for a CPU at this instant. */
  readonly processesRunning?: number;
}

/** Parses /proc/stat. */
export function parseStat(text: string): CpuReading {
  const lines = text.split('\n');
  const [, ...total] = lines.find((line) => line.startsWith('cpu '))?.split(/\s+/) ?? [];
  // user nice system idle iowait irq softirq steal guest guest_nice. The last two are left out:
  // the kernel has already counted them in user and nice.
  const [user, nice, system, idle, iowait, irq, softirq] = total.map(parseCount);
  const used = [user, nice, system, irq, softirq].filter((ticks) => ticks !== undefined);
  const complete = used.length === 5 && idle !== undefined && iowait !== undefined;
  const ticks = used.reduce((sum, next) => sum + next, 0);
  const vcpus = lines.filter((line) => /^cpu\d+ /.test(line)).length;
  const running = parseCount(lines.find((line) => line.startsWith('procs_running '))?.slice(14));
  return {
    ...(complete && { busySeconds: ticks / TICKS_PER_SECOND }),
    ...(vcpus > 0 && { vcpus }),
    ...(running !== undefined && { processesRunning: running }),
  };
}

/**
 * Parses /proc/meminfo. Used is MemTotal - MemFree, page cache included: the same definition as in
 * libvirt's balloon figures, so that a host and its VMs can be compared.
 */
export function parseMeminfo(text: string): {
  baseline: ObservedValue[];
  expanded: ObservedValue[];
  /** Absences in `baseline`. */
  absences: Absence[];
  /** Absences in `expanded`. */
  expandedAbsences: Absence[];
} {
  const bytes = (field: string): number | undefined => {
    const count = parseCount(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]);
    return count === undefined ? undefined : count * KIB;
  };
  const [total, free, available] = [bytes('MemTotal'), bytes('MemFree'), bytes('MemAvailable')];
  const [swapTotal, swapFree] = [bytes('SwapTotal'), bytes('SwapFree')];
  return {
    baseline: [
      ...value('svc_vm_memory_total_bytes', total),
      ...value('svc_vm_memory_free_bytes', free),
      ...value('svc_vm_memory_used_bytes', difference(total, free)),
    ],
    expanded: [
      ...value('svc_vm_memory_available_bytes', available),
      ...value('svc_vm_swap_used_bytes', difference(swapTotal, swapFree)),
    ],
    absences: absentDifference('memory', total, free),
    expandedAbsences: [
      ...absentIf(available === undefined, 'memory_available', 'UNREADABLE'),
      ...absentDifference('swap', swapTotal, swapFree),
    ],
  };
}

/** Parses the one-minute load average of /proc/loadavg. */
export function parseLoadavg(text: string): number | undefined {
  const [first] = text.split(' ');
  return first !== undefined && /^\d+\.\d+$/.test(first) ? Number(first) : undefined;
}

/**
 * Milliseconds since boot, from /proc/uptime (centiseconds): increases across restarts of this
 * service.
 */
export function parseUptimeMs(text: string): number | undefined {
  const [seconds] = text.split(' ');
  return seconds !== undefined && /^\d+\.\d+$/.test(seconds)
    ? Math.round(Number(seconds) * 1_000)
    : undefined;
}

/** A list of one value, or an empty one if it was not observed. */
export function value(key: string, observed: number | undefined): ObservedValue[] {
  return observed === undefined ? [] : [[key, observed]];
}

/** A list of one absence, or an empty one. */
export function absentIf(isAbsent: boolean, reading: ReadingName, cause: AbsenceCause): Absence[] {
  return isAbsent ? [{ reading, cause }] : [];
}

/** Reason why `difference` returns nothing. */
function absentDifference(
  reading: ReadingName,
  whole: number | undefined,
  part: number | undefined,
): Absence[] {
  if (whole === undefined || part === undefined) return [{ reading, cause: 'UNREADABLE' }];
  return absentIf(part > whole, reading, 'IMPOSSIBLE');
}

function difference(whole: number | undefined, part: number | undefined): number | undefined {
  return whole === undefined || part === undefined || part > whole ? undefined : whole - part;
}
