/**
 * Requirements on a nats-server, checked with its greeting at each connection: an older one would
 * ignore options without a word, and one without JetStream looks like an election that never ends.
 */
import type { NatsConnection } from '@nats-io/transport-node';
import { StreamMisconfigured, StreamUnavailable } from '../stream.ts';

/** Oldest server with everything the adapter relies on; what Debian stable has. */
const OLDEST_SERVER = '2.10.27';

// Commits may be 256 KiB, and a message has headers beside its data.
const PAYLOAD_BYTES_MIN = 512 * 1024;

/** Throws `StreamMisconfigured` with what would do when the connected server does not. */
export function assertServer(nats: NatsConnection): void {
  const info = nats.info;
  if (info === undefined) throw new StreamUnavailable('The server sent no greeting', 'refused');
  const where = `nats-server ${info.version} at ${nats.getServer()}`;
  if (isOlder(info.version, OLDEST_SERVER)) {
    throw new StreamMisconfigured(`${where} is too old: use ${OLDEST_SERVER} or newer`);
  }
  if (info.jetstream !== true) {
    throw new StreamMisconfigured(`${where} has no JetStream: add jetstream {} to its settings`);
  }
  if (info.max_payload < PAYLOAD_BYTES_MIN) {
    throw new StreamMisconfigured(
      `${where} takes ${info.max_payload} bytes a message: set max_payload to at least ` +
        `${PAYLOAD_BYTES_MIN}`,
    );
  }
}

/** Compares `major.minor.patch`; what follows (`-beta.1`) does not count. */
export function isOlder(version: string, than: string): boolean {
  const parts = version.split(/[.+-]/).map(Number);
  for (const [i, bound] of than.split('.').map(Number).entries()) {
    const part = parts[i] ?? 0;
    if (part !== bound) return !(part > bound);
  }
  return false;
}
