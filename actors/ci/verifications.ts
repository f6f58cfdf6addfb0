/**
 * Verifications: a person starts, approves and rejects them. States and limits are checked inside
 * the decision, at the project's head, so that exactly one of two concurrent approvals wins.
 */
import { createHash } from 'node:crypto';
import type { CiConnectionInput } from '../../machines/ci/ci-connection.ts';
import type {
  CiObservation,
  CiVerificationContext,
  CiVerificationInput,
  ObservedClaims,
} from '../../machines/ci/ci-verification.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { displayedActor, displayedOwner, recordAccessChange } from '../identity/access-notices.ts';
import { checkDisplayName, checkReason } from '../identity/checks.ts';
import type { Committed, Draft, Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { type AssertionVerifier, defaultIssuer } from './assertion.ts';
import {
  type CiChange,
  CONNECTIONS_MAX,
  choosePermissions,
  grantsOfActive,
} from './connections.ts';

const MACHINE = 'ciVerification';

/** Maximum verifications of a project that wait for proof or review. */
export const OPEN_VERIFICATIONS_MAX = 50;

/** Makes and hashes pairing codes. `src/platform/keys.ts` defines their form. */
export interface PairingCodes {
  /** @param id of the verification that the code belongs to */
  mint(id: string): { readonly text: string; readonly hash: string };
  /** Hex SHA-256, which is stored and compared. */
  hash(text: string): string;
}

/** Dependencies of verifications; `assertions` knows the configured issuers. */
export interface VerificationsDeps {
  readonly host: Pick<Host, 'submit'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly assertions: AssertionVerifier;
  readonly codes: PairingCodes;
  readonly audienceOf: (project: string) => string;
}

/** Requests to trust a workflow of an issuer, as a service account. */
export interface StartVerification extends CiChange {
  /** Id of an active service account. */
  readonly serviceAccount: string;
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** '' = the default one. */
  readonly issuer: string;
}

/** The new verification. A resent request gets its id again, but not the code. */
export interface StartedVerification {
  /** Id, also called the setup id. */
  readonly verification: string;
  /** In the first response only. */
  readonly pairingCode?: string;
}

/** Approves exactly the reviewed claims: the digest must be that of the current observation. */
export interface ApproveVerification extends CiChange {
  readonly verification: string;
  /** '' = that of the verification. */
  readonly displayName: string;
  readonly capabilities: readonly string[];
  /** Digest of the reviewed observation. */
  readonly digest: string;
}

/** Ends a verification without a connection; `reason` is for users. */
export interface RejectVerification extends CiChange {
  readonly verification: string;
  readonly reason: string;
}

/**
 * Starts a verification, which waits for its proof until it expires. Throws a `Refusal` NOT_FOUND,
 * INVALID_FIELD, LIMIT_EXCEEDED.
 */
export async function startVerification(
  deps: VerificationsDeps,
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
      assertBelowMax(draft, MACHINE, OPEN_VERIFICATIONS_MAX);
      const input: CiVerificationInput = {
        at: draft.at,
        project,
        serviceAccount,
        displayName,
        capabilities,
        issuer,
        issuerUrl,
        audience: deps.audienceOf(project),
        codeHash: code.hash,
        createdBy: by.name,
      };
      draft.start(MACHINE, id, { ...input });
      return { verification: id };
    },
  });
  // For a resent request, the response has another id; its code was in the first response only.
  if (committed.answer.verification !== id) return committed;
  return { ...committed, answer: { verification: id, pairingCode: code.text } };
}

function issuerOf({ assertions }: VerificationsDeps, requested: string) {
  const issuer = requested === '' ? defaultIssuer(assertions) : requested;
  const issuerUrl = assertions.urlOf(issuer);
  if (issuerUrl !== undefined) return { issuer, issuerUrl };
  const names = assertions.names().join(', ') || 'none is';
  throw invalidField(
    'issuer',
    `issuer "${requested.slice(0, 100)}" is not configured here (${names}). The operator can add it to SVC_CI_ISSUERS`,
  );
}

/** Throws LIMIT_EXCEEDED if the project has `max` open ones. */
function assertBelowMax(
  draft: Draft,
  machine: 'ciVerification' | 'ciConnection',
  max: number,
): void {
  if (draft.countInstances(machine, { final: false }) < max) return;
  const what =
    machine === MACHINE
      ? `open verifications. Approve or reject one, or wait for one to expire`
      : `CI connections. Delete one first`;
  throw new Refusal('LIMIT_EXCEEDED', `The project has ${max} ${what}`, { limit: String(max) });
}

/**
 * Makes the connection from the observed claims, in the commit that ends the verification. Throws a
 * `Refusal`, also for a digest that is not that of the observation.
 */
export async function approveVerification(
  { host, clock, random }: VerificationsDeps,
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
      assertOpen(row, draft.at);
      const input = connectionInput(draft, row, request);
      assertBelowMax(draft, 'ciConnection', CONNECTIONS_MAX);
      const { capabilities, digest } = input;
      draft.start('ciConnection', connection, { ...input });
      recordNewTrust(draft, connection, input);
      draft.send(MACHINE, verification, {
        type: 'approved',
        at: draft.at,
        by: by.name,
        connection,
        capabilities,
        digest,
      });
      return { connection };
    },
  });
}

function recordNewTrust(draft: Draft, connection: string, input: CiConnectionInput): void {
  const { displayName, serviceAccount, capabilities, createdBy, bound } = input;
  const name = `projects/${draft.project}/ciConnections/${connection}`;
  const repository = bound.repository === undefined ? '' : `, of ${bound.repository}`;
  const account = `projects/${draft.project}/serviceAccounts/${serviceAccount}`;
  const text =
    `The CI connection "${displayName}" (${name})${repository} was approved by ` +
    `${displayedActor(draft, createdBy)}: for ${capabilities.join(' and ')}, as ${displayedOwner(draft, account)}`;
  recordAccessChange(draft, { about: 'ACCESS', text, isForOwners: true, member: null });
}

function connectionInput(
  draft: Draft,
  row: Instance<'ciVerification'>,
  { displayName, capabilities, digest, by }: ApproveVerification,
): CiConnectionInput {
  const context = row.context;
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
    at: draft.at,
    project,
    serviceAccount,
    issuer,
    issuerUrl,
    audience,
    bound,
    digest,
    displayName: displayName === '' ? context.displayName : displayName,
    capabilities: chosen,
    verification: row.instance,
    createdBy: by.name,
  };
}

/** The observation, if it has the reviewed digest. */
function reviewed({ observation }: CiVerificationContext, digest: string): CiObservation {
  if (observation === null) {
    throw new Refusal(
      'INVALID_STATE',
      'No workflow has proved its identity yet. Run the verification step first',
      { state: 'awaitingProof' },
    );
  }
  if (observation.digest === digest) return observation;
  if (digest === '') {
    const message = 'claimsDigest is missing: send the digest of the reviewed claims';
    throw invalidField('claimsDigest', message);
  }
  throw new Refusal(
    'INVALID_STATE',
    'The verification step has run again since the review. Read the verification, review its claims, and approve their digest',
    { state: 'observed' },
  );
}

export async function rejectVerification(
  { host }: VerificationsDeps,
  { project, by, request, verification, reason }: RejectVerification,
): Promise<Committed<Record<string, never>>> {
  checkReason(reason);
  return host.submit({
    project,
    by,
    request,
    decide(draft) {
      assertOpen(existing(draft, verification), draft.at);
      draft.send(MACHINE, verification, { type: 'rejected', at: draft.at, reason, by: by.name });
      return {};
    },
  });
}

function existing(view: Pick<ProjectView, 'instance'>, id: string): Instance<'ciVerification'> {
  const row = view.instance(MACHINE, id);
  if (row) return row;
  throw new Refusal('NOT_FOUND', `There is no verification ${id} in the project`);
}

/** Throws INVALID_STATE if the verification has ended, even before its timer has fired. */
function assertOpen(row: Instance<'ciVerification'>, nowMs: number): void {
  const { expiresMs, reason, connection } = row.context;
  const isLate = nowMs >= expiresMs;
  if (!row.final && !isLate) return;
  const endings: Readonly<Record<string, string>> = {
    approved: `was already approved, as connection ${connection}`,
    rejected: `was rejected${reason ? `: ${reason}` : ''}`,
  };
  const state = row.final ? String(row.value) : 'expired';
  const predicate = endings[state] ?? 'has expired after 30 minutes. Start a new one';
  throw new Refusal('INVALID_STATE', `The verification ${predicate}`, { state });
}

/** true while the verification accepts a proof. */
export function isAwaitingProof(row: Instance<'ciVerification'>, nowMs: number): boolean {
  return row.value === 'awaitingProof' && nowMs < row.context.expiresMs;
}

/** Throws INVALID_STATE if the verification has ended, or its code was used. */
export function assertAwaitingProof(row: Instance<'ciVerification'>, nowMs: number): void {
  assertOpen(row, nowMs);
  if (isAwaitingProof(row, nowMs)) return;
  throw new Refusal(
    'INVALID_STATE',
    'The pairing code was used. It is good for one observation, which waits for review. To have another one observed, reject this verification and start a new one',
    { state: String(row.value) },
  );
}

/**
 * Digest of an observation, hex SHA-256 of both sets of claims in canonical JSON (names sorted, no
 * white space). An approval names it, so that only the reviewed observation can be approved.
 */
export function digestOf(observed: { bound: ObservedClaims; recorded: ObservedClaims }): string {
  const text = JSON.stringify([sorted(observed.bound), sorted(observed.recorded)]);
  return createHash('sha256').update(text).digest('hex');
}

/** Pairs in the byte order of their names; a list, because JSON objects do not fix an order. */
function sorted(claims: ObservedClaims): [string, string | null][] {
  return Object.entries(claims).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
