/**
 * The proof of a verification: a pairing code, which is good for one observation, and a signed
 * identity. The identity is proved first, because it says whose try this is: wrong codes count
 * against the repository that proved itself, and against the network where nothing is proved. So
 * whoever guesses locks out themselves, and neither a shared address nor another's repository.
 *
 *   prove -> is the source locked? -> code -> still unused? -> refusal of the identity -> observe
 *
 * Whether a code is unused is looked at inside the decision, at the project's head: of two
 * submissions at once exactly one is observed.
 */
import { timingSafeEqual } from 'node:crypto';
import type { CiObservation } from '../../machines/ci/ci-verification.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Instance } from '../platform/host/host-port.ts';
import { contextDenial, issuerDenial } from './denial.ts';
import type { KeylessCiDeps } from './deps.ts';
import { digestOf } from './digest.ts';
import type { CheckedAssertion, ObservedProof, SubmittedProof } from './port.ts';
import { proveIdentity } from './proof.ts';
import { APART_MS, type RefusedExchange } from './refusal-notes.ts';
import { deniedExchange, refusedProof } from './refused.ts';
import { assertUnused, contextOf, isAwaiting } from './verification-state.ts';
import { WRONG_CODES_MAX } from './wrong-codes.ts';

const MACHINE = 'ciVerification';

export async function submitProof(
  deps: KeylessCiDeps,
  { setupId, pairingCode, assertion, network }: SubmittedProof,
): Promise<ObservedProof> {
  const row = deps.host.findInstance(MACHINE, setupId);
  const codeHash = deps.codes.hash(pairingCode);
  // Nothing is burned for a verification that takes no proof any more.
  const proof = row && isAwaiting(row, deps.clock.now()) ? await prove(deps, row, assertion) : {};
  // From here to the comparison nothing waits: of tries sent all at once no more than five count.
  assertNotLocked(deps, setupId, sourceOf(proof, network));
  if (!row || !isCodeOf(row, codeHash)) {
    deps.wrongCodes.add(setupId, sourceOf(proof, network));
    deps.countWrongCode('WRONG');
    if (row) await noteWrongCode(deps, row, codeHash);
    throw unknownCode();
  }
  assertUnused(row, deps.clock.now());
  const { checked, refusal } = proof;
  if (refusal) {
    if (refusal.reason !== 'NOT_READY') {
      await noteRefusedProof(deps, row, { codeHash, ...refusedProof(refusal) });
    }
    throw refusal;
  }
  if (!checked) throw new Error('A verification that takes proof was not proved');
  return observe(deps, row, codeHash, observationOf(checked));
}

/** What an assertion came to. */
interface Proof {
  /** Absent: no identity was proved. */
  readonly checked?: CheckedAssertion;
  /** Why it is not accepted, for whoever has the right code. */
  readonly refusal?: Refusal;
}

async function prove(deps: KeylessCiDeps, row: Instance, assertion: string): Promise<Proof> {
  const context = contextOf(row);
  try {
    const checked = await proveIdentity(deps, assertion, context);
    const denial = issuerDenial(context, checked) ?? contextDenial(checked.claims);
    return denial ? { checked, refusal: deniedExchange(denial) } : { checked };
  } catch (error) {
    if (error instanceof Refusal) return { refusal: error };
    throw error;
  }
}

/** Whose try it is: the repository that proved itself, or else the network it came from. */
function sourceOf({ checked }: Proof, network: string): string {
  if (!checked) return `network ${network}`;
  const { bound, ownerClaims } = checked.claims;
  const ids = ownerClaims.map((claim) => bound[claim] ?? null);
  return `identity ${JSON.stringify([checked.issuerUrl, ids])}`;
}

function assertNotLocked(
  { wrongCodes, countWrongCode }: KeylessCiDeps,
  setupId: string,
  source: string,
): void {
  const waitMs = wrongCodes.waitMs(setupId, source);
  if (waitMs <= 0) return;
  countWrongCode('LOCKED');
  const seconds = Math.ceil(waitMs / 1000);
  throw new Refusal(
    'TOO_MANY_REQUESTS',
    `${WRONG_CODES_MAX} wrong pairing codes came from here: for others the verification goes on. Copy the setup id and the code again, and try again in ${seconds} s`,
    { retryAfterSeconds: String(seconds) },
  );
}

/** For the reviewer, who sees nothing of the job's log. The code was right: no stranger fills it. */
async function noteRefusedProof(
  { host }: KeylessCiDeps,
  { project, instance }: Instance,
  { codeHash, code, claims }: RefusedExchange & { readonly codeHash: string },
): Promise<void> {
  await host.submit({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciVerifications/${instance}` },
    decide(draft) {
      const row = draft.instance(MACHINE, instance);
      if (!row || !isAwaiting(row, draft.at) || !isCodeOf(row, codeHash)) return;
      const { lastRefusal } = contextOf(row);
      if (lastRefusal && draft.at < lastRefusal.atMs + APART_MS) return;
      draft.send(MACHINE, instance, { type: 'proofRefused', at: draft.at, code, claims });
    },
  });
}

function observationOf({ claims }: CheckedAssertion): CiObservation {
  const { bound, recorded, warnings } = claims;
  return { bound, recorded, warnings, digest: digestOf({ bound, recorded }) };
}

async function observe(
  { host }: KeylessCiDeps,
  { project, instance }: Instance,
  codeHash: string,
  observation: CiObservation,
): Promise<ObservedProof> {
  await host.submit({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciVerifications/${instance}` },
    decide(draft) {
      const row = draft.instance(MACHINE, instance);
      if (!row || !isCodeOf(row, codeHash)) throw unknownCode();
      assertUnused(row, draft.at);
      draft.send(MACHINE, instance, { type: 'proofSubmitted', at: draft.at, ...observation });
    },
  });
  const { bound, recorded, digest } = observation;
  return { bound, recorded, digest };
}

/** For the reviewer, who should know that somebody is guessing. */
async function noteWrongCode(
  { host, wrongCodes, clock }: KeylessCiDeps,
  row: Instance,
  codeHash: string,
): Promise<void> {
  const { project, instance } = row;
  if (!isAwaiting(row, clock.now())) return;
  const codes = wrongCodes.takeForNote(instance);
  if (codes === 0) return;
  await host.submit({
    project,
    by: { kind: 'service', name: 'keyless CI' },
    decide(draft) {
      const now = draft.instance(MACHINE, instance);
      if (!now || !isAwaiting(now, draft.at) || isCodeOf(now, codeHash)) return;
      draft.send(MACHINE, instance, { type: 'wrongCodesSent', at: draft.at, codes });
    },
  });
}

/** Digests are compared, in constant time. */
function isCodeOf(row: Instance, codeHash: string): boolean {
  const stored = Buffer.from(contextOf(row).codeHash, 'hex');
  const shown = Buffer.from(codeHash, 'hex');
  return stored.length === shown.length && timingSafeEqual(stored, shown);
}

function unknownCode(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The setup id and the pairing code do not belong together: copy both again from the verification. After 5 wrong codes you have to wait for 10 minutes',
  );
}
