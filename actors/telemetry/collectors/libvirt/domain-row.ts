/**
 * A domain's statistics as a row, and the rules for which of libvirt's numbers to trust. Pure. A
 * number that cannot be trusted is left out.
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

/** One domain's statistics, and the facts of the previous round needed to judge them. */
export interface DomainObservation {
  readonly domain: Domain;
  /** Unix ms. */
  readonly observedMs: number;
  readonly sequence: number;
  /** `balloon.last-update` of the previous round, if any, Unix seconds. */
  readonly lastBalloonUpdate?: number;
  /** Maximum age of memory figures, ms: older ones do not belong to this observation. */
  readonly balloonAgeMsMax: number;
  /** true: its hypervisor process does not respond, so only libvirt's own numbers exist. */
  readonly isSilent?: boolean;
}

/** Result of one part of the statistics: values, or the reason why there are none. */
interface Part {
  readonly values: readonly ObservedValue[];
  readonly absences: readonly Absence[];
}

/** The row of a domain. If it is not running, the row has only its state. */
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
  // The numbers that libvirt still prints for a shut-off domain are not the guest's: cpu.time is
  // libvirtd's.
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

/** No data, and nothing rejected: a hypervisor that knows only states has no such part. */
const NOTHING: Part = { values: [], absences: [] };

/** true: the numbers come from a QEMU process. */
export function hasCounters(domain: Domain): boolean {
  const { state } = domainState(domain);
  return domain.id !== undefined && state !== 'STOPPED' && state !== 'CRASHED';
}

/** Time at which the guest last reported its memory figures, Unix seconds; 0 = never. */
export function balloonUpdate(domain: Domain): number | undefined {
  return parseCount(domain.fields.get('balloon.last-update'));
}

/**
 * Busy seconds of the guest's vCPUs; unplugged ones leave holes in the numbers. A sum over only
 * some of them would look like a reset, so all plugged-in vCPUs must be there. (`cpu.time` would
 * count QEMU's own threads too.)
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
 * The guest's memory as of `balloon.last-update`. The numbers do not change when nothing polls
 * them, the guest is paused or its driver is gone. So they count only if the guest has reported
 * them since the last round, and recently.
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

/**
 * Reason why the figures do not belong to this observation; the cause that hides the others comes
 * first.
 */
function memoryAbsence(seen: DomainObservation): AbsenceCause | undefined {
  const { domain, lastBalloonUpdate, observedMs, balloonAgeMsMax } = seen;
  const { fields } = domain;
  if (seen.isSilent) return 'HYPERVISOR_NOT_ANSWERING';
  if (!fields.has('balloon.last-update')) {
    const hasBalloon = [...fields.keys()].some((key) => key.startsWith('balloon.'));
    // A hypervisor without any balloon figures does not support them.
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
  // Figures that change but are old all the same carry the time of another clock.
  if (-aheadMs > balloonAgeMsMax) {
    return lastBalloonUpdate === undefined ? 'NOT_REFRESHED' : 'CLOCKS_APART';
  }
  const [available, unused] = [parseCount(total), parseCount(free)];
  if (available === undefined || unused === undefined) return 'UNREADABLE';
  return unused > available ? 'IMPOSSIBLE' : undefined;
}

/**
 * Without a response from QEMU, a block device has a name but no counters, and therefore no series.
 */
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

/** As the guest sees it. User-mode networking has no counters, and therefore no series. */
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
  /** Reason why a device of the group has no counters at all. */
  readonly cause: AbsenceCause;
  readonly read: (name: string, field: (name: string) => number | undefined) => ObservedValue[];
}

/** If a device has only some of its counters, the missing ones are reported as unreadable. */
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
  // One cause is enough: an unreadable device takes precedence over one without counters.
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
 * State and reason. A domain that is off because its QEMU died, or failed to start, is CRASHED: it
 * was not stopped. Only `state.state` reports a pause; `vcpu.N.state` stays 1 there.
 */
function domainState(domain: Domain): { state: VmState; reason: string } {
  const known = STATES[parseCount(domain.fields.get('state.state')) ?? 0];
  const reason = known?.reasons[parseCount(domain.fields.get('state.reason')) ?? 0] ?? '';
  const unwanted = known?.state === 'STOPPED' && (reason === 'crashed' || reason === 'failed');
  return { state: unwanted ? 'CRASHED' : (known?.state ?? 'UNKNOWN'), reason };
}
