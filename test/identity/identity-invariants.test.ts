/**
 * Invariants of every path of an identity's machine, under any order of events: secrets are used
 * once, ended access stays ended, and an approval covers exactly the reviewed claims.
 */
import { test } from 'tap';
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import {
  CI_VERIFICATION_MS,
  type CiVerificationContext,
} from '../../machines/ci/ci-verification.ts';
import type { CredentialContext } from '../../machines/identity/credential.ts';
import { INVITATION_MS, type InvitationContext } from '../../machines/identity/invitation.ts';
import type { MembershipContext } from '../../machines/identity/membership.ts';
import type { PersonContext } from '../../machines/identity/person.ts';
import type { ServiceAccountContext } from '../../machines/identity/service-account.ts';
import { GIVEN_UP_MAX, type SessionContext } from '../../machines/identity/session.ts';
import type { SignInLinkContext } from '../../machines/identity/sign-in-link.ts';
import { ENROLMENT_TOKEN_MS, type EnrolmentContext } from '../../machines/vms/enrolment.ts';
import { HOUR, START } from '../platform/machines/model.ts';
import {
  brief,
  contextOf,
  edgesOf,
  sameTimers,
  taken,
  walked,
} from '../platform/machines/questions.ts';
import type { Edge } from '../platform/machines/walk.ts';

/** The states that a machine enters from another, with the events that lead there. */
function entries(name: string): string[] {
  const moved = walked(name).edges.filter(({ from, to }) => from.value !== to.value);
  const arrows = moved.map(
    ({ from, event, to }) => `${from.value} ${short(event.type)} ${to.value}`,
  );
  return [...new Set(arrows)].sort();
}

/** `xstate.after.deadline.m.s` -> `deadline`. */
function short(type: string): string {
  return type.startsWith('xstate.after.') ? (type.split('.')[2] ?? type) : type;
}

/** Edges that changed one of these fields. */
function changing(name: string, fields: readonly string[]): Edge[] {
  return walked(name).edges.filter(({ from, to }) =>
    fields.some(
      (field) => JSON.stringify(from.context[field]) !== JSON.stringify(to.context[field]),
    ),
  );
}

test('credential: its owner, secret, permissions and end never change', async (t) => {
  const fixed = ['hash', 'lastFour', 'capabilities', 'owner', 'kind', 'expiresMs', 'createdBy'];
  t.same(brief(changing('credential', [...fixed, 'project', 'datacenter', 'vm'])), []);
  for (const { to, event } of taken(edgesOf('credential', 'rotated'))) {
    t.equal(contextOf<CredentialContext>(to).successor, event.successor);
  }
});

test('credential: it ends only by revocation, replacement or expiry', async (t) => {
  t.same(entries('credential'), [
    'active lifetimeEnd expired',
    'active revoked revoked',
    'active rotated revoked',
    'active rotated rotating',
    'rotating lifetimeEnd expired',
    'rotating overlapEnd revoked',
    'rotating revoked revoked',
    'rotating rotated revoked',
  ]);
});

test('serviceAccount: a deleted account has no permissions and never returns', async (t) => {
  t.same(entries('serviceAccount'), [
    'active deleted deleted',
    'active disabled disabled',
    'disabled deleted deleted',
    'disabled enabled active',
  ]);
  const gone = walked('serviceAccount').rows.filter(({ final }) => final);
  t.ok(gone.length > 0);
  t.ok(gone.every((row) => contextOf<ServiceAccountContext>(row).capabilities.length === 0));
});

test('serviceAccount: disabling, enabling and time grant no permission', async (t) => {
  const { edges } = walked('serviceAccount');
  const others = edges.filter(({ event }) => event.type !== 'edited');
  const grown = others.filter(({ from, to }) => {
    const before = contextOf<ServiceAccountContext>(from).capabilities;
    return contextOf<ServiceAccountContext>(to).capabilities.some((one) => !before.includes(one));
  });
  t.same(brief(grown), []);
  for (const row of walked('serviceAccount').rows) {
    const { disabledReason } = contextOf<ServiceAccountContext>(row);
    t.equal(row.value === 'active' && disabledReason !== null, false);
  }
});

test('ciVerification: only an approval of the reviewed digest approves it', async (t) => {
  const into = walked('ciVerification').edges.filter(({ from, to }) => {
    return to.value === 'approved' && from.value !== 'approved';
  });
  t.ok(into.length > 0);
  for (const { from, event } of into) {
    t.equal(from.value, 'observed');
    t.equal(event.type, 'approved');
    const { observation } = contextOf<CiVerificationContext>(from);
    t.equal(event.digest, observation?.digest);
  }
  const other = edgesOf('ciVerification', 'approved').filter(({ from, event }) => {
    return event.digest !== contextOf<CiVerificationContext>(from).observation?.digest;
  });
  t.ok(other.some(({ from }) => from.value === 'observed'));
  t.same(brief(taken(other)), [], 'an approval of anything else changes nothing');
});

test('ciVerification: the first observation is the only one until a person decides', async (t) => {
  const displayed = edgesOf('ciVerification', 'proofSubmitted');
  t.ok(displayed.some(({ from }) => from.value === 'observed'));
  t.ok(taken(displayed).length > 0);
  for (const { from, to, event } of taken(displayed)) {
    const { bound, recorded, digest, warnings } = event;
    const { observation } = contextOf<CiVerificationContext>(to);
    t.same(observation, { bound, recorded, digest, warnings });
    t.equal(from.value, 'awaitingProof');
    t.equal(to.value, 'observed');
  }
  const without = changing('ciVerification', ['observation']);
  t.ok(without.every(({ event }) => event.type === 'proofSubmitted'));
});

test('LIMIT-10: a workflow verification is valid for 30 minutes from its start', async (t) => {
  const open = walked('ciVerification').rows.filter(({ final }) => !final);
  t.ok(open.some(({ value }) => value === 'observed'));
  for (const { timers } of open) t.same([...timers.values()], [START + CI_VERIFICATION_MS]);
  t.same(brief(changing('ciVerification', ['expiresMs', 'codeHash', 'audience'])), []);
});

test('ciVerification: wrong codes never change its state', async (t) => {
  const guesses = edgesOf('ciVerification', 'wrongCodesSent').filter(({ from }) => !from.final);
  t.ok(taken(guesses).length > 0);
  for (const { from, to } of guesses) t.equal(to.value, from.value);
  for (const { from, to, event } of taken(guesses)) {
    const [before, after] = [from, to].map((row) => contextOf<CiVerificationContext>(row));
    t.equal(after?.wrongCodes, Number(before?.wrongCodes) + Number(event.codes));
  }
});

test('ciConnection: the token epoch never falls, and rises with each narrowing event', async (t) => {
  const narrowing = new Set(['disabled', 'accountDisabled', 'deleted']);
  const rises = { always: 0, never: 0 };
  for (const { from, to, event, taken } of walked('ciConnection').edges) {
    const before = contextOf<CiConnectionContext>(from).tokenEpoch;
    const after = contextOf<CiConnectionContext>(to).tokenEpoch;
    const isNarrowing =
      taken.length > 0 && (narrowing.has(event.type) || event.permissionsChanged === true);
    const isRestored = event.type === 'tokensEnded' && taken.length > 0;
    rises[isNarrowing || isRestored ? 'always' : 'never']++;
    // After a restoration it exceeds any count since the backup.
    const due = isRestored ? Math.max(before + 1, event.at) : before + (isNarrowing ? 1 : 0);
    if (after !== due) {
      t.fail(`${from.value} -- ${event.type} --> epoch ${before} to ${after}`);
    }
  }
  t.ok(rises.always > 0 && rises.never > 0);
  t.ok(
    taken(edgesOf('ciConnection', 'accountDisabled')).some(({ from }) => from.value === 'disabled'),
    'a disabled connection receives its account’s events, too',
  );
});

test('ciConnection: the approved identity never changes', async (t) => {
  const fixed = ['bound', 'issuer', 'audience', 'serviceAccount', 'verification', 'digest'];
  t.same(brief(changing('ciConnection', [...fixed, 'project', 'createdBy'])), []);
});

test('ciConnection: tokens are issued only while it is enabled', async (t) => {
  const exchanges = edgesOf('ciConnection', 'exchanged');
  t.ok(taken(exchanges).length > 0);
  t.ok(
    taken(exchanges).every(({ from, to }) => from.value === 'enabled' && to.value === 'enabled'),
  );
  t.ok(exchanges.some(({ from }) => from.value === 'disabled'));
  const enabling = walked('ciConnection').edges.filter(({ from, to }) => {
    return to.value === 'enabled' && from.value !== 'enabled';
  });
  t.ok(enabling.every(({ from, event }) => from.value === 'disabled' && event.type === 'enabled'));
});

test('membership: a removed member returns only by an invitation', async (t) => {
  t.same(entries('membership'), ['active removed removed', 'removed rejoined active']);
  const stray = edgesOf('membership', 'roleChanged').filter(({ from }) => from.value === 'removed');
  t.ok(stray.length > 0);
  t.same(brief(taken(stray)), [], 'a role given to a removed member grants nothing');
  for (const { to, event } of taken(edgesOf('membership', 'roleChanged', 'rejoined'))) {
    t.match(contextOf<MembershipContext>(to), { role: event.role, removedReason: null });
  }
  t.same(brief(changing('membership', ['person', 'project'])), []);
});

test('invitation: it is accepted once, by one person, within its time', async (t) => {
  t.same(entries('invitation'), [
    'pending accepted accepted',
    'pending lifetimeEnd expired',
    'pending revoked revoked',
  ]);
  t.same(brief(changing('invitation', ['role', 'email', 'tokenHash', 'expiresMs'])), []);
  for (const row of walked('invitation').rows) {
    const { person } = contextOf<InvitationContext>(row);
    t.equal(person !== null, row.value === 'accepted');
    const due = row.final ? [] : [START + INVITATION_MS];
    t.same([...row.timers.values()], due);
  }
});

test('person: a locked-out person changes only by being readmitted', async (t) => {
  const moved = taken(walked('person').edges.filter(({ from }) => from.value === 'disabled'));
  t.same(new Set(moved.map(({ event }) => event.type)), new Set(['enabled']));
  const lost = walked('person').edges.filter(({ from, to }) => {
    const before = contextOf<PersonContext>(from).identities;
    return contextOf<PersonContext>(to).identities.length < before.length;
  });
  t.ok(lost.length > 0);
  for (const { from, to, event } of lost) {
    t.equal(event.type, 'identityUnlinked', 'no account is lost otherwise');
    const { issuer, subject } = event;
    const rest = contextOf<PersonContext>(from).identities.filter((one) => one.subject !== subject);
    t.same(contextOf<PersonContext>(to).identities, rest, `only ${issuer} ${subject}`);
  }
});

test('signInLink: a used link stays used, by the session that it began', async (t) => {
  t.same(entries('signInLink'), [
    'issued lifetimeEnd expired',
    'issued revoked revoked',
    'issued used used',
  ]);
  const uses = edgesOf('signInLink', 'used');
  t.ok(uses.some(({ from }) => from.value === 'used'));
  for (const { from, to, event } of uses) {
    const { session } = contextOf<SignInLinkContext>(to);
    if (from.value === 'issued') t.equal(session, event.session);
    else t.equal(session, contextOf<SignInLinkContext>(from).session);
  }
  const fixed = ['person', 'tokenHash', 'expiresMs', 'challenge', 'confirmedBy'];
  t.same(brief(changing('signInLink', fixed)), []);
});

test('session: no secret outlives its absolute end, which never moves', async (t) => {
  t.same(brief(changing('session', ['expiresMs', 'person', 'method'])), []);
  const rotations = taken(edgesOf('session', 'rotated'));
  t.ok(
    rotations.some(({ event, to }) => event.at + 60_000 > contextOf<SessionContext>(to).expiresMs),
  );
  for (const { from, to, event } of rotations) {
    const before = contextOf<SessionContext>(from);
    const { hash, previous, givenUp, expiresMs } = contextOf<SessionContext>(to);
    t.equal(hash, event.hash);
    const untilMs = Math.min(event.at + 60_000, expiresMs);
    const displayed = { hash: before.hash, untilMs, isNewUnseen: true };
    const kept = before.previous?.isNewUnseen ? before.previous : displayed;
    t.same(previous, kept, 'the latest secret that was used, and no older one');
    const added = before.previous?.isNewUnseen ? [before.hash] : [];
    t.same(givenUp, [...before.givenUp, ...added], 'an unused secret is remembered');
    t.ok(sameTimers(from, to));
  }
  const sights = taken(edgesOf('session', 'secretSeen'));
  t.ok(sights.length > 0);
  for (const { from, to, event } of sights) {
    const { previous: before, hash } = contextOf<SessionContext>(from);
    const { previous, ...after } = contextOf<SessionContext>(to);
    t.equal(after.hash, hash);
    t.equal(before?.isNewUnseen, true, 'once');
    const untilMs = Math.min(event.at + 60_000, before?.untilMs ?? 0);
    t.same(
      previous,
      { hash: before?.hash, untilMs, isNewUnseen: false },
      'its end only moves earlier',
    );
    t.ok(sameTimers(from, to));
  }
  for (const { value, timers, final, context } of walked('session').rows) {
    const due = final ? [] : [START + 7 * 24 * HOUR];
    t.same([...timers.values()], due, String(value));
    if (final) t.same([context.previous, context.givenUp], [null, []]);
  }
});

test('session: it abandons at most 16 new secrets, and remembers all of them', async (t) => {
  const counts = walked('session').rows.map((row) => contextOf<SessionContext>(row).givenUp.length);
  t.equal(Math.max(...counts), GIVEN_UP_MAX);
  const rotations = edgesOf('session', 'rotated').filter(({ from }) => from.value === 'active');
  for (const { from, to } of rotations) {
    const { givenUp, previous } = contextOf<SessionContext>(from);
    const isFull = givenUp.length === GIVEN_UP_MAX && previous?.isNewUnseen === true;
    t.equal(JSON.stringify(to.context) === JSON.stringify(from.context), isFull);
  }
});

test('session: a sign-out is final', async (t) => {
  t.same(entries('session'), ['active ended ended', 'active lifetimeEnd expired']);
});

test('enrolment: a token is valid for one agent and one day', async (t) => {
  for (const row of walked('enrolment').rows) {
    const { tokenHash, expiresMs } = contextOf<EnrolmentContext>(row);
    t.equal(tokenHash !== '', row.value === 'offered', 'only an offer has a token');
    t.same([...row.timers.values()], row.value === 'offered' ? [expiresMs] : []);
  }
  for (const { to, event } of taken(edgesOf('enrolment', 'offered'))) {
    const { tokenHash, expiresMs } = contextOf<EnrolmentContext>(to);
    t.equal(tokenHash, event.tokenHash, 'a new offer ends the earlier token');
    t.equal(expiresMs, event.at + ENROLMENT_TOKEN_MS);
  }
  const enrolled = taken(edgesOf('enrolment', 'enrolled'));
  t.ok(enrolled.length > 0);
  t.ok(enrolled.every(({ from, to }) => from.value === 'offered' && to.value === 'enrolled'));
});

test('enrolment: opting out leaves no agent key', async (t) => {
  for (const row of walked('enrolment').rows) {
    const { credential } = contextOf<EnrolmentContext>(row);
    if (row.value === 'off') t.equal(credential, null);
    if (row.value === 'enrolled') t.not(credential, null);
  }
  t.same(brief(changing('enrolment', ['vm', 'project'])), []);
});
