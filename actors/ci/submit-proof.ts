/**
 * Proof of a verification: a pairing code, good for one observation, and a signed identity. The
 * identity is verified first, because it identifies the caller: wrong codes count against the
 * repository that proved its identity, or else against the network. Guessing locks out the guesser,
 * but neither a shared address nor another repository.
 *
 *   prove -> is the source locked? -> code -> still unused? -> refusal of the identity -> observe
 *
 * The decision checks at the project's head that the code is unused, so that exactly one of two
 * concurrent submissions is observed.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { CiObservation, ObservedClaims } from '../../machines/ci/ci-verification.ts';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import {
  contextDenial,
  deniedExchange,
  issuerDenial,
  type ProofDeps,
  proveIdentity,
  refusedExchange,
  type VerifiedAssertion,
} from './assertion.ts';
import { APART_MS, type RefusedExchange } from './refusal-notes.ts';
import {
  assertAwaitingProof,
  digestOf,
  isAwaitingProof,
  type PairingCodes,
} from './verifications.ts';

const MACHINE = 'ciVerification';

/** Checks a proof, and counts wrong codes. */
export interface SubmitProofDeps extends ProofDeps {
  readonly host: Pick<Host, 'view' | 'findInstance' | 'submit'>;
  readonly clock: Clock;
  readonly codes: PairingCodes;
  readonly wrongCodes: WrongCodes;
  /** Called for each wrong pairing code, and each attempt by a locked source. */
  readonly countWrongCode: (outcome: 'WRONG' | 'LOCKED') => void;
}

/** The data that a workflow's verification step sends. */
export interface SubmittedProof {
  readonly setupId: string;
  readonly pairingCode: string;
  readonly assertion: string;
  /** Origin of the request: an IPv4 address, or an IPv6 /64 network. */
  readonly network: string;
}

/** The claims of a workflow, and the digest that an approval must name. */
export interface ObservedProof {
  /** Name of the issuer. */
  readonly issuer: string;
  readonly bound: ObservedClaims;
  readonly recorded: ObservedClaims;
  readonly digest: string;
}

/**
 * Resolves with the observation, for a person to review. Throws a `Refusal`; a wrong code, an
 * unknown setup id and a used code get the same one.
 */
export async function submitProof(
  deps: SubmitProofDeps,
  { setupId, pairingCode, assertion, network }: SubmittedProof,
): Promise<ObservedProof> {
  const row = deps.host.findInstance(MACHINE, setupId);
  const codeHash = deps.codes.hash(pairingCode);
  // A verification that no longer accepts a proof burns nothing.
  const proof =
    row && isAwaitingProof(row, deps.clock.now()) ? await prove(deps, row, assertion) : {};
  // There is no await from here to the comparison, so that at most five of several concurrent
  // attempts count.
  assertNotLocked(deps, setupId, sourceOf(proof, network));
  if (!row || !isCodeOf(row, codeHash)) {
    deps.wrongCodes.add(setupId, sourceOf(proof, network));
    deps.countWrongCode('WRONG');
    if (row) await recordWrongCode(deps, row, codeHash);
    throw unknownCode();
  }
  assertAwaitingProof(row, deps.clock.now());
  const { verified, refusal } = proof;
  if (refusal) {
    if (refusal.reason !== 'NOT_READY') {
      await recordRefusedProof(deps, row, { codeHash, ...refusedExchange(refusal) });
    }
    throw refusal;
  }
  if (!verified) throw new Error('A verification awaits proof but has none');
  return observe(deps, row, codeHash, observationOf(verified));
}

/** Outcome of an assertion. */
interface Proof {
  /** Absent if no identity was proved. */
  readonly verified?: VerifiedAssertion;
  /** The reason why it is not accepted. Only a caller with the right code sees it. */
  readonly refusal?: Refusal;
}

async function prove(
  deps: SubmitProofDeps,
  row: Instance<'ciVerification'>,
  assertion: string,
): Promise<Proof> {
  const context = row.context;
  try {
    const verified = await proveIdentity(deps, assertion, context);
    const denial = issuerDenial(context, verified) ?? contextDenial(verified.claims);
    return denial ? { verified, refusal: deniedExchange(denial) } : { verified };
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

/** Source of an attempt: the repository that proved its identity, otherwise the network. */
function sourceOf({ verified }: Proof, network: string): string {
  if (!verified) return `network ${network}`;
  const { bound, ownerClaims } = verified.claims;
  const ids = ownerClaims.map((claim) => bound[claim] ?? null);
  return `identity ${JSON.stringify([verified.issuerUrl, ids])}`;
}

function assertNotLocked(
  { wrongCodes, countWrongCode }: SubmitProofDeps,
  setupId: string,
  source: string,
): void {
  const waitMs = wrongCodes.waitMs(setupId, source);
  if (waitMs <= 0) return;
  countWrongCode('LOCKED');
  const seconds = Math.ceil(waitMs / 1000);
  throw new Refusal(
    'TOO_MANY_REQUESTS',
    `${WRONG_CODES_MAX} wrong pairing codes came from this source. Copy the setup id and the code again, and try again in ${seconds} s. The verification stays open for others`,
    { retryAfterSeconds: String(seconds) },
  );
}

/**
 * For the reviewer, who does not see the job's log. The code was right, so this is not a stranger.
 */
async function recordRefusedProof(
  { host }: SubmitProofDeps,
  { project, instance }: Instance<'ciVerification'>,
  { codeHash, code, differences }: RefusedExchange & { readonly codeHash: string },
): Promise<void> {
  await host.submit({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciVerifications/${instance}` },
    decide(draft) {
      const row = draft.instance(MACHINE, instance);
      if (!row || !isAwaitingProof(row, draft.at) || !isCodeOf(row, codeHash)) return;
      const { lastRefusal } = row.context;
      if (lastRefusal && draft.at < lastRefusal.atMs + APART_MS) return;
      const claims = differences.map(({ claim }) => claim);
      draft.send(MACHINE, instance, { type: 'proofRefused', at: draft.at, code, claims });
    },
  });
}

function observationOf({ claims }: VerifiedAssertion): CiObservation {
  const { bound, recorded, warnings } = claims;
  return { bound, recorded, warnings, digest: digestOf({ bound, recorded }) };
}

async function observe(
  { host }: SubmitProofDeps,
  row: Instance<'ciVerification'>,
  codeHash: string,
  observation: CiObservation,
): Promise<ObservedProof> {
  const { project, instance } = row;
  const { issuer } = row.context;
  await host.submit({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciVerifications/${instance}` },
    decide(draft) {
      const row = draft.instance(MACHINE, instance);
      if (!row || !isCodeOf(row, codeHash)) throw unknownCode();
      assertAwaitingProof(row, draft.at);
      draft.send(MACHINE, instance, { type: 'proofSubmitted', at: draft.at, ...observation });
    },
  });
  const { bound, recorded, digest } = observation;
  return { issuer, bound, recorded, digest };
}

/** For the reviewer, who should know that someone is guessing codes. */
async function recordWrongCode(
  { host, wrongCodes, clock }: SubmitProofDeps,
  row: Instance<'ciVerification'>,
  codeHash: string,
): Promise<void> {
  const { project, instance } = row;
  if (!isAwaitingProof(row, clock.now())) return;
  const codes = wrongCodes.takeForNote(instance);
  if (codes === 0) return;
  await host.submit({
    project,
    by: { kind: 'service', name: 'keyless CI' },
    decide(draft) {
      const now = draft.instance(MACHINE, instance);
      if (!now || !isAwaitingProof(now, draft.at) || isCodeOf(now, codeHash)) return;
      draft.send(MACHINE, instance, { type: 'wrongCodesSent', at: draft.at, codes });
    },
  });
}

/** Compares digests in constant time. */
function isCodeOf(row: Instance<'ciVerification'>, codeHash: string): boolean {
  const stored = Buffer.from(row.context.codeHash, 'hex');
  const presented = Buffer.from(codeHash, 'hex');
  return stored.length === presented.length && timingSafeEqual(stored, presented);
}

function unknownCode(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The setup id and the pairing code do not belong together. Copy both again from the verification. After 5 wrong codes, a source has to wait for 10 minutes',
  );
}

const WRONG_CODES_MAX = 5;
/** Lock after the last wrong code, ms. */
const LOCK_MS = 10 * 60_000;
/** Maximum remembered sources and verifications, each; a few MB. */
const KEPT_MAX = 10_000;

interface Attempts {
  readonly codes: number;
  /** Elapsed time, ms. */
  readonly lastMs: number;
}

interface Unnoted {
  readonly codes: number;
  readonly notedMs: number;
}

/**
 * Wrong pairing codes: five lock their source out of that verification for ten minutes, and no
 * other source. A lock of the whole verification would let a stranger end it.
 *
 * The lock only reduces noise, because the code cannot be guessed. It has 43 characters of 62, 256
 * bits. A million guesses per second make 2^31 within the 30 minutes of a verification, and succeed
 * one time in 2^225. So no bound over all sources is needed, and counts may be lost with the
 * process.
 */
export class WrongCodes {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** By verification and source. */
  readonly #attempts = new BoundedCache<string, Attempts>(KEPT_MAX);
  /** By verification. */
  readonly #unrecorded = new BoundedCache<string, Unnoted>(KEPT_MAX);

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** Wait before another attempt of the source counts, ms; 0 = none. */
  waitMs(setupId: string, source: string): number {
    const attempts = this.#attemptsOf(keyOf(setupId, source));
    if (attempts.codes < WRONG_CODES_MAX) return 0;
    return attempts.lastMs + LOCK_MS - this.#clock.elapsed();
  }

  /** Counts a wrong code. */
  add(setupId: string, source: string): void {
    const key = keyOf(setupId, source);
    const codes = this.#attemptsOf(key).codes + 1;
    this.#attempts.set(key, { codes, lastMs: this.#clock.elapsed() });
  }

  /**
   * Number of wrong codes to record now; 0 = they wait for a later note. A note is a commit, and
   * strangers must not fill the audit log, so there is one per minute.
   */
  takeForNote(verification: string): number {
    const nowMs = this.#clock.elapsed();
    const before = this.#unrecorded.get(verification);
    const codes = (before?.codes ?? 0) + 1;
    const isEarly = before !== undefined && nowMs < before.notedMs + APART_MS;
    const notedMs = isEarly ? before.notedMs : nowMs;
    this.#unrecorded.set(verification, { codes: isEarly ? codes : 0, notedMs });
    return isEarly ? 0 : codes;
  }

  #attemptsOf(key: string): Attempts {
    const nowMs = this.#clock.elapsed();
    const attempts = this.#attempts.get(key);
    return attempts && nowMs < attempts.lastMs + LOCK_MS ? attempts : { codes: 0, lastMs: nowMs };
  }
}

/** A key of fixed length, whatever a stranger sends as setup id. */
function keyOf(setupId: string, source: string): string {
  return hash('sha256', JSON.stringify([setupId, source]));
}
