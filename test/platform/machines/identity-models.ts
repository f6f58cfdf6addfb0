/**
 * Models of the identity machines: keys, service accounts, CI verifications and connections, people
 * with their memberships, invitations, links and sessions, and enrolments of VMs.
 */
import type { CiConnectionContext } from '../../../machines/ci/ci-connection.ts';
import type { CiVerificationContext } from '../../../machines/ci/ci-verification.ts';
import type { CredentialContext } from '../../../machines/identity/credential.ts';
import type { InvitationContext } from '../../../machines/identity/invitation.ts';
import type { MembershipContext } from '../../../machines/identity/membership.ts';
import type { PersonContext } from '../../../machines/identity/person.ts';
import type { ServiceAccountContext } from '../../../machines/identity/service-account.ts';
import type { SessionContext } from '../../../machines/identity/session.ts';
import type { SignInLinkContext } from '../../../machines/identity/sign-in-link.ts';
import type { EnrolmentContext } from '../../../machines/vms/enrolment.ts';
import { HOUR, modelOf, START } from './model.ts';

const by = 'projects/p/members/m';
const READ = ['monitoring.read'];
const WRITE = ['monitoring.read', 'monitoring.write'];

const credential = modelOf<CredentialContext>({
  input: {
    at: START,
    project: 'p',
    kind: 'sk',
    hash: 'a'.repeat(64),
    lastFour: 'wxyz',
    capabilities: ['monitoring.read'],
    owner: 'projects/p/serviceAccounts/s',
    displayName: 'CI',
    createdBy: by,
    datacenter: null,
    vm: null,
    expiresMs: START + 90 * 24 * HOUR,
  },
  events: (context, soon) => {
    const lateMs = (context.rotatedMs ?? START) + 24 * HOUR;
    return [
      ...[soon, lateMs].flatMap((at) =>
        [0, HOUR, 48 * HOUR].map((overlapMs) => {
          return { type: 'rotated', at, successor: `key_${at}`, overlapMs, by };
        }),
      ),
      { type: 'revoked', at: soon, reason: 'LEAKED', by },
      { type: 'xstate.after.lifetimeEnd.credential.active', at: context.expiresMs },
      { type: 'xstate.after.lifetimeEnd.credential.rotating', at: context.expiresMs },
      { type: 'xstate.after.overlapEnd.credential.rotating', at: context.overlapEndsMs ?? soon },
    ];
  },
  key: ({ rotatedMs, revokedReason }) => [rotatedMs !== null, revokedReason],
});

const serviceAccount = modelOf<ServiceAccountContext>({
  input: {
    at: START,
    project: 'p',
    displayName: 'Robot',
    template: 'alert-manager',
    capabilities: WRITE,
    createdBy: by,
  },
  events: (_, at) => [
    ...[READ, WRITE, []].map((capabilities) => {
      return { type: 'edited', at, displayName: 'Robot', capabilities, by };
    }),
    { type: 'disabled', at, reason: 'Leak', by },
    { type: 'enabled', at, by },
    { type: 'keyRefused', at, key: 'k', refusals: 1, reasons: { CREDENTIAL_REVOKED: 1 } },
    { type: 'deleted', at, by },
  ],
  key: ({ capabilities }) => capabilities.length,
});

/** Claims as a workflow presents them. */
function observation(digest: string) {
  const bound = { repository_id: digest, environment: null };
  return { bound, recorded: { actor: 'ada' }, digest, warnings: [`of ${digest}`] };
}

const ciVerification = modelOf<CiVerificationContext>({
  input: {
    at: START,
    project: 'p',
    serviceAccount: 's',
    displayName: 'CI',
    capabilities: READ,
    issuer: 'github',
    issuerUrl: 'https://token.example',
    audience: 'https://svc.example.com/projects/p',
    codeHash: 'b'.repeat(64),
    createdBy: by,
  },
  events: ({ expiresMs }, at) => [
    ...['d1', 'd2'].map((digest) => ({ type: 'proofSubmitted', at, ...observation(digest) })),
    { type: 'wrongCodesSent', at, codes: 3 },
    { type: 'proofRefused', at, code: 'PULL_REQUEST', claims: ['event_name'] },
    ...['d1', 'd2', ''].map((digest) => {
      return { type: 'approved', at, connection: 'c', capabilities: READ, digest, by };
    }),
    { type: 'rejected', at, reason: 'Not ours', by },
    { type: 'xstate.after.deadline.ciVerification.awaitingProof', at: expiresMs },
    { type: 'xstate.after.deadline.ciVerification.observed', at: expiresMs },
  ],
  key: ({ wrongCodes, observation, lastRefusal }) => [
    Math.min(wrongCodes, 6),
    observation?.digest,
    lastRefusal !== null,
  ],
});

const ciConnection = modelOf<CiConnectionContext>({
  input: {
    at: START,
    project: 'p',
    serviceAccount: 's',
    displayName: 'CI',
    capabilities: WRITE,
    issuer: 'github',
    issuerUrl: 'https://token.example',
    audience: 'https://svc.example.com/projects/p',
    bound: { repository_id: '1' },
    verification: 'v',
    digest: 'd1',
    createdBy: by,
  },
  events: ({ disabledReason }, at) => [
    {
      type: 'edited',
      at,
      displayName: 'Other',
      capabilities: WRITE,
      permissionsChanged: false,
      by,
    },
    { type: 'edited', at, displayName: 'CI', capabilities: READ, permissionsChanged: true, by },
    { type: 'disabled', at, reason: disabledReason ?? 'Leak', by },
    { type: 'enabled', at, by },
    { type: 'accountDisabled', at, by },
    { type: 'exchanged', at, token: 't', expiresMs: at + HOUR / 4, recorded: { actor: 'ada' } },
    {
      type: 'exchangeRefused',
      at,
      correlation: 'x',
      codes: { DIFFERENT: 1 },
      refusals: 1,
      runs: ['123'],
      claims: ['ref'],
      differences: [{ claim: 'ref', difference: 'DIFFERENT' }],
    },
    { type: 'deleted', at, by },
    { type: 'tokensEnded', at, reason: 'RESTORED', by },
  ],
  key: ({ tokenEpoch, capabilities, lastExchangeMs, lastRefusalMs }) => [
    Math.min(3, tokenEpoch),
    capabilities.length,
    lastExchangeMs !== null,
    lastRefusalMs !== null,
  ],
});

const membership = modelOf<MembershipContext>({
  input: {
    at: START,
    project: 'p',
    person: 'ada',
    role: 'EDITOR',
    displayName: 'Ada',
    email: 'ada@example.com',
    by,
  },
  events: (_, at) => [
    ...['VIEWER', 'EDITOR', 'OWNER'].flatMap((role) => [
      { type: 'roleChanged', at, role, by },
      { type: 'rejoined', at, role, by },
    ]),
    { type: 'renamed', at, displayName: 'Ada L.', email: '' },
    { type: 'keyRefused', at, key: 'k', refusals: 1, reasons: { CREDENTIAL_REVOKED: 1 } },
    { type: 'removed', at, reason: 'LEFT', by },
  ],
  key: ({ role, displayName }) => [role, displayName],
});

const invitation = modelOf<InvitationContext>({
  input: {
    at: START,
    project: 'p',
    email: 'ada@example.com',
    role: 'EDITOR',
    tokenHash: 'c'.repeat(64),
    invitedBy: by,
  },
  events: ({ expiresMs }, at) => [
    { type: 'accepted', at, person: 'ada' },
    { type: 'revoked', at, by },
    { type: 'xstate.after.lifetimeEnd.invitation.pending', at: expiresMs },
  ],
  key: ({ person }) => person,
});

const person = modelOf<PersonContext>({
  input: { at: START, displayName: 'Ada', email: 'ada@example.com', identity: null },
  events: ({ identities }, at) => [
    {
      type: 'identityLinked',
      at,
      issuer: 'https://id.example.com',
      subject: `${identities.length}`,
    },
    { type: 'identityUnlinked', at, by, issuer: 'https://id.example.com', subject: '0' },
    { type: 'renamed', at, displayName: 'Ada L.', email: '' },
    { type: 'disabled', at, reason: 'Left', by },
    { type: 'enabled', at, by },
  ],
  key: ({ identities, displayName }) => [Math.min(2, identities.length), displayName],
});

const signInLink = modelOf<SignInLinkContext>({
  input: {
    at: START,
    person: 'ada',
    purpose: 'operator',
    tokenHash: 'd'.repeat(64),
    expiresMs: START + HOUR,
    challenge: null,
    confirmedBy: null,
  },
  events: ({ expiresMs }, at) => [
    { type: 'used', at, session: 'one' },
    { type: 'used', at, session: 'two' },
    { type: 'revoked', at, reason: 'REPLACED' },
    { type: 'xstate.after.lifetimeEnd.signInLink.issued', at: expiresMs },
  ],
  key: ({ session }) => session,
});

const session = modelOf<SessionContext>({
  input: {
    at: START,
    person: 'ada',
    method: 'oidc',
    hash: 'e'.repeat(64),
    agent: 'Browser',
    expiresMs: START + 7 * 24 * HOUR,
  },
  events: ({ expiresMs }, soon) => [
    ...[soon, expiresMs - 1000].map((at) => {
      return { type: 'rotated', at, hash: `f${at}`, graceMs: 60_000 };
    }),
    { type: 'secretSeen', at: soon, graceMs: 60_000 },
    { type: 'secretSeen', at: expiresMs - 1000, graceMs: 60_000 },
    { type: 'ended', at: soon, reason: 'SIGNED_OUT' },
    { type: 'xstate.after.lifetimeEnd.session.active', at: expiresMs },
  ],
  key: ({ previous, givenUp, expiresMs, rotatedMs }) => [
    givenUp.length,
    previous?.isNewUnseen ?? null,
    expiresMs - rotatedMs <= 1000,
  ],
});

const enrolment = modelOf<EnrolmentContext>({
  input: {
    at: START,
    project: 'p',
    vm: 'vm-1',
    datacenter: 'DC-1',
    tokenHash: 'a'.repeat(64),
    by,
  },
  events: ({ expiresMs }, at) => [
    { type: 'offered', at, tokenHash: `b${at}`, datacenter: 'DC-1', by },
    { type: 'enrolled', at, credential: `key_${at}`, system: 'Debian' },
    { type: 'unenrolled', at, by },
    { type: 'xstate.after.lifetimeEnd.enrolment.offered', at: expiresMs },
    { type: 'tokenWithdrawn', at, reason: 'RESTORED', by },
  ],
  key: ({ tokenHash, credential }) => [tokenHash !== '', credential !== null],
});

/** By machine name. */
export const identityModels = {
  credential,
  serviceAccount,
  ciVerification,
  ciConnection,
  membership,
  invitation,
  enrolment,
  person,
  signInLink,
  session,
};
