/**
 * The proof of a verification: a pairing code and a signed identity. Codes and states are looked at
 * inside the decision, at the project's head: of guesses sent all at once no more than five count.
 */
import { timingSafeEqual } from 'node:crypto';
import type { CiObservation } from '../../../machines/ci-verification.ts';
import { Refusal } from '../../../streams/refusal.ts';
import type { Instance } from '../../host-port.ts';
import { contextDenial, issuerDenial } from './denial.ts';
import type { KeylessCiDeps } from './deps.ts';
import { digestOf } from './digest.ts';
import type { CheckedAssertion, ObservedProof, SubmittedProof } from './port.ts';
import { proveIdentity } from './proof.ts';
import { APART_MS, type RefusedExchange } from './refusal-notes.ts';
import { deniedExchange, refusedProof } from './refused.ts';
import { assertWaiting, contextOf } from './verification-state.ts';

const MACHINE = 'ciVerification';

/** A setup id without a code costs no commit; a wrong code is counted before it is answered. */
export async function submitProof(
  deps: KeylessCiDeps,
  { setupId, pairingCode, assertion }: SubmittedProof,
): Promise<ObservedProof> {
  const row = deps.host.findInstance(MACHINE, setupId);
  if (!row) throw unknownCode();
  const codeHash = deps.codes.hash(pairingCode);
  if (!isCodeOf(row, codeHash)) {
    await countWrongCode(deps, row, codeHash);
    throw unknownCode();
  }
  assertWaiting(row, deps.clock.now());
  try {
    const checked = await prove(deps, row, assertion);
    return await observe(deps, row, codeHash, observationOf(checked));
  } catch (error) {
    if (error instanceof Refusal && /^(BAD_ASSERTION|EXCHANGE_DENIED)$/.test(error.reason)) {
      await noteRefusedProof(deps, row, { codeHash, ...refusedProof(error) });
    }
    throw error;
  }
}

async function prove(
  deps: KeylessCiDeps,
  row: Instance,
  assertion: string,
): Promise<CheckedAssertion> {
  const context = contextOf(row);
  const checked = await proveIdentity(deps, assertion, context);
  const denial = issuerDenial(context, checked) ?? contextDenial(checked.claims);
  if (denial) throw deniedExchange(denial);
  return checked;
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
      if (!row || row.final || !isCodeOf(row, codeHash)) return;
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
      assertWaiting(row, draft.at);
      draft.send(MACHINE, instance, { type: 'proofSubmitted', at: draft.at, ...observation });
    },
  });
  const { bound, recorded, digest } = observation;
  return { bound, recorded, digest };
}

async function countWrongCode(
  { host }: KeylessCiDeps,
  { project, instance }: Instance,
  codeHash: string,
): Promise<void> {
  await host.submit({
    project,
    by: { kind: 'service', name: 'keyless CI' },
    decide(draft) {
      const row = draft.instance(MACHINE, instance);
      if (!row || isCodeOf(row, codeHash)) return;
      draft.send(MACHINE, instance, { type: 'wrongCode', at: draft.at });
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
    'The setup id and the pairing code do not belong together: copy both again from the verification. After 5 wrong codes it is closed, and a new one has to be started',
  );
}
