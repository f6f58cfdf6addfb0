/**
 * The randomness port. Ids, secrets and jitter take it as an argument, so that a test run is
 * repeatable from its seed and nothing below `src` calls a global generator.
 */
import { randomBytes } from 'node:crypto';

export interface Random {
  /** `length` random bytes; fit for secrets if the system generator makes them. */
  bytes(length: number): Uint8Array;
}

/**
 * The operating system's generator: fit for secrets. It is read 4 KiB at a time, because a call
 * costs more than its bytes; returned bytes are erased from the reserve.
 */
export const systemRandom: Random = reserved((length) => randomBytes(length));

const RESERVE_BYTES = 4096;

/** Small amounts from a reserve that `draw` fills; each byte is returned once. */
function reserved(draw: (length: number) => Uint8Array): Random {
  let reserve: Uint8Array = new Uint8Array();
  return {
    bytes(length) {
      if (length > RESERVE_BYTES / 16) return draw(length);
      if (reserve.length < length) reserve = draw(RESERVE_BYTES);
      const bytes = Uint8Array.from(reserve.subarray(0, length));
      reserve.fill(0, 0, length);
      reserve = reserve.subarray(length);
      return bytes;
    },
  };
}

/** A repeatable generator (mulberry32) for tests and replays. Never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
  return { bytes: (length) => Uint8Array.from({ length }, () => next() & 0xff) };
}

/** A number in [0, 1) with 32 random bits: for jitter. */
export function fraction(random: Random): number {
  const [a = 0, b = 0, c = 0, d = 0] = random.bytes(4);
  return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) / 2 ** 32;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A ULID: 48 bits of time, 80 random bits, 26 characters, sorted by time. */
export function ulid(nowMs: number, random: Random): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i++) {
    time = CROCKFORD.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  const tail = Array.from(random.bytes(16), (byte) => CROCKFORD.charAt(byte & 31));
  return time + tail.join('');
}
