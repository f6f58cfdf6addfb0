/**
 * The form of our keys: `svc_<kind>_<id>_<43 base62 random><6 base62 CRC32>`. The prefix lets
 * secret scanners recognise one, the underscores keep double-click selection, the checksum refuses
 * a typing error before anything is looked up. The checksum is no security control; the 256 random
 * bits are.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Random, ulid } from '../../streams/random.ts';

/** Personal, service account, collector, enrolled VM. */
export type KeyKind = 'pk' | 'sk' | 'col' | 'vm';

/** A new key. `text` is the secret: shown once, stored nowhere. */
export interface MintedKey {
  readonly id: string;
  readonly text: string;
  /** SHA-256 of the text, hex: what is stored. */
  readonly hash: string;
  /** For display. */
  readonly lastFour: string;
}

export interface ParsedKey {
  readonly kind: KeyKind;
  readonly id: string;
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is just above 2^256, 62^6 above 2^32. */
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;
const FORM = /^svc_(pk|sk|col|vm)_([0-9A-Za-z]{1,64})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** A key with 256 random bits; its id is a ULID, so that lists of keys are in order of age. */
export function mintKey(kind: KeyKind, ports: { nowMs: number; random: Random }): MintedKey {
  const id = ulid(ports.nowMs, ports.random);
  const secret = base62(toNumber(ports.random.bytes(32)), RANDOM_CHARS);
  const body = `svc_${kind}_${id}_${secret}`;
  const text = body + checksum(body);
  return { id, text, hash: hashKey(text), lastFour: text.slice(-4) };
}

/** Kind and id of a well-formed key; undefined when the form or the checksum is wrong. */
export function parseKey(text: string): ParsedKey | undefined {
  const match = FORM.exec(text);
  if (!match) return undefined;
  if (checksum(text.slice(0, -CHECKSUM_CHARS)) !== match[4]) return undefined;
  // The pattern admits nothing but the kinds.
  return { kind: match[1] as KeyKind, id: match[2] ?? '' };
}

/** SHA-256 of a key's text, hex. One round is enough: the text has 256 random bits. */
export function hashKey(text: string): string {
  return hash('sha256', text);
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_CHARS);
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

function base62(value: bigint, width: number): string {
  let text = '';
  for (let rest = value; text.length < width; rest /= 62n) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
  }
  return text;
}
