/**
 * Disk and network counters of this host: pure functions from the kernel's text.
 *
 * Each byte must be counted once. A write to a file can pass a device-mapper volume, a RAID set and
 * two disks; a packet can pass a veth pair, a bridge and a network card. So only the lowest layer
 * is counted: disks (not partitions or devices built on disks) and network cards (not interfaces
 * built on them). Formats: Documentation/admin-guide/iostats.rst, proc(5).
 */

import { seriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import type { ObservedValue } from '../collector.ts';
import { parseCount } from '../command.ts';

/** The unit of /proc/diskstats, regardless of the disk's own sector size. */
const SECTOR_BYTES = 512;

/** Memory, files and optical drives that pose as disks, and devices built on other disks. */
const NOT_A_DISK = /^(loop|ram|zram|sr|fd|dm-|md|drbd|bcache)\d*/;

/**
 * Virtual interfaces, for machines whose cards have no device (containers): their traffic passes
 * another interface that is counted, or none at all.
 */
const MADE_BY_SOFTWARE =
  /^(lo$|veth|br-|docker|virbr|vnet|vmlab|tap|tun|macvtap|bond|team|dummy|ifb|wg|cni|flannel|cali|lxc|lxd|podman|vxlan|geneve|gre|sit|ip6tnl|tailscale)/;

/**
 * Parses /proc/diskstats. `blockDevices` is the listing of /sys/block, which has whole devices and
 * never a partition. A name does not decide it: `xvda1` may be either.
 */
export function parseDiskstats(text: string, blockDevices: readonly string[]): ObservedValue[] {
  const whole = new Set(blockDevices.map((name) => name.replaceAll('!', '/')));
  const seen = new Set<string>();
  return text.split('\n').flatMap((line): ObservedValue[] => {
    const [, , device, ...fields] = line.trim().split(/\s+/);
    if (device === undefined || !whole.has(device) || NOT_A_DISK.test(device)) return [];
    const [reads, , sectorsRead, , writes, , sectorsWritten] = fields.map(parseCount);
    const complete = [reads, sectorsRead, writes, sectorsWritten].every((n) => n !== undefined);
    if (!complete || seen.has(device)) return [];
    seen.add(device);
    const bytes = (sectors: number | undefined): number => (sectors ?? Number.NaN) * SECTOR_BYTES;
    return diskValues(device, {
      readBytes: bytes(sectorsRead),
      writtenBytes: bytes(sectorsWritten),
      reads,
      writes,
    });
  });
}

/** true: a counted disk has an unreadable line and no reading. */
export function hasUnreadableDisk(text: string, blockDevices: readonly string[]): boolean {
  const whole = new Set(blockDevices.map((name) => name.replaceAll('!', '/')));
  return text.split('\n').some((line) => {
    const device = line.trim().split(/\s+/)[2] ?? '';
    const isCounted = whole.has(device) && !NOT_A_DISK.test(device);
    return isCounted && parseDiskstats(line, blockDevices).length === 0;
  });
}

/**
 * The four counters of a disk as series; undefined ones are left out. Also used for libvirt's
 * disks.
 */
export function diskValues(
  device: string,
  counters: Readonly<Record<'readBytes' | 'writtenBytes' | 'reads' | 'writes', number | undefined>>,
): ObservedValue[] {
  return observedOnly([
    [seriesKey('svc_vm_disk_read_bytes_total', { device }), counters.readBytes],
    [seriesKey('svc_vm_disk_written_bytes_total', { device }), counters.writtenBytes],
    [seriesKey('svc_vm_disk_reads_completed_total', { device }), counters.reads],
    [seriesKey('svc_vm_disk_writes_completed_total', { device }), counters.writes],
  ]);
}

/**
 * Parses /proc/net/dev. `cards` are the interfaces with a device behind them (real, or virtio and
 * similar in a VM). If there are none, as in a container, all interfaces count except virtual ones.
 */
export function parseNetDev(text: string, cards: ReadonlySet<string>): ObservedValue[] {
  return text.split('\n').flatMap((line): ObservedValue[] => {
    const colon = line.lastIndexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim();
    const counted = cards.size > 0 ? cards.has(name) : !MADE_BY_SOFTWARE.test(name);
    if (name === '' || !counted) return [];
    const fields = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(parseCount);
    if (fields.length < 9) return [];
    return networkValues(name, { received: fields[0], transmitted: fields[8] });
  });
}

/** true: a counted interface has an unreadable line and lacks a reading. */
export function hasUnreadableInterface(text: string, cards: ReadonlySet<string>): boolean {
  return text.split('\n').some((line) => {
    const name = line.slice(0, Math.max(line.lastIndexOf(':'), 0)).trim();
    return cards.has(name) && parseNetDev(line, cards).length < 2;
  });
}

/** The two counters of an interface as series; undefined ones are left out. */
export function networkValues(
  name: string,
  counters: Readonly<Record<'received' | 'transmitted', number | undefined>>,
): ObservedValue[] {
  return observedOnly([
    [seriesKey('svc_vm_network_receive_bytes_total', { interface: name }), counters.received],
    [seriesKey('svc_vm_network_transmit_bytes_total', { interface: name }), counters.transmitted],
  ]);
}

function observedOnly(values: readonly (readonly [string, number | undefined])[]): ObservedValue[] {
  return values.filter((entry): entry is ObservedValue => Number.isFinite(entry[1]));
}
