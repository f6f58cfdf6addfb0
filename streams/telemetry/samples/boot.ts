/**
 * Boot ids that identify the source of a row's counters. Counters of different sources cannot be
 * compared: small boot numbers, such as libvirt's of its domains, are the same on many hosts. So a
 * boot id contains its origin after the sender's own id if a VM has more than one source.
 */

const MARK = ' @';

/** The boot id with that origin, which must not be empty; the boot id may already have one. */
export function bootOf(boot: string, origin: string): string {
  return `${boot}${MARK}${origin}`;
}

/** Origin of a boot id; '' = the VM has a single origin. */
export function originOf(boot: string): string {
  const at = boot.indexOf(MARK);
  return at < 0 ? '' : boot.slice(at + MARK.length);
}
