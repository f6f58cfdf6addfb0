/** A non-negative whole number in text: what the kernel and libvirt print for a counter. */

/**
 * undefined for anything but digits. Above 2^53 (8 PiB, 104 days of nanoseconds) the last digits
 * are lost, the value stays finite.
 */
export function parseCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,20}$/.test(text) ? Number(text) : undefined;
}
