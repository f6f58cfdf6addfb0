/**
 * Email addresses as the service accepts them: one plain address, in the form that is compared and
 * written to. Names, comments, lists and quoted parts are refused, and with them everything that
 * could end a header or a command of a mail server.
 */

/** RFC 5321, section 4.5.3.1. */
const ADDRESS_CHARS_MAX = 254;
const ADDRESS = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/**
 * The address in lower case; undefined when it is none. Only ASCII: letters that become ASCII in
 * lower case (the Kelvin sign) would let one address be taken for another.
 */
export function parseAddress(text: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed.length > ADDRESS_CHARS_MAX || /[^\x21-\x7e]/.test(trimmed)) return undefined;
  const address = trimmed.toLowerCase();
  return ADDRESS.test(address) && !address.includes('..') ? address : undefined;
}
