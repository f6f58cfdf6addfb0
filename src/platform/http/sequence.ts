/**
 * Read-your-writes on any node. A response to an admitted caller carries the position in EVENTS
 * that this node has applied. A request that sends the position back is answered once this node has
 * reached it. A response of `WriteSamples` also carries the position of its rows in SAMPLES. A
 * position counts the commits of the whole service, so callers get it enciphered: two tokens of one
 * position differ, and neither reveals how much happened in between. Only the service knows which
 * of several tokens is the latest, so a request may send them all.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { AppliedPosition } from '../../../actors/platform/host/applier.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { withDeadline } from '../../../streams/platform/deadline.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import type { GateCaller, ProjectGate } from '../gate/project-gate.ts';

/**
 * Header with a position token in responses to admitted callers; in their requests, a
 * comma-separated list of such tokens.
 */
export const SEQUENCE_HEADER = 'svc-sequence';
/** Purpose from which the tokens' key is derived: the same on every node of a service. */
export const SEQUENCE_PURPOSE = 'position tokens';
/** Maximum number of tokens in one request: from as many calls that ran at once. */
const TOKENS_MAX = 32;
/** Longest wait for a position that this node has not applied yet, ms. */
const SEQUENCE_WAIT_MS = 5_000;

export interface SequenceDeps {
  readonly positions: Positions;
}

export interface Positions {
  /** The token of a position, 22 characters; a new one at each call. */
  tokenOf(sequence: number): string;
  /** Token of the position that this node has applied. */
  current(): string;
  /**
   * The same, with the token of rows that were stored at this position in SAMPLES; 0 if none were.
   */
  afterWrite(samples: number): string;
  /** Position in EVENTS of a token; undefined if it was not made under this key. */
  sequenceOf(token: string): number | undefined;
  /**
   * Waits until this node has applied the last position of a list of tokens, the value of
   * `SEQUENCE_HEADER`. A text that is not a token of this service is ignored: clients keep tokens
   * across a restore or a change of the master key. For admitted callers only, because a wait holds
   * their connection. Rejects with a `Refusal` (INVALID_FIELD, NOT_READY,
   * TOO_MANY_REQUESTS), or the reason of the waiter's signal.
   */
  waitFor(list: string, waiter: PositionWaiter): Promise<void>;
}

/** A caller that waits for a position. */
export interface PositionWaiter {
  readonly caller: GateCaller;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface PositionsOptions {
  readonly host: Pick<Host, 'appliedSequence' | 'waitFor'>;
  /**
   * Position in SAMPLES up to which history has the written rows. Absent: no samples are written
   * here.
   */
  readonly samples?: Pick<AppliedPosition, 'sequence' | 'waitFor'>;
  readonly clock: Clock;
  /** Bounds how many requests of a project wait at once. */
  readonly gate: ProjectGate;
  readonly random: Random;
  /** 32 bytes, derived for `SEQUENCE_PURPOSE`. */
  readonly key: Uint8Array;
}

export function createPositions(options: PositionsOptions): Positions {
  const { host, samples } = options;
  const tokens = new TokenCipher(options);
  const applied = () => ({ log: 'events', sequence: host.appliedSequence() }) as const;
  return {
    tokenOf: (sequence) => tokens.seal({ log: 'events', sequence }),
    current: () => tokens.seal(applied()),
    afterWrite: (sequence) =>
      sequence === 0
        ? tokens.seal(applied())
        : tokens.seal(applied(), { log: 'samples', sequence }),
    sequenceOf(token) {
      const position = tokens.open(token);
      return position?.log === 'events' ? position.sequence : undefined;
    },
    async waitFor(list, waiter) {
      const { events, samples: rows } = largestOf(list.split(',', TOKENS_MAX + 1), tokens);
      const isStored = samples === undefined || samples.sequence >= rows;
      if (host.appliedSequence() >= events && isStored) return;
      const { release } = await options.gate.enter(waiter.caller, 'position', waiter.signal);
      await waitUntilReached(options, { events, samples: rows }, waiter.signal).finally(release);
    },
  };
}

/** A position in each of the two logs. */
interface Reached {
  readonly events: number;
  readonly samples: number;
}

/** Latest positions of the tokens; 0 if there is none. Throws INVALID_FIELD. */
function largestOf(list: readonly string[], tokens: TokenCipher): Reached {
  if (list.length > TOKENS_MAX) {
    const message = `${SEQUENCE_HEADER} has more than ${TOKENS_MAX} tokens: send the latest ones`;
    throw invalidField(SEQUENCE_HEADER, message);
  }
  const positions = list.flatMap((token) => tokens.open(token.trim()) ?? []);
  const largest = (of: Position['log']): number =>
    Math.max(0, ...positions.filter(({ log }) => log === of).map(({ sequence }) => sequence));
  return { events: largest('events'), samples: largest('samples') };
}

async function waitUntilReached(
  { host, samples, clock }: PositionsOptions,
  reached: Reached,
  signal: AbortSignal,
): Promise<void> {
  const reason = () =>
    new Refusal('NOT_READY', 'This node has not yet reached the requested position: try again');
  await withDeadline(clock, { ms: SEQUENCE_WAIT_MS, reason, signal }, async (ends) => {
    await host.waitFor(reached.events, ends);
    await samples?.waitFor(reached.samples, ends);
  });
}

/** A position in EVENTS or in SAMPLES. */
interface Position {
  readonly log: 'events' | 'samples';
  readonly sequence: number;
}

const NONCE_BYTES = 6;
const SEQUENCE_BYTES = 6;
const BLOCK_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{22}$/;

/** Bytes that prove a token genuine and name its log. */
const MARKS = { events: 0, samples: 1 } as const;

/**
 * One AES block: 6 random bytes, 6 bytes of position, and a mark of 4 bytes that exposes a forged
 * token (encode-then-encipher, Bellare and Rogaway 2000). One forgery in 2^31 passes, and waits 5
 * seconds in vain; a longer tag would gain nothing more. One block, because `WriteSamples` sends
 * one on its fastest path.
 */
class TokenCipher {
  readonly #random: Random;
  readonly #key: Uint8Array;
  #ciphers;

  constructor({ key, random }: Pick<PositionsOptions, 'key' | 'random'>) {
    this.#random = random;
    this.#key = key;
    this.#ciphers = ciphersOf(key);
  }

  /** A change of the master key replaces the bytes of the key. */
  get #current(): ReturnType<typeof ciphersOf> {
    if (!this.#ciphers.key.equals(this.#key)) this.#ciphers = ciphersOf(this.#key);
    return this.#ciphers;
  }

  /** The tokens, separated by commas; enciphered at once, since a call costs more than a block. */
  seal(...positions: readonly Position[]): string {
    const blocks = Buffer.alloc(positions.length * BLOCK_BYTES);
    let at = 0;
    for (const { log, sequence } of positions) {
      blocks.set(this.#random.bytes(NONCE_BYTES), at);
      blocks.writeUIntBE(sequence, at + NONCE_BYTES, SEQUENCE_BYTES);
      blocks.writeUInt32BE(MARKS[log], at + NONCE_BYTES + SEQUENCE_BYTES);
      at += BLOCK_BYTES;
    }
    const sealed = this.#current.cipher.update(blocks);
    let list = sealed.toString('base64url', 0, BLOCK_BYTES);
    for (at = BLOCK_BYTES; at < sealed.length; at += BLOCK_BYTES) {
      list += `, ${sealed.toString('base64url', at, at + BLOCK_BYTES)}`;
    }
    return list;
  }

  open(token: string): Position | undefined {
    if (!TOKEN.test(token)) return undefined;
    const block = this.#current.decipher.update(Buffer.from(token, 'base64url'));
    const mark = block.readUInt32BE(NONCE_BYTES + SEQUENCE_BYTES);
    const log = mark === MARKS.events ? 'events' : 'samples';
    if (mark !== MARKS[log]) return undefined;
    return { log, sequence: block.readUIntBE(NONCE_BYTES, SEQUENCE_BYTES) };
  }
}

function ciphersOf(key: Uint8Array) {
  return {
    key: Buffer.from(key),
    cipher: createCipheriv('aes-256-ecb', key, null).setAutoPadding(false),
    decipher: createDecipheriv('aes-256-ecb', key, null).setAutoPadding(false),
  };
}
