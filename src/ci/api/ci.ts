/**
 * Methods of keyless CI: each reads a message, calls one function and answers. Two of them are
 * called by a CI job that has only its platform's token; these accept no Authorization header.
 */

import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { ACCESS_TOKEN_MS, type KeylessCi } from '../../../actors/ci/exchange.ts';
import { type Grants, grantsOf, within as withinGrants } from '../../../actors/identity/grants.ts';
import type {
  Host,
  Instance,
  ListOptions,
  ProjectView,
  RecordedTransition,
} from '../../../actors/platform/host/host-port.ts';
import type { CiClaimDifference } from '../../../machines/ci/ci-connection.ts';
import type { CiRefusedProof, ObservedClaims } from '../../../machines/ci/ci-verification.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { itemsOf } from '../../../streams/platform/commit/page.ts';
import { invalidField } from '../../../streams/platform/refusal.ts';
import {
  ApproveCiVerificationRequestSchema,
  type AutomationService,
  type CiClaimSchema,
  type CiConnection,
  CiConnection_State,
  CiConnectionSchema,
  type CiRefusedExchange,
  CiRefusedExchange_Claim_Difference,
  CiRefusedExchangeSchema,
  type CiVerification,
  CiVerification_State,
  CiVerificationSchema,
  DeleteCiConnectionRequestSchema,
  DisableCiConnectionRequestSchema,
  EnableCiConnectionRequestSchema,
  type ExchangeCiTokenRequest,
  RejectCiVerificationRequestSchema,
  type StartCiVerificationRequest,
  StartCiVerificationRequestSchema,
  type SubmitCiVerificationRequest,
  UpdateCiConnectionRequestSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { actorOf, requestKeyOf, within } from '../../platform/api/caller.ts';
import { accountDisplayName, personDisplayName } from '../../platform/api/display-names.ts';
import { addressKey } from '../../platform/api/gate.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { collect, findRow, listRows, mapPage } from '../../platform/api/paging.ts';
import { nameOf, parseName, parseProjectName } from '../../platform/api/resource-name.ts';
import { turnsOf } from '../../platform/api/slots.ts';
import { networkOf } from '../../platform/http/anonymous-limits.ts';
import type { IssuerKindName } from '../../platform/settings/ci-issuers.ts';
import { type ClaimMap, reasonOf } from '../claim-map.ts';
import { issuerKinds } from '../issuer-kinds.ts';
import { workflowStep } from './ci-step.ts';

export interface CiDeps {
  readonly host: Pick<Host, 'view'>;
  readonly ci: KeylessCi;
  readonly clock: Clock;
  /** Origin of the API, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Kind of platform of a configured issuer, e.g. `github`. */
  readonly issuerKind: (issuer: string) => IssuerKindName | undefined;
}

type CiMethods = Pick<
  ServiceImpl<typeof AutomationService>,
  | 'exchangeCiToken'
  | 'startCiVerification'
  | 'submitCiVerification'
  | 'getCiVerification'
  | 'listCiVerifications'
  | 'approveCiVerification'
  | 'rejectCiVerification'
  | 'listCiConnections'
  | 'getCiConnection'
  | 'updateCiConnection'
  | 'disableCiConnection'
  | 'enableCiConnection'
  | 'deleteCiConnection'
>;

export function ciMethods(deps: CiDeps): CiMethods {
  return {
    exchangeCiToken: (request, context) => exchange(deps, request, context),
    submitCiVerification: (request, context) => submitProof(deps, request, context),
    startCiVerification: (request, context) => start(deps, request, context),
    ...verificationMethods(deps),
    ...connectionMethods(deps),
  };
}

async function exchange(
  { ci }: CiDeps,
  { trustName, assertion }: ExchangeCiTokenRequest,
  context: HandlerContext,
) {
  refuseAuthorization(context);
  const { project, id } = parseName('trustName', trustName, 'ciConnections');
  checkGiven('assertion', assertion, 'the identity token that the CI platform gave to the job');
  const { accessToken } = await ci.exchange({ project, connection: id, assertion });
  forbidStoring(context);
  return {
    accessToken,
    projectName: `projects/${project}`,
    expiresInSeconds: ACCESS_TOKEN_MS / 1000,
  };
}

async function submitProof(
  deps: CiDeps,
  request: SubmitCiVerificationRequest,
  context: HandlerContext,
) {
  refuseAuthorization(context);
  const { setupId, pairingCode, assertion } = request;
  checkGiven('setupId', setupId, 'the setup id of the verification');
  checkGiven('pairingCode', pairingCode, 'the value of the secret SVC_SETUP_CODE');
  checkGiven('assertion', assertion, 'the identity token that the CI platform gave to the job');
  const network = networkOf(context.values.get(addressKey));
  const observed = await deps.ci.submitProof({ setupId, pairingCode, assertion, network });
  const claims = claimMessages(observed, claimMapOf(deps, observed.issuer));
  return { claims, claimsDigest: observed.digest };
}

/** Claim map of a configured issuer. */
function claimMapOf({ issuerKind }: CiDeps, issuer: string): ClaimMap | undefined {
  const kind = issuerKind(issuer);
  return kind && issuerKinds[kind].claims;
}

/** No cache may store a response with a secret (RFC 6749, section 5.1). */
function forbidStoring({ responseHeader }: HandlerContext): void {
  responseHeader.set('cache-control', 'no-store');
}

/** Rejects the header, because a caller would believe that an ignored one had been used. */
function refuseAuthorization({ requestHeader, method }: HandlerContext): void {
  if (!requestHeader.has('authorization')) return;
  throw invalidField(
    'Authorization',
    `${method.name} accepts no Authorization header, because the assertion is the proof. Remove the header`,
  );
}

function checkGiven(field: string, value: string, what: string): void {
  if (value.trim() !== '') return;
  throw invalidField(field, `${field} is missing: send ${what}`);
}

async function start(deps: CiDeps, request: StartCiVerificationRequest, context: HandlerContext) {
  const { ci, host } = deps;
  const named = parseName('serviceAccountName', request.serviceAccountName, 'serviceAccounts');
  const project = within(context, named.project);
  const { answer } = await ci.start({
    ...change(context, project, StartCiVerificationRequestSchema, request),
    serviceAccount: named.id,
    displayName: request.displayName,
    capabilities: request.capabilities,
    issuer: request.issuer,
  });
  const { verification: setupId, pairingCode } = answer;
  forbidStoring(context);
  const row = existing(host, project, 'ciVerification', setupId);
  const verification = verificationMessage(deps, row);
  const { audience, expiresUnix } = verification;
  return {
    verification,
    setupId,
    audience,
    expiresUnix,
    pairingCode: pairingCode ?? '',
    secretAvailable: pairingCode !== undefined,
    workflowStep: stepOf(deps, row),
  };
}

function stepOf(deps: CiDeps, { instance, context }: Instance<'ciVerification'>): string {
  const { issuer, audience } = context;
  const platform = deps.issuerKind(issuer);
  return workflowStep({ platform, audience, setupId: instance, origin: deps.publicUrl() });
}

function verificationMethods(deps: CiDeps) {
  const { ci, host } = deps;
  const read = (project: string, id: string): CiVerification =>
    verificationMessage(deps, existing(host, project, 'ciVerification', id));
  return {
    getCiVerification({ name }, context) {
      const about = { machine: 'ciVerification', name, collection: 'ciVerifications' } as const;
      const row = findRow(host, context, about);
      const message = verificationMessage(deps, row);
      const isAwaited = message.state === CiVerification_State.AWAITING_PROOF;
      if (isAwaited) message.workflowStep = stepOf(deps, row);
      return message;
    },
    async listCiVerifications(request, context) {
      const project = within(context, parseProjectName('projectName', request.projectName));
      const view = host.view(project);
      const list = (options: ListOptions) =>
        mapPage(view.instances('ciVerification', { ...options, descending: true }), (row) =>
          verificationMessage(deps, row),
        );
      const page = await collect('ciVerification', request, list, turnsOf(context));
      return { verifications: page.items, nextPageToken: page.nextPageToken };
    },
    async approveCiVerification(request, context) {
      const { project, id } = parseName('name', request.name, 'ciVerifications');
      within(context, project);
      const { answer } = await ci.approve({
        ...change(context, project, ApproveCiVerificationRequestSchema, request),
        verification: id,
        displayName: request.displayName,
        capabilities: request.capabilities,
        digest: request.claimsDigest,
      });
      return readConnection(deps, project, answer.connection);
    },
    async rejectCiVerification(request, context) {
      const { project, id } = parseName('name', request.name, 'ciVerifications');
      within(context, project);
      const about = { verification: id, reason: request.reason };
      await ci.reject({
        ...change(context, project, RejectCiVerificationRequestSchema, request),
        ...about,
      });
      return read(project, id);
    },
  } satisfies Partial<CiMethods>;
}

function connectionMethods(deps: CiDeps) {
  const { ci, host } = deps;
  const named = (context: HandlerContext, name: string) => {
    const { project, id } = parseName('name', name, 'ciConnections');
    return { project: within(context, project), id };
  };
  return {
    async listCiConnections(request, context) {
      const page = await listRows(host, context, 'ciConnection', request);
      const connections = page.items.map((row) => messageOf(deps, row));
      return { connections, nextPageToken: page.nextPageToken };
    },
    getCiConnection({ name }, context) {
      const about = { machine: 'ciConnection', name, collection: 'ciConnections' } as const;
      const row = findRow(host, context, about);
      const message = messageOf(deps, row);
      message.recentRefusals = recentRefusals(host.view(row.project), row.instance);
      return message;
    },
    async updateCiConnection(request, context) {
      const { project, id } = named(context, request.name);
      const { displayName, capabilities } = request;
      await ci.edit({
        ...change(context, project, UpdateCiConnectionRequestSchema, request),
        connection: id,
        displayName,
        capabilities: capabilities?.values,
      });
      return readConnection(deps, project, id);
    },
    async disableCiConnection(request, context) {
      const { project, id } = named(context, request.name);
      const { reason } = request;
      await ci.disable({
        ...change(context, project, DisableCiConnectionRequestSchema, request),
        connection: id,
        reason,
      });
      return readConnection(deps, project, id);
    },
    async enableCiConnection(request, context) {
      const { project, id } = named(context, request.name);
      await ci.enable({
        ...change(context, project, EnableCiConnectionRequestSchema, request),
        connection: id,
      });
      return readConnection(deps, project, id);
    },
    async deleteCiConnection(request, context) {
      const { project, id } = named(context, request.name);
      await ci.delete({
        ...change(context, project, DeleteCiConnectionRequestSchema, request),
        connection: id,
      });
      return {};
    },
  } satisfies Partial<CiMethods>;
}

/** The place, the actor, and the client's request. */
function change(
  context: HandlerContext,
  project: string,
  ...[schema, request]: RequestKeyArguments
) {
  return { project, by: actorOf(context), request: requestKeyOf(context, schema, request) };
}

type RequestKeyArguments =
  Parameters<typeof requestKeyOf> extends [unknown, ...infer Rest] ? Rest : never;

function readConnection(deps: CiDeps, project: string, id: string): CiConnection {
  return messageOf(deps, existing(deps.host, project, 'ciConnection', id));
}

function messageOf(deps: CiDeps, row: Instance<'ciConnection'>): CiConnection {
  const { serviceAccount: id } = row.context;
  const { project } = row;
  const view = deps.host.view(project);
  const grants = grantsOf(view, { project, machine: 'serviceAccount', id });
  return connectionMessage(deps.host, row, grants, claimMapOf(deps, row.context.issuer));
}

/** A row that was just committed. */
function existing<M extends 'ciVerification' | 'ciConnection'>(
  host: Pick<Host, 'view'>,
  project: string,
  machine: M,
  id: string,
): Instance<M> {
  const row = host.view(project).instance(machine, id);
  if (row) return row;
  throw new Error(`The ${machine} ${id} was committed but has no row`);
}

const VERIFICATION_STATES: Readonly<Record<string, CiVerification_State>> = {
  awaitingProof: CiVerification_State.AWAITING_PROOF,
  observed: CiVerification_State.OBSERVED,
  approved: CiVerification_State.APPROVED,
  rejected: CiVerification_State.REJECTED,
  expired: CiVerification_State.EXPIRED,
};

const CONNECTION_STATES: Readonly<Record<string, CiConnection_State>> = {
  enabled: CiConnection_State.ENABLED,
  disabled: CiConnection_State.DISABLED,
  deleted: CiConnection_State.DELETED,
};

function accountFields(view: ProjectView, account: string) {
  return {
    serviceAccountName: nameOf(view.project, 'serviceAccounts', account),
    serviceAccountDisplayName: accountDisplayName(view, account),
  };
}

function creatorFields(host: Pick<Host, 'view'>, createdBy: string) {
  return { createdBy, createdByDisplayName: personDisplayName(host, createdBy) };
}

/** @param nowMs decides whether it has expired, even before its timer fires */
function verificationMessage(deps: CiDeps, row: Instance<'ciVerification'>): CiVerification {
  const nowMs = deps.clock.now();
  const { project, instance } = row;
  const context = row.context;
  const { observation, observedMs, connection, lastRefusal } = context;
  const isLate = !row.final && nowMs >= context.expiresMs;
  return create(CiVerificationSchema, {
    name: nameOf(project, 'ciVerifications', instance),
    displayName: context.displayName,
    state: isLate ? CiVerification_State.EXPIRED : (VERIFICATION_STATES[String(row.value)] ?? 0),
    ...accountFields(deps.host.view(project), context.serviceAccount),
    capabilities: [...context.capabilities],
    issuer: context.issuer,
    issuerUrl: context.issuerUrl,
    audience: context.audience,
    createdUnix: unixSeconds(context.createdMs),
    expiresUnix: unixSeconds(context.expiresMs),
    ...creatorFields(deps.host, context.createdBy),
    ...(observedMs !== null && { observedUnix: unixSeconds(observedMs) }),
    claims:
      observation === null ? [] : claimMessages(observation, claimMapOf(deps, context.issuer)),
    claimsDigest: observation?.digest ?? '',
    warnings: [...(observation?.warnings ?? [])],
    connectionName: connection === null ? '' : nameOf(project, 'ciConnections', connection),
    wrongCodes: context.wrongCodes,
    ...(lastRefusal !== null && { lastRefusal: refusalMessage(lastRefusal) }),
  });
}

function refusalMessage({ code, atMs, claims }: CiRefusedProof) {
  return { code, refusedUnix: unixSeconds(atMs), claims: [...claims] };
}

/** @param grants current grants of its service account */
function connectionMessage(
  host: Pick<Host, 'view'>,
  row: Instance<'ciConnection'>,
  grants: Grants,
  map: ClaimMap | undefined,
): CiConnection {
  const { project, instance } = row;
  const context = row.context;
  const { lastExchangeMs, lastRefusalMs, disabledReason } = context;
  const effective =
    row.value === 'enabled' ? withinGrants(context.capabilities, grants.capabilities) : [];
  return create(CiConnectionSchema, {
    name: nameOf(project, 'ciConnections', instance),
    displayName: context.displayName,
    state: CONNECTION_STATES[String(row.value)] ?? 0,
    ...accountFields(host.view(project), context.serviceAccount),
    capabilities: [...context.capabilities],
    effectiveCapabilities: effective,
    issuer: context.issuer,
    issuerUrl: context.issuerUrl,
    audience: context.audience,
    claims: claimMessages({ bound: context.bound, recorded: {} }, map),
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
    ...creatorFields(host, context.createdBy),
    tokenEpoch: BigInt(context.tokenEpoch),
    ...(lastExchangeMs !== null && { lastExchangeUnix: unixSeconds(lastExchangeMs) }),
    ...(lastRefusalMs !== null && { lastRefusalUnix: unixSeconds(lastRefusalMs) }),
    verificationName: nameOf(project, 'ciVerifications', context.verification),
    disabledReason: disabledReason ?? '',
  });
}

const REFUSALS_MAX = 10;
/** Maximum steps of a connection that are searched for refusals, including exchanges. */
const LOOKED_AT_MAX = 1_000;

/** The newest notes of refused exchanges, newest first. */
function recentRefusals(view: ProjectView, connection: string): CiRefusedExchange[] {
  const about = { machine: 'ciConnection', instance: connection, descending: true };
  const found: CiRefusedExchange[] = [];
  let lookedAt = 0;
  for (const { event, atMs } of itemsOf(100, (page) => view.transitions({ ...page, ...about }))) {
    if (event.type === 'exchangeRefused') found.push(refusedExchange(event, atMs));
    if (found.length >= REFUSALS_MAX || ++lookedAt >= LOOKED_AT_MAX) break;
  }
  return found;
}

function refusedExchange(event: RecordedTransition['event'], atMs: number): CiRefusedExchange {
  const { correlation, codes, runs } = event;
  return create(CiRefusedExchangeSchema, {
    refusedUnix: unixSeconds(atMs),
    correlationId: String(correlation),
    causes: Object.entries(codes ?? {}).map(([code, count]) => ({
      code,
      refusals: Number(count),
    })),
    claims: differingClaims(event),
    runs: Array.isArray(runs) ? runs.map(String) : [],
  });
}

/** Only the names, for notes without the differences. */
function differingClaims({ claims, differences }: RecordedTransition['event']) {
  if (Array.isArray(differences)) {
    return (differences as CiClaimDifference[]).map(({ claim, difference }) => ({
      claim,
      difference: CiRefusedExchange_Claim_Difference[difference],
    }));
  }
  return Array.isArray(claims) ? claims.map((claim) => ({ claim: String(claim) })) : [];
}

type ClaimMessage = MessageInitShape<typeof CiClaimSchema>;

/** Bound claims first, because a reviewer approves these. */
function claimMessages(
  observed: { readonly bound: ObservedClaims; readonly recorded: ObservedClaims },
  map: ClaimMap | undefined,
): ClaimMessage[] {
  const listed = (claims: ObservedClaims, bound: boolean) =>
    Object.entries(claims).map(([claim, value]) => claimMessage(map, { claim, value, bound }));
  return [...listed(observed.bound, true), ...listed(observed.recorded, false)];
}

/** An absent claim has no value, which differs from an empty one. */
function claimMessage(
  map: ClaimMap | undefined,
  { claim, value, bound }: { claim: string; value: string | null; bound: boolean },
): ClaimMessage {
  const why = reasonOf(map, claim, { bound, present: value !== null });
  return { claim, bound, why, ...(value !== null && { value }) };
}
