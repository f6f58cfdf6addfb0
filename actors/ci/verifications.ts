/**
 * Verifications as a person starts, approves and rejects them. States and limits are looked at
 * inside the decision, at the project's head: of two approvals at once exactly one wins.
 */
import type { CiConnectionInput } from '../../machines/ci/ci-connection.ts';
import type {
  CiObservation,
  CiVerificationContext,
  CiVerificationInput,
} from '../../machines/ci/ci-verification.ts';
import { ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { noteAccessChange, shownActor, shownOwner } from '../identity/access-notices.ts';
import { checkDisplayName, checkReason } from '../identity/checks.ts';
import type { Committed, Draft, Instance, ProjectView } from '../platform/host/host-port.ts';
import type { KeylessCiDeps } from './deps.ts';
import { choosePermissions, grantsOfActive } from './permissions.ts';
import {
  type ApproveVerification,
  CONNECTIONS_MAX,
  OPEN_VERIFICATIONS_MAX,
  type RejectVerification,
  type StartedVerification,
  type StartVerification,
} from './port.ts';
import { usualIssuer } from './proof.ts';
import { assertWaiting, contextOf } from './verification-state.ts';

const MACHINE = 'ciVerification';

export async function startVerification(
  deps: KeylessCiDeps,
  request: StartVerification,
): Promise<Committed<StartedVerification>> {
  const { host, clock, random, codes } = deps;
  const { project, by, displayName, serviceAccount } = request;
  checkDisplayName(displayName);
  const { issuer, issuerUrl } = issuerOf(deps, request.issuer);
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
        ...{ at: draft.at, project, serviceAccount, displayName, capabilities, issuer, issuerUrl },
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

function issuerOf({ assertions }: KeylessCiDeps, asked: string) {
  const issuer = asked === '' ? usualIssuer(assertions) : asked;
  const issuerUrl = assertions.urlOf(issuer);
  if (issuerUrl !== undefined) return { issuer, issuerUrl };
  const names = assertions.names().join(', ') || 'none is';
  throw new Refusal(
    'INVALID_FIELD',
    `issuer "${asked.slice(0, 100)}" is not configured here (${names}): the operator adds it to SVC_CI_ISSUERS`,
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
      noteNewTrust(draft, connection, input);
      draft.send(MACHINE, verification, {
        ...{ type: 'approved', at: draft.at, by: by.name },
        ...{ connection, capabilities, digest },
      });
      return { connection };
    },
  });
}

function noteNewTrust(draft: Draft, connection: string, input: CiConnectionInput): void {
  const { displayName, serviceAccount, capabilities, createdBy, bound } = input;
  const name = `projects/${draft.project}/ciConnections/${connection}`;
  const repository = bound.repository === undefined ? '' : `, of ${bound.repository}`;
  const account = `projects/${draft.project}/serviceAccounts/${serviceAccount}`;
  const text =
    `The CI connection "${displayName}" (${name})${repository} was approved by ` +
    `${shownActor(draft, createdBy)}: for ${capabilities.join(' and ')}, as ${shownOwner(draft, account)}`;
  noteAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

function connectionInput(
  draft: Draft,
  row: Instance,
  { displayName, capabilities, digest, by }: ApproveVerification,
): CiConnectionInput {
  const context = contextOf(row);
  const { project, serviceAccount, issuer, issuerUrl, audience } = context;
  const { bound } = reviewed(context, digest);
  const started = choosePermissions(
    capabilities,
    context.capabilities,
    'the verification was started with',
  );
  const grants = grantsOfActive(draft, serviceAccount);
  const chosen = choosePermissions(started, grants, 'the service account may do now');
  return {
    ...{ at: draft.at, project, serviceAccount, issuer, issuerUrl, audience, bound, digest },
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
