/**
 * People: links that sign in once, accounts and addresses that lead to one person each. Races are
 * real: decisions of one host, submitted concurrently.
 */

import { createHash } from 'node:crypto';
import { type Test, test } from 'tap';
import { endLeaked } from '../../actors/identity/leaks.ts';
import type { IssuedLink } from '../../actors/identity/people-links.ts';
import {
  CLI_SESSION_MS,
  ROTATE_AFTER_MS,
  type StartedSession,
} from '../../actors/identity/sessions.ts';
import { mintSecret } from '../../src/platform/keys.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import {
  account,
  humanOf,
  operator,
  outcomeOf,
  type PeopleWorld,
  shop,
  startPeopleWorld,
} from '../support/people-on-host.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const peopleIn = ({ host }: PeopleWorld) =>
  host.view(SYSTEM_PROJECT).countInstances('person', { final: false });

test('a sign-in link begins one session, even if it is used ten times at once', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const link = await world.people.linkFor(operator, ann, 'operator');
  t.match(link.token, /^svc_link_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/);
  const uses = await Promise.all(
    Array.from({ length: 10 }, () => outcomeOf(() => world.use(link))),
  );
  t.equal(uses.filter((outcome) => outcome === 'accepted').length, 1);
  t.equal(uses.filter((outcome) => outcome === 'CREDENTIAL_REVOKED').length, 9);
  const sessions = world.host.view(SYSTEM_PROJECT).instances('session', { limit: 10 }).items;
  t.equal(sessions.length, 1);
  t.match(sessions[0]?.context, { person: ann, method: 'link', agent: 'test' });
});

test('a link is rejected after its lifetime, which depends on its purpose', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const lifetimes = [
    ['operator', 30 * MINUTE_MS],
    ['email', 15 * MINUTE_MS],
    ['first-start', 7 * DAY_MS],
  ] as const;
  for (const [purpose, lifetimeMs] of lifetimes) {
    const early = await world.people.linkFor(operator, ann, purpose);
    const late = await world.people.linkFor(operator, ann, purpose);
    t.equal(late.expiresMs, world.clock.now() + lifetimeMs, purpose);
    world.clock.jump(lifetimeMs - 1);
    t.equal(await outcomeOf(() => world.use(early)), 'accepted', purpose);
    world.clock.jump(1);
    t.equal(await outcomeOf(() => world.use(late)), 'CREDENTIAL_EXPIRED', purpose);
  }
});

test('an invalid link always gets the same refusal, and commits nothing', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const link = await world.people.linkFor(operator, ann, 'operator');
  const other = await world.people.linkFor(operator, ann, 'operator');
  const [, , id = '', secret = ''] = link.token.split('_');
  const before = world.host.appliedSequence();
  for (const token of [
    '',
    'svc_link_',
    link.token.slice(0, -1),
    `svc_inv_${id}_${secret}`,
    link.token.replace(id, other.token.split('_')[2] ?? ''),
    `${link.token}x`,
  ]) {
    t.equal(await outcomeOf(() => world.use({ token })), 'MALFORMED_CREDENTIAL', token);
  }
  t.equal(world.host.appliedSequence(), before);
});

test('the id of a link, an invitation or a session is useless without its secret', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  await world.project('web', ann);
  const forged = (kind: 'link' | 'inv' | 'session', id: string) =>
    mintSecret(kind, { nowMs: world.clock.now(), random: world.random, id }).text;
  const { link } = await world.people.linkFor(operator, ann, 'operator');
  const invite = {
    project: 'web',
    by: operator,
    email: 'bob@example.org',
    role: 'OWNER',
  } as const;
  const { invitation } = await world.members.invitations.invite(invite);
  for (const token of [forged('link', link), forged('inv', invitation.instance)]) {
    t.equal(await outcomeOf(() => world.use({ token })), 'MALFORMED_CREDENTIAL');
  }
  const session = await world.signedIn(ann);
  world.clock.jump(ROTATE_AFTER_MS);
  await world.people.rotate(session.session);
  t.equal(
    reasonOf(() => world.people.sessionOf(forged('session', session.session))),
    'MALFORMED_CREDENTIAL',
  );
  t.match(world.host.findInstance('session', session.session), { value: 'active' });
});

test('a link for the command line needs the verifier of its challenge (RFC 7636)', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  // The pair of RFC 7636, appendix B.
  const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
  t.equal(createHash('sha256').update(verifier).digest('base64url'), challenge);
  const { session: confirming } = await world.signedIn(ann);
  const issue = (text: string) =>
    world.people.linkFor(humanOf(ann), ann, 'cli', { challenge: text, session: confirming });
  const unconfirmed = () => world.people.linkFor(humanOf(ann), ann, 'cli');
  t.equal(await outcomeOf(unconfirmed), 'INVALID_FIELD');
  for (const bad of ['', 'plain', `${challenge}=`, verifier.slice(1)]) {
    t.equal(await outcomeOf(() => issue(bad)), 'INVALID_FIELD', bad);
  }
  const link = await issue(challenge);
  t.equal(link.expiresMs, world.clock.now() + 2 * MINUTE_MS);
  for (const wrong of [undefined, '', challenge, `${verifier}x`]) {
    const more = wrong === undefined ? {} : { verifier: wrong };
    t.equal(await outcomeOf(() => world.use(link, more)), 'MALFORMED_CREDENTIAL', String(wrong));
  }
  const session = await world.use(link, { verifier });
  t.equal(session.expiresMs, world.clock.now() + CLI_SESSION_MS);
  t.equal(world.people.sessionOf(session.secret).method, 'cli');
});

/** A code for the command line, confirmed by a new session of the person. */
async function startConfirmed(t: Test, recentMs?: number) {
  const world = await startPeopleWorld(t, undefined, recentMs);
  const ann = await world.person('ann@example.org');
  const browser = await world.signedIn(ann);
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const confirm = ({ person, session }: Pick<StartedSession, 'person' | 'session'>) =>
    world.people.linkFor(humanOf(person), person, 'cli', { challenge, session });
  const redeem = (link: IssuedLink) => outcomeOf(() => world.use(link, { verifier }));
  return { world, ann, browser, confirm, redeem };
}

test('a code for the command line ends with the session that confirmed it', async (t) => {
  const { world, ann, browser, confirm, redeem } = await startConfirmed(t);
  const { people } = world;
  const ends = [
    () => people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE'),
    (session: string) => people.endSession(session, 'SIGNED_OUT'),
    () => people.setPersonDisabled(operator, ann, 'Left'),
  ];
  const again = await world.signedIn(ann);
  const stays = await confirm(again);
  await people.endSession(browser.session, 'SIGNED_OUT');
  t.equal(await redeem(stays), 'accepted', "it is not affected by another session's end");
  for (const end of ends) {
    const session = await world.signedIn(ann);
    const code = await confirm(session);
    await end(session.session);
    t.match(world.host.findInstance('signInLink', code.link), { value: 'revoked' });
    t.not(await redeem(code), 'accepted');
    t.not(await outcomeOf(() => confirm(session)), 'accepted', 'confirmed after it had ended');
    await people.setPersonDisabled(operator, ann, null);
  }
});

test('a session begun by a code confirms no other code', async (t) => {
  const { world, ann, browser, confirm } = await startConfirmed(t);
  const derived = await world.use(await confirm(browser), { verifier: 'v'.repeat(43) });
  const refusal = await confirm(derived).catch((error: unknown) => error);
  t.match(refusal, { reason: 'HUMAN_OPERATION', message: /Sign in by a link, by mail or at/ });
  t.same(await outcomeOf(() => confirm(browser)), 'accepted');
  t.equal(world.people.sessionsOf(ann).length, 2);
});

test('a confirmed session ends with its confirmer’s revocation, not sign-out', async (t) => {
  const { world, ann, confirm } = await startConfirmed(t);
  const { people } = world;
  const key = (id: string) => ({ scope: ann, id, fingerprint: id });
  const endOwn = (session: string) =>
    people.endOwnSession({ person: ann, session, request: key(session) });
  const leak = (id: string) => {
    const hash = world.host.findInstance('session', id)?.context.hash ?? '';
    const how = { by: operator, nowMs: world.clock.now() };
    return endLeaked(world.host, { kind: 'session', id, hash }, how);
  };
  const [gone, stays] = ['CREDENTIAL_REVOKED', 'accepted'];
  for (const [name, end, expected] of [
    ['ended from the list', endOwn, gone],
    ['leaked', leak, gone],
    ['stolen', (session) => people.endSession(session, 'SECRET_REUSED'), gone],
    ['signed out', (session) => people.endSession(session, 'SIGNED_OUT'), stays],
    ['idle', (session) => people.endSession(session, 'IDLE'), stays],
  ] as const satisfies readonly [string, (session: string) => Promise<unknown>, string][]) {
    const browser = await world.signedIn(ann);
    const other = await world.signedIn(ann);
    const derived = await world.use(await confirm(browser), { verifier: 'v'.repeat(43) });
    await end(browser.session);
    const look = ({ secret }: StartedSession) => outcomeOf(() => people.sessionOf(secret));
    t.equal(await look(browser), 'CREDENTIAL_REVOKED', name);
    t.equal(await look(derived), expected, name);
    t.equal(await look(other), 'accepted', 'a session it did not confirm continues');
  }
});

test('a code confirmed while all sessions are being ended cannot be redeemed', async (t) => {
  const { world, ann, browser, confirm, redeem } = await startConfirmed(t);
  const ended = world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE');
  t.equal(await outcomeOf(() => confirm(browser)), 'CREDENTIAL_REVOKED', 'decided after');
  t.equal(await ended, 1);
  const session = await world.signedIn(ann);
  const confirming = confirm(session);
  await world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE');
  t.equal(await redeem(await confirming), 'CREDENTIAL_REVOKED', 'decided before');
  const bob = await world.signedIn(await world.person('bob@example.org'));
  const others = confirm({ person: ann, session: bob.session });
  t.equal(await outcomeOf(() => others), 'CREDENTIAL_REVOKED', "another person's session");
});

test('an expired session confirms nothing, and its code is useless', async (t) => {
  const { world, browser, confirm, redeem } = await startConfirmed(t, 0);
  world.clock.jump(browser.expiresMs - 1 - world.clock.now());
  const code = await confirm(browser);
  world.clock.jump(1);
  t.equal(await redeem(code), 'CREDENTIAL_EXPIRED');
  t.equal(await outcomeOf(() => confirm(browser)), 'CREDENTIAL_EXPIRED');
});

test('signing out everywhere ends every unused link of the person', async (t) => {
  const { world, ann } = await startConfirmed(t);
  const mailed = await world.people.linkByEmail('ann@example.org');
  const operators = await world.people.linkFor(operator, ann, 'operator');
  await world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE');
  for (const token of [mailed?.token ?? '', operators.token]) {
    t.equal(await outcomeOf(() => world.use({ token })), 'CREDENTIAL_REVOKED');
  }
});

test('a code in progress ends when the owner of its address proves it', async (t) => {
  const { world, confirm, redeem } = await startConfirmed(t);
  const { tokenTo } = await shop(world);
  const puppet = await world.use(await tokenTo('ceo@example.org'));
  const signingIn = world.people.signInByIdentity(account('ceo', 'ceo@example.org'), 'test');
  const late = outcomeOf(async () => redeem(await confirm(puppet)));
  t.equal((await signingIn).person, puppet.person);
  t.equal(await late, 'CREDENTIAL_REVOKED');
});

test('guessed links submit nothing, so they do not delay real sign-ins', async (t) => {
  let submissions = 0;
  const world = await startPeopleWorld(t, (host) => ({
    ...host,
    submit(submission) {
      submissions++;
      return host.submit(submission);
    },
  }));
  const { link } = await world.people.linkFor(
    operator,
    await world.person('ann@example.org'),
    'operator',
  );
  submissions = 0;
  for (const id of [link, 'NOSUCHLINK0000000000000000']) {
    const guess = { nowMs: world.clock.now(), random: world.random, id };
    const { text: token } = mintSecret('link', guess);
    t.equal(await outcomeOf(() => world.use({ token })), 'MALFORMED_CREDENTIAL');
  }
  t.equal(submissions, 0);
});

test('a locked-out person has no session and no link until readmitted', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const session = await world.signedIn(ann);
  const link = await world.people.linkFor(operator, ann, 'operator');
  await world.people.setPersonDisabled(operator, ann, 'left the company');
  t.equal(
    reasonOf(() => world.people.sessionOf(session.secret)),
    'CREDENTIAL_REVOKED',
  );
  t.equal(await outcomeOf(() => world.use(link)), 'CREDENTIAL_REVOKED');
  const again = () => world.people.linkFor(operator, ann, 'operator');
  t.equal(await outcomeOf(again), 'IDENTITY_DISABLED');
  t.equal(await world.people.linkByEmail('ann@example.org'), undefined);
  const oidc = () => world.people.signInByIdentity(account('ann', 'ann@example.org'), 'test');
  t.equal(await outcomeOf(oidc), 'IDENTITY_DISABLED');
  t.match(world.host.findInstance('person', ann)?.context, { disabledReason: 'left the company' });
  await world.people.setPersonDisabled(operator, ann, null);
  t.equal(await outcomeOf(again), 'accepted');
  t.equal(await outcomeOf(oidc), 'accepted');
  t.equal(
    reasonOf(() => world.people.sessionOf(session.secret)),
    'CREDENTIAL_REVOKED',
    'ended sessions stay ended',
  );
  const nobody = world.people.setPersonDisabled(operator, 'nobody', 'x');
  t.equal(await outcomeOf(() => nobody), 'NOT_FOUND');
});

test('two concurrent first sign-ins of one account create one person', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  await world.project('web', ann);
  const invite = {
    project: 'web',
    by: operator,
    email: 'New@Example.org',
    role: 'EDITOR',
  } as const;
  await world.members.invitations.invite(invite);
  const before = peopleIn(world);
  const signIns = await Promise.all(
    Array.from({ length: 5 }, () =>
      world.people.signInByIdentity(account('n-1', 'new@example.org'), 'test'),
    ),
  );
  t.equal(new Set(signIns.map(({ person }) => person)).size, 1);
  t.equal(peopleIn(world), before + 1);
  const person = signIns[0]?.person ?? '';
  t.match(world.members.placesOf(person), [{ project: 'web', role: 'EDITOR' }]);
  t.equal(world.people.personByEmail(' NEW@example.ORG '), person);
  const made = await Promise.all(Array.from({ length: 5 }, () => world.person('two@example.org')));
  t.equal(new Set(made).size, 1, 'an address leads to one person too');
  t.same(world.faults, []);
});

test('an account is recognised only by itself or by its verified address', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const signIn = (identity = account('a-1', 'ann@example.org')) =>
    world.people.signInByIdentity(identity, 'test');
  const unverified = { ...account('a-1', 'ann@example.org'), isEmailVerified: false };
  t.equal(await outcomeOf(() => signIn(unverified)), 'GRANT_REMOVED');
  t.equal(await outcomeOf(() => signIn(account('x', 'x@example.org'))), 'GRANT_REMOVED');
  t.equal((await signIn()).person, ann);
  t.equal((await signIn(unverified)).person, ann, 'later by issuer and subject');
  const moved = await signIn(account('a-1', 'ann@new.example'));
  t.equal(moved.person, ann);
  t.equal(world.people.personByEmail('ann@new.example'), ann, 'a new address is taken over');
  t.equal(world.people.personByEmail('ann@example.org'), undefined, 'the old one is released');
  t.equal(
    await outcomeOf(() => signIn(account('a-2', 'ann@new.example'))),
    'GRANT_REMOVED',
    'a later owner of the address is not the person of the account',
  );
  const bob = await world.person('bob@example.org');
  const both = await signIn(account('a-1', 'bob@example.org'));
  t.equal(both.person, ann);
  t.equal(
    world.people.personByEmail('bob@example.org'),
    bob,
    "another person's address stays theirs",
  );
});

test('links are mailed only to known addresses, and limited', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  t.equal(await world.people.linkByEmail('who@example.org'), undefined);
  t.equal(await world.people.linkByEmail('no address'), undefined);
  const first = await world.people.linkByEmail('ANN@example.org');
  t.match(first, { displayName: 'ann', expiresMs: world.clock.now() + 15 * MINUTE_MS });
  for (let more = 1; more < 5; more++) t.ok(await world.people.linkByEmail('ann@example.org'));
  const before = world.host.appliedSequence();
  t.equal(await world.people.linkByEmail('ann@example.org'), undefined);
  t.equal(world.host.appliedSequence(), before, 'further requests write nothing');
  const session = await world.use({ token: first?.token ?? '' });
  t.match(world.people.sessionOf(session.secret), { person: ann, method: 'email' });
  t.ok(await world.people.linkByEmail('ann@example.org'), 'a used one frees its slot');
});

test('commits contain no secret', async (t) => {
  const world = await startPeopleWorld(t);
  const commits: string[] = [];
  world.host.onApplied(({ commit }) => void commits.push(JSON.stringify(commit)));
  const ann = await world.person('ann@example.org');
  await world.project('web', ann);
  const link = await world.people.linkFor(operator, ann, 'operator');
  const session = await world.use(link);
  const invite = {
    project: 'web',
    by: operator,
    email: 'bob@example.org',
    role: 'VIEWER',
  } as const;
  const { token } = await world.members.invitations.invite(invite);
  const invited = await world.use({ token: token ?? '' });
  world.clock.jump(ROTATE_AFTER_MS);
  const rotated = await world.people.rotate(session.session);
  const secrets = [link.token, session.secret, token ?? '', invited.secret, rotated.secret];
  const text = commits.join('\n');
  t.ok(text.includes('signInLink'));
  for (const secret of secrets) {
    t.equal(secret.length > 60, true);
    t.notOk(text.includes(secret.slice(-49)));
  }
});
