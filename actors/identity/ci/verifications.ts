/**
 * Verifications: started by a person, proved by a workflow, approved by a person. Codes, states and
 * limits are looked at inside the decision, at the project's head: of guesses sent all at once no
 * more than five count, and of two approvals at once exactly one wins.
 */
import { timingSafeEqual } from 'node:crypto';
import type { CiConnectionInput } from '../../../machines/ci-connection.ts';
import type {
  CiObservation,
  CiVerificationContext,
  CiVerificationInput,
} from '../../../machines/ci-verification.ts';
import { ulid } from '../../../streams/random.ts';
import { Refusal } from '../../../streams/refusal.ts';
import type { Committed, Draft, Instance, ProjectView } from '../../host-port.ts';
import { checkDisplayName, checkReason } from '../checks.ts';
import { contextDenial } from './denial.ts';
import type { KeylessCiDeps } from './deps.ts';
import { digestOf } from './digest.ts';
import { choosePermissions, grantsOfActive } from './permissions.ts';
import {
  type ApproveVerification,
  type CheckedAssertion,
  CONNECTIONS_MAX,
  type ObservedProof,
  OPEN_VERIFICATIONS_MAX,
  type RejectVerification,
  type StartedVerification,
  type StartVerification,
  type SubmittedProof,
} from './port.ts';
import { proveIdentity, usualIssuer } from './proof.ts';
import { deniedExchange } from './refused.ts';

const MACHINE = 'ciVerification';

export async function startVerification(
  deps: KeylessCiDeps,
  request: StartVerification,
): Promise<Committed<StartedVerification>> {
  const { host, clock, random, codes } = deps;
  const { project, by, displayName, serviceAccount } = request;
  checkDisplayName(displayName);
  const issuer = issuerOf(deps, request.issuer);
  const id = ulid(clock.now(), random);
  const code = codes.mint(id);
  const committed = await host.submit({
    project,
    by,
    request: request.request,
    decide(draft) {
      const grants = grantsOfActive(draft, serviceAccount);
      const bound = 'the service account may do';
      const capabilities = choosePermissions(request.capabilities, grants, bound);
      assertRoom(draft, MACHINE, OPEN_VERIFICATIONS_MAX);
      const input: CiVerificationInput = {
        ...{ at: draft.at, project, serviceAccount, displayName, capabilities, issuer },
        ...{ audience: deps.audienceOf(project), codeHash: code.hash, createdBy: by.name },
      };
      draft.start(MACHINE, id, { ...input });
      return { verification: id };
    },
  });
  // Another id: the request had been answered before, and that code cannot be had again.
  if (committed.answer.verification !== id) return committed;
  return { ...committed, answer: { verification: id, pairingCode: code.text } };
}

function issuerOf({ assertions }: KeylessCiDeps, asked: string): string {
  const names = assertions.names();
  const issuer = asked === '' ? usualIssuer(assertions) : asked;
  if (issuer !== undefined && names.includes(issuer)) return issuer;
  throw new Refusal(
    'INVALID_FIELD',
    `issuer "${asked.slice(0, 100)}" is not configured here: ${names.join(', ') || 'none is'}`,
    { field: 'issuer' },
  );
}

/** Throws LIMIT_EXCEEDED when the project has `max` of them that are not over. */
function assertRoom(draft: Draft, machine: string, max: number): void {
  if (draft.countInstances(machine, { final: false }) < max) return;
  const what =
    machine === MACHINE
      ? `verifications waiting: approve or reject one, or wait for one to expire`
      : `CI connections: delete one first`;
  throw new Refusal('LIMIT_EXCEEDED', `The project has ${max} ${what}`, { limit: String(max) });
}

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
  const { issuer, audience } = contextOf(row);
  const checked = await proveIdentity(deps, assertion, { issuer, audience });
  const denial = contextDenial(checked.claims);
  if (denial) throw deniedExchange(denial);
  return observe(deps, row, codeHash, observationOf(checked));
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

/** Throws INVALID_STATE when it is over, whether or not its timer has run. */
function assertWaiting(row: Instance, nowMs: number): void {
  const { expiresMs, reason, connection } = contextOf(row);
  const isLate = nowMs >= expiresMs;
  if (!row.final && !isLate) return;
  const told: Readonly<Record<string, string>> = {
    approved: `was approved before, as connection ${connection}`,
    rejected: `was rejected${reason ? `: ${reason}` : ''}`,
    closed: 'was closed after too many wrong pairing codes: start a new one',
  };
  const state = row.final ? String(row.value) : 'expired';
  const sentence = told[state] ?? 'has expired after 30 minutes: start a new one';
  throw new Refusal('INVALID_STATE', `The verification ${sentence}`, { state });
}

export async function approveVerification(
  { host, clock, random }: KeylessCiDeps,
  request: ApproveVerification,
): Promise<Committed<{ readonly connection: string }>> {
  const { project, by, verification } = request;
  if (request.displayName !== '') checkDisplayName(request.displayName);
  const connection = ulid(clock.now(), random);
  return host.submit({
    project,
    by,
    request: request.request,
    decide(draft) {
      const row = existing(draft, verification);
      assertWaiting(row, draft.at);
      const input = connectionInput(draft, row, request);
      assertRoom(draft, 'ciConnection', CONNECTIONS_MAX);
      const { capabilities, digest } = input;
      draft.start('ciConnection', connection, { ...input });
      draft.send(MACHINE, verification, {
        ...{ type: 'approved', at: draft.at, by: by.name },
        ...{ connection, capabilities, digest },
      });
      return { connection };
    },
  });
}

function connectionInput(
  draft: Draft,
  row: Instance,
  { displayName, capabilities, digest, by }: ApproveVerification,
): CiConnectionInput {
  const context = contextOf(row);
  const { project, serviceAccount, issuer, audience } = context;
  const { bound } = reviewed(context, digest);
  const started = choosePermissions(
    capabilities,
    context.capabilities,
    'the verification was started with',
  );
  const grants = grantsOfActive(draft, serviceAccount);
  const chosen = choosePermissions(started, grants, 'the service account may do now');
  return {
    ...{ at: draft.at, project, serviceAccount, issuer, audience, bound, digest },
    displayName: displayName === '' ? context.displayName : displayName,
    capabilities: chosen,
    verification: row.instance,
    createdBy: by.name,
  };
}

/** The observation, if it is the one that the digest is of. */
function reviewed({ observation }: CiVerificationContext, digest: string): CiObservation {
  if (observation === null) {
    throw new Refusal(
      'INVALID_STATE',
      'No workflow has shown its identity yet: run the verification step first',
      { state: 'awaitingProof' },
    );
  }
  if (observation.digest === digest) return observation;
  if (digest === '') {
    const message = 'claimsDigest is missing: send that of the claims that were reviewed';
    throw new Refusal('INVALID_FIELD', message, { field: 'claimsDigest' });
  }
  throw new Refusal(
    'INVALID_STATE',
    'What was reviewed is not what was observed last: the verification step has run again. Read the verification anew, review its claims, and approve their digest',
    { state: 'observed' },
  );
}

export async function rejectVerification(
  { host }: KeylessCiDeps,
  { project, by, request, verification, reason }: RejectVerification,
): Promise<Committed<Record<string, never>>> {
  checkReason(reason);
  return host.submit({
    project,
    by,
    request,
    decide(draft) {
      assertWaiting(existing(draft, verification), draft.at);
      draft.send(MACHINE, verification, { type: 'rejected', at: draft.at, reason, by: by.name });
      return {};
    },
  });
}

function existing(view: Pick<ProjectView, 'instance'>, id: string): Instance {
  const row = view.instance(MACHINE, id);
  if (row) return row;
  throw new Refusal('NOT_FOUND', `There is no verification ${id} in the project`);
}

function contextOf({ context }: Instance): CiVerificationContext {
  return context as unknown as CiVerificationContext;
}
