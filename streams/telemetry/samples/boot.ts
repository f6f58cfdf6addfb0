/**
 * Boot ids that say whose counters a row has. A counter of one source says nothing of the same counter as
 * another source has it: small boot numbers, such as libvirt's of its domains, are the same on many hosts.
 * So a boot id names its origin behind the sender's own id where a VM has more than one.
 */

const MARK = ' @';

/** The boot id as of that origin, which is no empty text and may be one behind another. */
export function bootOf(boot: string, origin: string): string {
  return `${boot}${MARK}${origin}`;
}

/** Origin of a boot id; '' = the only one that there is. */
export function originOf(boot: string): string {
  const at = boot.indexOf(MARK);
  return at < 0 ? '' : boot.slice(at + MARK.length);
}
