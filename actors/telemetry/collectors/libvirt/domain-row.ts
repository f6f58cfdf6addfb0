/**
 * A domain's statistics as a row, and the rules for which of libvirt's numbers to believe. Pure. A
 * number that cannot be believed is left out.
 */
import type {
  Absence,
  AbsenceCause,
  ReadingName,
} from '../../../../streams/telemetry/metrics/absence-causes.ts';
import type { VmState } from '../../../../streams/telemetry/samples/batch.ts';
import type { ObservedRow, ObservedValue } from '../collector.ts';
import { parseCount } from '../command.ts';
import { diskValues, networkValues } from '../host/devices.ts';
import { type Domain, indexesOf } from './virsh-text.ts';

/** One domain's statistics, and what of the round before is needed to judge them. */
export interface DomainObservation {
  readonly domain: Domain;
  /** Unix ms. */
  readonly observedMs: number;
  readonly sequence: number;
  /** `balloon.last-update` of the round before, where there was one: Unix seconds. */
  readonly lastBalloonUpdate?: number;
  /** Memory figures older than this are not of this observation. */
  readonly balloonAgeMsMax: number;
  /** true: its hypervisor process owes an answer, so that only libvirt's own numbers are there. */
  readonly isSilent?: boolean;
}

/** What a part of the statistics gives: values, or why there are none. */
interface Part {
  readonly values: readonly ObservedValue[];
  readonly absences: readonly Absence[];
}

/** The row of a domain. One that does not run has its state and nothing else. */
export function domainRow(seen: DomainObservation): ObservedRow {
  const { domain } = seen;
  const { state, reason } = domainState(domain);
  const row = {
    vm: domain.uuid,
    displayName: domain.name,
    observedMs: seen.observedMs,
    sequence: seen.sequence,
    state,
    stateReason: reason,
  };
  // What libvirt still prints of a domain that is shut off is its own: cpu.time is libvirtd's.
  if (!hasCounters(domain)) return { ...row, bootId: '', values: [] };
  const vcpus = parseCount(domain.fields.get('vcpu.current'));
  const parts = [cpu(domain, vcpus), memory(seen), disks(seen), network(domain)];
  const absences = parts.flatMap((part) => part.absences);
  return {
    ...row,
    bootId: `domain-${domain.id}`,
    ...(vcpus !== undefined && vcpus > 0 && { vcpus }),
    values: parts.flatMap((part) => part.values),
    ...(absences.length > 0 && { absences }),
  };
}

function observed(values: readonly ObservedValue[]): Part {
  return { values, absences: [] };
}

function absent(reading: ReadingName, cause: AbsenceCause): Part {
  return { values: [], absences: [{ reading, cause }] };
}

/** Nothing is there, and nothing was rejected: a hypervisor that knows states only has no part. */
const NOTHING: Part = { values: [], absences: [] };

/** true: a QEMU process stands behind the numbers. */
export function hasCounters(domain: Domain): boolean {
  const { state } = domainState(domain);
  return domain.id !== undefined && state !== 'STOPPED' && state !== 'CRASHED';
}

/** When the guest last reported its memory figures, Unix seconds; 0 = never. */
export function balloonUpdate(domain: Domain): number | undefined {
  return parseCount(domain.fields.get('balloon.last-update'));
}

/**
 * Busy seconds of the guest's vCPUs; unplugged ones leave holes in the numbers. A sum over some of them would look like a reset, so all that
 * are plugged in must be there. (`cpu.time` would count QEMU's own threads too.)
 */
function cpu({ fields }: Domain, vcpus: number | undefined): Part {
  if (!fields.has('vcpu.current')) return NOTHING;
  const times = indexesOf(fields, 'vcpu.maximum')
    .map((index) => parseCount(fields.get(`vcpu.${index}.time`)))
    .filter((nanoseconds) => nanoseconds !== undefined);
  if (times.length === 0 || times.length !== vcpus) return absent('cpu', 'VCPU_TIMES_INCOMPLETE');
  const seconds = times.reduce((sum, next) => sum + next, 0) / 1e9;
  return observed([['svc_vm_cpu_seconds_total', seconds]]);
}

/**
 * The guest's memory as of `balloon.last-update`. The numbers stay what they were when nobody
 * polls, the guest is paused or its driver is gone; so they count only when the guest has
 * reported them since the last round, and recently.
 */
function memory(seen: DomainObservation): Part {
  const { fields } = seen.domain;
  const cause = memoryAbsence(seen);
  if (cause !== undefined) return absent('memory', cause);
  const available = parseCount(fields.get('balloon.available'));
  const unused = parseCount(fields.get('balloon.unused'));
  if (available === undefined || unused === undefined) return NOTHING;
  return observed([
    ['svc_vm_memory_total_bytes', available * 1_024],
    ['svc_vm_memory_free_bytes', unused * 1_024],
    ['svc_vm_memory_used_bytes', (available - unused) * 1_024],
  ]);
}

/** Why the figures are not of this observation, the cause that hides the others first. */
function memoryAbsence(seen: DomainObservation): AbsenceCause | undefined {
  const { domain, lastBalloonUpdate, observedMs, balloonAgeMsMax } = seen;
  const { fields } = domain;
  if (seen.isSilent) return 'HYPERVISOR_NOT_ANSWERING';
  if (!fields.has('balloon.last-update')) {
    const hasBalloon = [...fields.keys()].some((key) => key.startsWith('balloon.'));
    // Without any figure of a balloon it is a hypervisor that knows none.
    return hasBalloon ? 'NO_BALLOON' : undefined;
  }
  const update = balloonUpdate(domain);
  if (update === undefined) return 'UNREADABLE';
  if (update === 0) return 'MEMORY_NOT_POLLED';
  const [total, free] = [fields.get('balloon.available'), fields.get('balloon.unused')];
  if (total === undefined || free === undefined) return 'NO_MEMORY_FIGURES';
  const aheadMs = update * 1_000 - observedMs;
  if (aheadMs > balloonAgeMsMax) return 'CLOCKS_APART';
  const isSame = update === lastBalloonUpdate;
  if (isSame) return domainState(domain).state === 'PAUSED' ? 'VM_PAUSED' : 'NOT_REFRESHED';
  // Figures that move on and are old all the same carry the time of another clock.
  if (-aheadMs > balloonAgeMsMax) {
    return lastBalloonUpdate === undefined ? 'NOT_REFRESHED' : 'CLOCKS_APART';
  }
  const [available, unused] = [parseCount(total), parseCount(free)];
  if (available === undefined || unused === undefined) return 'UNREADABLE';
  return unused > available ? 'IMPOSSIBLE' : undefined;
}

/** Without an answer from QEMU a block device has a name and no counters: then it has no series. */
function disks({ domain, isSilent }: DomainObservation): Part {
  return devices(domain, {
    group: 'block',
    cause: isSilent ? 'HYPERVISOR_NOT_ANSWERING' : 'NO_COUNTERS',
    read: (device, field) =>
      diskValues(device, {
        readBytes: field('rd.bytes'),
        writtenBytes: field('wr.bytes'),
        reads: field('rd.reqs'),
        writes: field('wr.reqs'),
      }),
  });
}

/** As the guest sees it. User-mode networking has no counters: then there are no series. */
function network(domain: Domain): Part {
  return devices(domain, {
    group: 'net',
    cause: 'NO_COUNTERS',
    read: (device, field) =>
      networkValues(device, { received: field('rx.bytes'), transmitted: field('tx.bytes') }),
  });
}

interface DeviceGroup {
  readonly group: 'block' | 'net';
  /** Why a device of the group has no counters at all. */
  readonly cause: AbsenceCause;
  readonly read: (name: string, field: (name: string) => number | undefined) => ObservedValue[];
}

/** A device with some of its counters lacks the others: what they say is not understood. */
function devices({ fields }: Domain, { group, cause, read }: DeviceGroup): Part {
  const byName = new Map<string, ObservedValue[]>();
  const causes = new Set<AbsenceCause>();
  for (const index of indexesOf(fields, `${group}.count`)) {
    const name = fields.get(`${group}.${index}.name`);
    // A disk's backing images repeat its name: the first is the disk itself.
    if (!name || byName.has(name)) continue;
    let missing = 0;
    const values = read(name, (key) => {
      const text = fields.get(`${group}.${index}.${key}`);
      const count = parseCount(text);
      if (count === undefined) missing++;
      if (count === undefined && text !== undefined) causes.add('UNREADABLE');
      return count;
    });
    if (missing > 0) causes.add(values.length === 0 ? cause : 'UNREADABLE');
    byName.set(name, values);
  }
  const reading = group === 'block' ? 'disk' : 'network';
  // One cause says enough: a device that is not understood comes before one without counters.
  const [first] = causes.has('UNREADABLE') ? (['UNREADABLE'] as const) : [...causes];
  const values = [...byName.values()].flat();
  return { values, absences: first === undefined ? [] : [{ reading, cause: first }] };
}

/** virDomainState and its reasons, by number: https://libvirt.org/html/libvirt-libvirt-domain.html */
const STATES: readonly {
  readonly state: VmState;
  readonly reasons: readonly string[];
}[] = [
  { state: 'UNKNOWN', reasons: [] },
  {
    state: 'RUNNING',
    reasons: [
      '',
      'booted',
      'migrated',
      'restored',
      'from_snapshot',
      'unpaused',
      'migration_canceled',
      'save_canceled',
      'wakeup',
      'crashed',
      'postcopy',
      'postcopy_failed',
    ],
  },
  { state: 'RUNNING', reasons: ['blocked'] },
  {
    state: 'PAUSED',
    reasons: [
      '',
      'user',
      'migration',
      'save',
      'dump',
      'ioerror',
      'watchdog',
      'from_snapshot',
      'shutting_down',
      'snapshot',
      'crashed',
      'starting_up',
      'postcopy',
      'postcopy_failed',
      'api_error',
    ],
  },
  { state: 'RUNNING', reasons: ['shutting_down', 'shutting_down'] },
  {
    state: 'STOPPED',
    reasons: [
      '',
      'shutdown',
      'destroyed',
      'crashed',
      'migrated',
      'saved',
      'failed',
      'from_snapshot',
      'daemon',
    ],
  },
  { state: 'CRASHED', reasons: ['', 'panicked'] },
  { state: 'PAUSED', reasons: ['suspended', 'suspended'] },
];

/**
 * State and reason. A domain that is off because its QEMU died, or failed to start, is CRASHED:
 * nobody stopped it. Only `state.state` reports a pause; `vcpu.N.state` stays 1 there.
 */
function domainState(domain: Domain): { state: VmState; reason: string } {
  const known = STATES[parseCount(domain.fields.get('state.state')) ?? 0];
  const reason = known?.reasons[parseCount(domain.fields.get('state.reason')) ?? 0] ?? '';
  const unwanted = known?.state === 'STOPPED' && (reason === 'crashed' || reason === 'failed');
  return { state: unwanted ? 'CRASHED' : (known?.state ?? 'UNKNOWN'), reason };
}
