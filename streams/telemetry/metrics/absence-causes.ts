/**
 * Why a source left a reading out of a row (MEAS-11). The cause travels with the row as a series of
 * its own, so history, replay and queries have it at the time of the row. Readers of a metric then
 * learn what to do next, instead of blaming the guest for a reading that was never requested.
 */
import { type SeriesKey, seriesKey } from '../samples/batch.ts';
import type { VmColumns } from '../samples/columns.ts';
import { EXPANDED_SERIES, type MetricDescriptor } from './catalogue.ts';

/**
 * Its value is 1 in each row that lacks the reading for this cause; otherwise there is no sample.
 */
export const ABSENCE_SERIES = 'svc_vm_reading_absent';

/** Readings that a source can leave out; a metric belongs to one of them. */
export type ReadingName =
  | 'cpu'
  | 'memory'
  | 'disk'
  | 'network'
  | 'filesystem'
  | 'load'
  | 'memory_available'
  | 'swap'
  | 'processes';

/** The cause as a phrase, and the next step as a sentence. */
interface CauseText {
  readonly what: string;
  readonly next: string;
}

/** Every cause that the sources of this project report. */
export const ABSENCE_CAUSES = {
  MEMORY_NOT_POLLED: {
    what: 'libvirt has never got memory figures from the guest',
    next: "Set a stats period: virsh dommemstat VM --period 10 --live --config. If one is set, load the guest's balloon driver.",
  },
  NO_MEMORY_FIGURES: {
    what: 'the guest answers the balloon, but reports no memory figures',
    next: 'Install the balloon driver and its service in the guest; on Windows they are in virtio-win guest tools.',
  },
  NO_BALLOON: {
    what: 'the VM has no memory balloon',
    next: "Add <memballoon model='virtio'><stats period='10'/></memballoon> to the domain.",
  },
  CLOCKS_APART: {
    what: "the guest's figures carry a time that is too far from the collector's",
    next: 'Synchronize the clocks of hypervisor and collector (NTP).',
  },
  NOT_REFRESHED: {
    what: 'the figures were not refreshed since the previous observation',
    next: 'Set a stats period shorter than the sampling interval, and check that the guest responds.',
  },
  VM_PAUSED: {
    what: 'the VM is paused',
    next: 'Resume the VM; its figures do not change until then.',
  },
  HYPERVISOR_NOT_ANSWERING: {
    what: "the VM's hypervisor process does not respond",
    next: 'Look for a frozen QEMU: virsh -r domstats --nowait shows few lines for it.',
  },
  VCPU_TIMES_INCOMPLETE: {
    what: "a vCPU's time is missing",
    next: 'Compare vcpu.current with the vcpu.N.time lines of virsh -r domstats VM --vcpu.',
  },
  NO_COUNTERS: {
    what: 'the device has no counters, as with user-mode networking',
    next: 'Attach the device to a bridge or a libvirt network.',
  },
  NOT_ASKED: {
    what: 'the collector does not query the guest agent',
    next: 'Enable file systems at the collector; docs/sources.md describes how, and the required rights.',
  },
  GUEST_AGENT_SILENT: {
    what: 'the guest agent did not respond',
    next: 'Install and start qemu-guest-agent in the guest, with its channel in the domain.',
  },
  NO_SIZES: {
    what: 'the guest agent lists file systems without their sizes',
    next: 'Update qemu-guest-agent to 3.0 or later.',
  },
  FILE_SYSTEM_NOT_ANSWERING: {
    what: 'a file system does not respond',
    next: 'Check that its server is reachable, or unmount it.',
  },
  UNREADABLE: {
    what: 'the source could not be read, or its output could not be parsed',
    next: "See the collector's faults in /readyz, which name the file or the program.",
  },
  IMPOSSIBLE: {
    what: 'impossible readings: below zero, or far above the capacity',
    next: 'Check the source: a counter that dipped, or two sources of one VM, can cause this.',
  },
} as const satisfies Readonly<Record<string, CauseText>>;

/** One of `ABSENCE_CAUSES`. */
export type AbsenceCause = keyof typeof ABSENCE_CAUSES;

/** A reading that a source left out, and the cause. */
export interface Absence {
  readonly reading: ReadingName;
  readonly cause: AbsenceCause;
}

/** The series that carries an absence. */
export function absenceKey({ reading, cause }: Absence): SeriesKey {
  return seriesKey(ABSENCE_SERIES, { cause, reading });
}

/** Absences of the readings taken by agents, with the causes that agents know. */
const EXPANDED_ABSENCES: ReadonlySet<SeriesKey> = new Set(
  (['load', 'memory_available', 'swap', 'processes'] as const).flatMap((reading) =>
    (['UNREADABLE', 'IMPOSSIBLE'] as const).map((cause) => absenceKey({ reading, cause })),
  ),
);

/** True for an expanded series, or the absence of one: only agents send these. */
export function isOfAgents(series: SeriesKey): boolean {
  return EXPANDED_SERIES.has(series) || EXPANDED_ABSENCES.has(series);
}

/** The cause and the next step as one text; '' for a reason that is not one of the causes. */
export function causeHelp(reason: string): string {
  if (!Object.hasOwn(ABSENCE_CAUSES, reason)) return '';
  const { what, next } = ABSENCE_CAUSES[reason as AbsenceCause];
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}. ${next}`;
}

/**
 * The reading from which a metric is derived; undefined: a source cannot leave it out separately.
 */
export function readingOf({
  metricId,
  derivation,
}: Pick<MetricDescriptor, 'metricId' | 'derivation'>): ReadingName | undefined {
  switch (derivation.from) {
    case 'utilization':
      return 'cpu';
    case 'memoryUsed':
      return 'memory';
    case 'percentage':
      return 'filesystem';
    case 'rate':
      return derivation.series.includes('_disk_') ? 'disk' : 'network';
    case 'gauge':
      return GAUGES[metricId];
    default:
      return undefined;
  }
}

const GAUGES: Readonly<Record<string, ReadingName>> = {
  memory_total_bytes: 'memory',
  filesystem_used_bytes: 'filesystem',
  filesystem_size_bytes: 'filesystem',
  load_1m: 'load',
  memory_available_bytes: 'memory_available',
  swap_used_bytes: 'swap',
  processes_running: 'processes',
};

const KEY = /^svc_vm_reading_absent\{cause="([A-Z][A-Z0-9_]{0,62})",reading="([a-z_]+)"\}$/;

/** Times of the rows that lack a reading, by cause; oldest first for each cause. */
export function absencesIn(
  { timesMs, series }: Pick<VmColumns, 'timesMs' | 'series'>,
  reading: ReadingName,
): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const [key, column] of series) {
    const [, cause = '', of] = KEY.exec(key) ?? [];
    if (of !== reading) continue;
    const times = Array.from(timesMs).filter((_, i) => column[i] === 1);
    if (times.length > 0) found.set(cause, times);
  }
  return found;
}
