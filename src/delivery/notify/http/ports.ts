/**
 * Which ports a webhook may have. Without a setting: all but those on which other protocols answer,
 * because a request's bytes could mean something to them (mail above all), and browsers refuse the
 * same ones. With `SVC_WEBHOOK_PORTS`: those alone.
 */

/** Inclusive bounds of a range of ports. */
export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** "Bad ports" of the Fetch standard (fetch.spec.whatwg.org, port blocking). */
const OTHER_PROTOCOLS: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95],
  ...[101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179],
  ...[389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601],
  ...[636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566],
  ...[6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
]);

/**
 * Why a URL must not have this port, as a sentence; undefined where it may.
 *
 * @param allowed of `SVC_WEBHOOK_PORTS`; undefined: every port but those of other protocols
 */
export function refusePort(
  port: number,
  allowed: readonly PortRange[] | undefined,
): string | undefined {
  if (allowed === undefined) {
    return OTHER_PROTOCOLS.has(port)
      ? `Port ${port} belongs to another protocol: use a port for https, such as 443`
      : undefined;
  }
  if (allowed.some(({ from, to }) => from <= port && port <= to)) return undefined;
  return `Port ${port} is not allowed here: use ${formatPorts(allowed)}`;
}

/** `443 or 8443-8445`. */
function formatPorts(ranges: readonly PortRange[]): string {
  const words = ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  return new Intl.ListFormat('en', { type: 'disjunction' }).format(words);
}
