/**
 * The text form of keys and of every other secret that the service issues: `svc_<kind>_<id>_<43
 * base62 random><6 base62 CRC32>`. The prefix lets secret scanners recognise one, the underscores
 * keep double-click selection, and the checksum rejects typing errors before any lookup. The
 * checksum is not a security control; the 256 random bits are.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type Random, ulid } from '../../streams/platform/random.ts';

/** Kinds of bearer key: personal, service account, collector, enrolled VM. */
export type KeyKind = 'pk' | 'sk' | 'col' | 'vm';

/**
 * Keys; sign-in link, invitation, session, enrolment of a VM, pairing code of a CI verification,
 * verification of a mail recipient.
 */
export type SecretKind = (typeof SECRET_KINDS)[number];

/** The kinds, by the word for them in a secret's text. */
export const SECRET_KINDS = [
  ...(['pk', 'sk', 'col', 'vm'] as const),
  ...(['link', 'inv', 'session', 'enrol', 'pair', 'verify'] as const),
] as const;

/** A new secret. `text` is shown once and never stored. */
export interface MintedSecret {
  readonly id: string;
  readonly text: string;
  /** SHA-256 of the text, hex; the stored form. */
  readonly hash: string;
  /** For display. */
  readonly lastFour: string;
}

/** A new key, under the name that credentials use. */
export type MintedKey = MintedSecret;

export interface ParsedKey {
  readonly kind: KeyKind;
  readonly id: string;
}

/** Ports of minting. `id`: id of the object that the secret opens, if it already exists. */
export interface MintingPorts {
  readonly nowMs: number;
  readonly random: Random;
  readonly id?: string;
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is just above 2^256, 62^6 above 2^32. */
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;
const FORM = /^svc_([a-z]{2,7})_([0-9A-Za-z]{1,64})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;
const KEY_KINDS: ReadonlySet<string> = new Set<KeyKind>(['pk', 'sk', 'col', 'vm']);

/**
 * A secret with 256 random bits. Its id is a ULID unless one is given (letters and digits, at most
 * 64), so that lists of them sort by age.
 */
export function mintSecret(kind: SecretKind, { nowMs, random, id }: MintingPorts): MintedSecret {
  const named = id ?? ulid(nowMs, random);
  const body = `svc_${kind}_${named}_${base62(toNumber(random.bytes(32)), RANDOM_CHARS)}`;
  const text = body + checksum(body);
  return { id: named, text, hash: hashKey(text), lastFour: text.slice(-4) };
}

/** Id in a well-formed secret of this kind; undefined when kind, form or checksum is wrong. */
export function parseSecret(kind: SecretKind, text: string): string | undefined {
  const parsed = parse(text);
  return parsed?.kind === kind ? parsed.id : undefined;
}

export function mintKey(kind: KeyKind, ports: MintingPorts): MintedKey {
  return mintSecret(kind, ports);
}

/** Kind and id of a well-formed key; undefined if it is not one, or the checksum is wrong. */
export function parseKey(text: string): ParsedKey | undefined {
  const parsed = parse(text);
  if (!parsed || !KEY_KINDS.has(parsed.kind)) return undefined;
  return { kind: parsed.kind as KeyKind, id: parsed.id };
}

/** Kind and id of any well-formed secret of ours; undefined when form or checksum is wrong. */
export function parseAnySecret(text: string): { kind: SecretKind; id: string } | undefined {
  const parsed = parse(text);
  const kind = SECRET_KINDS.find((one) => one === parsed?.kind);
  return parsed && kind && { kind, id: parsed.id };
}

function parse(text: string): { kind: string; id: string } | undefined {
  const match = FORM.exec(text);
  if (!match || checksum(text.slice(0, -CHECKSUM_CHARS)) !== match[4]) return undefined;
  return { kind: match[1] ?? '', id: match[2] ?? '' };
}

/** SHA-256 of a secret's text, hex. One round is enough: the text has 256 random bits. */
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
