/**
 * Commits as bytes: a line of JSON for the header, then a line for each decision. The header holds
 * the digest of every decision line, and a commit's hash is the digest of its header line alone, so
 * a decision can be dropped after its retention (its line becomes empty) and the chain still
 * verifies. Hashes are taken over the bytes as written, never over a re-encoding: a node that does
 * not know an optional field of a newer program still computes the same hash.
 */
import { createHash } from 'node:crypto';
import {
  COMMIT_BYTES_MAX,
  COMMIT_EVENTS_MAX,
  COMMIT_FORMAT,
  type Commit,
  type Decision,
} from './commit.ts';
import { assertJson } from './json.ts';

/** The part of a commit that its hash covers. Key order is that of `encodeCommit`. */
export interface CommitHeader extends Omit<Commit, 'decisions'> {
  /** Hex SHA-256 of each decision line, in order. */
  readonly digests: readonly string[];
}

/** A decision ready to be put into a commit. */
export interface EncodedDecision {
  readonly decision: Decision;
  readonly line: Buffer;
  readonly digest: string;
  /** Steps, record changes and forgotten rows, as counted by `COMMIT_EVENTS_MAX`. */
  readonly events: number;
}

/** A commit with its bytes: for appending and for applying. */
export interface EncodedCommit {
  readonly commit: Commit;
  /** The header line, without its end. */
  readonly header: string;
  /** Hex SHA-256 of the header line: the successor's `predecessor`. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Maximum size of a header line without its digests, bytes: ids and names are short. */
const HEADER_BYTES = 1024;
const DIGEST_BYTES = 67;
const NEWLINE = 0x0a;

/**
 * Encodes one decision. Throws for values that JSON would change silently (NaN, a Date). A property
 * without a value is left out, so that this node applies exactly the bytes that others read.
 */
export function encodeDecision(decided: Decision): EncodedDecision {
  const hasAbsent = assertJson(decided, 'decision');
  const text = JSON.stringify(decided);
  const decision = hasAbsent ? (JSON.parse(text) as Decision) : decided;
  const line = Buffer.from(text);
  const { steps, records, forgotten = [] } = decision;
  const events = steps.length + records.length + forgotten.length;
  return { decision, line, digest: digestOf(line), events };
}

/** Bytes that a decision adds to its commit: its line and its digest in the header. */
export function decisionBytes(encoded: EncodedDecision): number {
  return encoded.line.length + 1 + DIGEST_BYTES;
}

/** `decisionBytes` of each decision in an encoded commit, in order. */
export function decisionSizes(bytes: Uint8Array): number[] {
  return linesOf(bytes)
    .slice(1)
    .map((line) => line.length + 1 + DIGEST_BYTES);
}

/**
 * True if one more decision may join a commit that already has `events` and `bytes` of decisions.
 */
export function fitsCommit(events: number, bytes: number): boolean {
  return events <= COMMIT_EVENTS_MAX && bytes + HEADER_BYTES <= COMMIT_BYTES_MAX;
}

/**
 * Combines decisions and the rest of the header. Throws if the result exceeds `COMMIT_EVENTS_MAX`
 * or `COMMIT_BYTES_MAX`; the committer splits before that.
 */
export function encodeCommit(
  about: Omit<Commit, 'decisions' | 'format'>,
  decisions: readonly EncodedDecision[],
): EncodedCommit {
  const { id, project, number, predecessor, at, writer } = about;
  const digests = decisions.map((encoded) => encoded.digest);
  const fields = { format: COMMIT_FORMAT, id, project, number, predecessor, at, writer };
  const header = JSON.stringify({ ...fields, digests } satisfies CommitHeader);
  // A commit that readers refuse would stop every node, so this writer fails instead.
  parseHeader(header);
  const lines = decisions.flatMap((encoded) => [Buffer.of(NEWLINE), encoded.line]);
  const headerLine = Buffer.from(header);
  const bytes = Buffer.concat([headerLine, ...lines]);
  const events = decisions.reduce((sum, encoded) => sum + encoded.events, 0);
  if (events > COMMIT_EVENTS_MAX || bytes.length > COMMIT_BYTES_MAX) {
    throw new Error(
      `Commit ${id} has ${events} events and ${bytes.length} bytes, more than ` +
        `${COMMIT_EVENTS_MAX} or ${COMMIT_BYTES_MAX}: split it`,
    );
  }
  const commit = { ...fields, decisions: decisions.map((encoded) => encoded.decision) };
  return { commit, header, hash: digestOf(headerLine), bytes };
}

/** A message's checked header and its hash; ignores the decisions. */
export function decodeHeader(bytes: Uint8Array): {
  header: CommitHeader;
  text: string;
  hash: string;
} {
  const line = linesOf(bytes)[0] ?? Buffer.alloc(0);
  const text = line.toString();
  return { header: parseHeader(text), text, hash: digestOf(line) };
}

/**
 * Reads a commit and checks every decision against its digest. Unknown fields of a known format are
 * kept but have no meaning. Throws `UnknownCommitFormat` or `CommitCorrupt`.
 */
export function decodeCommit(bytes: Uint8Array): EncodedCommit {
  const { header, text, hash } = decodeHeader(bytes);
  const { digests, ...fields } = header;
  const lines = linesOf(bytes).slice(1);
  if (lines.length !== digests.length) {
    throw new CommitCorrupt(
      `Commit ${header.id} has ${lines.length} of ${digests.length} decisions`,
    );
  }
  const decisions = lines.map((line, i) => {
    if (digestOf(line) !== digests[i]) {
      throw new CommitCorrupt(`Decision ${i} of commit ${header.id} is not what was committed`);
    }
    return parseDecision(line.toString(), header.id);
  });
  return { commit: { ...fields, decisions }, header: text, hash, bytes };
}

/** Bytes of one decision as committed; undefined if absent at that place. */
export function decisionLine(bytes: Uint8Array, place: number): string | undefined {
  return linesOf(bytes)[place + 1]?.toString();
}

/** True if the line is the decision of one of these digests. */
export function isDecisionOf({ digests }: CommitHeader, line: string): boolean {
  return digests.includes(digestOf(Buffer.from(line)));
}

/**
 * Checks the rest of a commit: the remaining decisions against their digests. Throws
 * `CommitCorrupt`. @returns the header with its hash, and the number of dropped decisions
 */
export function verifyCommit(bytes: Uint8Array): {
  header: CommitHeader;
  hash: string;
  dropped: number;
} {
  const { header, hash } = decodeHeader(bytes);
  const lines = linesOf(bytes).slice(1);
  const wrong = lines.findIndex(
    (line, i) => line.length > 0 && digestOf(line) !== header.digests[i],
  );
  if (wrong >= 0 || lines.length !== header.digests.length) {
    throw new CommitCorrupt(`Commit ${header.id} does not match its digests (decision ${wrong})`);
  }
  return { header, hash, dropped: lines.filter((line) => line.length === 0).length };
}

/** The commit has a format of a newer program, so this node must not continue. */
export class UnknownCommitFormat extends Error {
  readonly format: unknown;
  constructor(format: unknown) {
    super(
      `A commit has format ${JSON.stringify(format)}, this program reads up to ${COMMIT_FORMAT}: ` +
        'run the newer program on this node',
    );
    this.name = 'UnknownCommitFormat';
    this.format = format;
  }
}

/** Bytes on the EVENTS stream that no writer of ours made, or that were changed afterwards. */
export class CommitCorrupt extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommitCorrupt';
  }
}

function parseHeader(text: string): CommitHeader {
  const header = parseObject(text, 'A commit header');
  const { format } = header;
  if (typeof format !== 'number' || !Number.isInteger(format)) {
    throw new CommitCorrupt('A commit header has no format');
  }
  if (format > COMMIT_FORMAT) throw new UnknownCommitFormat(format);
  const strings = ['id', 'project', 'predecessor', 'writer'].every(
    (field) => typeof header[field] === 'string',
  );
  const numbers = ['number', 'at'].every((field) => Number.isSafeInteger(header[field]));
  const digests =
    Array.isArray(header.digests) && header.digests.every((d) => typeof d === 'string');
  if (!strings || !numbers || !digests) {
    throw new CommitCorrupt(`A commit header lacks a field: ${text.slice(0, 200)}`);
  }
  // Checked field by field above; unknown fields of a newer program are kept.
  return header as unknown as CommitHeader;
}

function parseDecision(text: string, id: string): Decision {
  const decision = parseObject(text, `A decision of commit ${id}`);
  const lists = Array.isArray(decision.steps) && Array.isArray(decision.records);
  if (!lists || typeof decision.by !== 'object' || decision.by === null) {
    throw new CommitCorrupt(`A decision of commit ${id} lacks its author, steps or records`);
  }
  // Its digest matched, so a writer of this format made it; the shape check above is a backstop.
  return decision as unknown as Decision;
}

function parseObject(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CommitCorrupt(`${what} is not JSON`, { cause: error });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new CommitCorrupt(`${what} is not an object`);
}

/** Lines without their ends; JSON never holds a raw line feed. */
function linesOf(bytes: Uint8Array): Buffer[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines: Buffer[] = [];
  let from = 0;
  for (let end = buffer.indexOf(NEWLINE); end >= 0; end = buffer.indexOf(NEWLINE, from)) {
    lines.push(buffer.subarray(from, end));
    from = end + 1;
  }
  lines.push(buffer.subarray(from));
  return lines;
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
