/**
 * A domain's statistics as a row, and the rules for which of libvirt's numbers to believe. Pure. A
 * number that cannot be believed is left out.
 */
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
  return {
    ...row,
    bootId: `domain-${domain.id}`,
    ...(vcpus !== undefined && vcpus > 0 && { vcpus }),
    values: [...cpu(domain, vcpus), ...memory(seen), ...disks(domain), ...network(domain)],
  };
}

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
function cpu(domain: Domain, vcpus: number | undefined): ObservedValue[] {
  const times = indexesOf(domain.fields, 'vcpu.maximum')
    .map((index) => parseCount(domain.fields.get(`vcpu.${index}.time`)))
    .filter((nanoseconds) => nanoseconds !== undefined);
  if (times.length === 0 || times.length !== vcpus) return [];
  return [['svc_vm_cpu_seconds_total', times.reduce((sum, next) => sum + next, 0) / 1e9]];
}

/**
 * The guest's memory as of `balloon.last-update`. The numbers stay what they were when nobody
 * polls, the guest is paused or its driver is gone; so they count only when the guest has
 * reported them since the last round, and recently.
 */
function memory(seen: DomainObservation): ObservedValue[] {
  const update = balloonUpdate(seen.domain);
  if (!update || update === seen.lastBalloonUpdate) return [];
  if (Math.abs(seen.observedMs - update * 1_000) > seen.balloonAgeMsMax) return [];
  const available = parseCount(seen.domain.fields.get('balloon.available'));
  const unused = parseCount(seen.domain.fields.get('balloon.unused'));
  if (available === undefined || unused === undefined || unused > available) return [];
  return [
    ['svc_vm_memory_total_bytes', available * 1_024],
    ['svc_vm_memory_free_bytes', unused * 1_024],
    ['svc_vm_memory_used_bytes', (available - unused) * 1_024],
  ];
}

/** Without an answer from QEMU a block device has a name and no counters: then it has no series. */
function disks(domain: Domain): ObservedValue[] {
  return devices(domain, 'block', (device, field) =>
    diskValues(device, {
      readBytes: field('rd.bytes'),
      writtenBytes: field('wr.bytes'),
      reads: field('rd.reqs'),
      writes: field('wr.reqs'),
    }),
  );
}

/** As the guest sees it. User-mode networking has no counters: then there are no series. */
function network(domain: Domain): ObservedValue[] {
  return devices(domain, 'net', (device, field) =>
    networkValues(device, { received: field('rx.bytes'), transmitted: field('tx.bytes') }),
  );
}

function devices(
  domain: Domain,
  group: 'block' | 'net',
  read: (name: string, field: (name: string) => number | undefined) => ObservedValue[],
): ObservedValue[] {
  const byName = new Map<string, ObservedValue[]>();
  for (const index of indexesOf(domain.fields, `${group}.count`)) {
    const name = domain.fields.get(`${group}.${index}.name`);
    // A disk's backing images repeat its name: the first is the disk itself.
    if (!name || byName.has(name)) continue;
    const field = (key: string) => parseCount(domain.fields.get(`${group}.${index}.${key}`));
    byName.set(name, read(name, field));
  }
  return [...byName.values()].flat();
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
