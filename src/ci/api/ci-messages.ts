/** Messages of keyless CI from rows: names for ids, seconds for milliseconds, no hashes. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Grants, within } from '../../../actors/identity/grants.ts';
import type {
  Instance,
  ProjectView,
  RecordedTransition,
} from '../../../actors/platform/host/host-port.ts';
import type { CiRefusedProof, ObservedClaims } from '../../../machines/ci/ci-verification.ts';
import { itemsOf } from '../../../streams/platform/commit/page.ts';
import {
  type CiClaimSchema,
  type CiConnection,
  CiConnection_State,
  CiConnectionSchema,
  type CiRefusedExchange,
  CiRefusedExchangeSchema,
  type CiVerification,
  CiVerification_State,
  CiVerificationSchema,
} from '../../gen/svc/iam/v1/automation_pb.ts';
import { unixSeconds } from '../../platform/api/message-fields.ts';
import { nameOf } from '../../platform/api/resource-name.ts';

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

/** @param nowMs decides whether it has expired, also before its timer has fired */
export function verificationMessage(
  row: Instance<'ciVerification'>,
  nowMs: number,
): CiVerification {
  const { project, instance } = row;
  const context = row.context;
  const { observation, observedMs, connection, lastRefusal } = context;
  const isLate = !row.final && nowMs >= context.expiresMs;
  return create(CiVerificationSchema, {
    name: nameOf(project, 'ciVerifications', instance),
    displayName: context.displayName,
    state: isLate ? CiVerification_State.EXPIRED : (VERIFICATION_STATES[String(row.value)] ?? 0),
    serviceAccountName: nameOf(project, 'serviceAccounts', context.serviceAccount),
    capabilities: [...context.capabilities],
    issuer: context.issuer,
    issuerUrl: context.issuerUrl,
    audience: context.audience,
    createdUnix: unixSeconds(context.createdMs),
    expiresUnix: unixSeconds(context.expiresMs),
    createdBy: context.createdBy,
    ...(observedMs !== null && { observedUnix: unixSeconds(observedMs) }),
    claims: observation === null ? [] : claimMessages(observation),
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

/** @param grants present grants of its service account */
export function connectionMessage(row: Instance<'ciConnection'>, grants: Grants): CiConnection {
  const { project, instance } = row;
  const context = row.context;
  const { lastExchangeMs } = context;
  const effective =
    row.value === 'enabled' ? within(context.capabilities, grants.capabilities) : [];
  return create(CiConnectionSchema, {
    name: nameOf(project, 'ciConnections', instance),
    displayName: context.displayName,
    state: CONNECTION_STATES[String(row.value)] ?? 0,
    serviceAccountName: nameOf(project, 'serviceAccounts', context.serviceAccount),
    capabilities: [...context.capabilities],
    effectiveCapabilities: effective,
    issuer: context.issuer,
    issuerUrl: context.issuerUrl,
    audience: context.audience,
    claims: claimMessages({ bound: context.bound, recorded: {} }),
    createdUnix: unixSeconds(context.createdMs),
    updatedUnix: unixSeconds(context.updatedMs),
    createdBy: context.createdBy,
    tokenEpoch: BigInt(context.tokenEpoch),
    ...(lastExchangeMs !== null && { lastExchangeUnix: unixSeconds(lastExchangeMs) }),
    verificationName: nameOf(project, 'ciVerifications', context.verification),
  });
}

const REFUSALS_MAX = 10;
/** Steps of a connection that are looked at for refusals: exchanges are among them. */
const LOOKED_AT_MAX = 1_000;

/** The newest notes of refused exchanges, newest first. */
export function recentRefusals(view: ProjectView, connection: string): CiRefusedExchange[] {
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
  const { correlation, codes, claims } = event;
  const named = Array.isArray(claims) ? claims : [];
  return create(CiRefusedExchangeSchema, {
    ...{ refusedUnix: unixSeconds(atMs), correlationId: String(correlation) },
    causes: Object.entries(codes ?? {}).map(([code, count]) => ({
      ...{ code, refusals: Number(count) },
    })),
    claims: named.map((claim) => ({ claim: String(claim) })),
  });
}

type ClaimMessage = MessageInitShape<typeof CiClaimSchema>;

/** Bound claims first, since they are what a reviewer approves. */
export function claimMessages(observed: {
  readonly bound: ObservedClaims;
  readonly recorded: ObservedClaims;
}): ClaimMessage[] {
  return [...listed(observed.bound, true), ...listed(observed.recorded, false)];
}

const WHY_BOUND = 'It identifies the workflow: every exchange must show the same value.';
const WHY_RECORDED = 'It may differ from job to job: it is kept for the audit, and not compared.';

/** An absent claim has no value, which differs from an empty one. */
function listed(claims: ObservedClaims, bound: boolean): ClaimMessage[] {
  return Object.entries(claims).map(([claim, value]) => ({
    ...{ claim, bound, why: bound ? WHY_BOUND : WHY_RECORDED },
    ...(value !== null && { value }),
  }));
}
