/**
 * Sessions end when they should, and not before; their secrets rotate, and the use of an old secret
 * reveals a theft.
 */

import { createHash } from 'node:crypto';
import { type Test, test } from 'tap';
import type { IssuedLink } from '../../actors/identity/people-links.ts';
import {
  CLI_SESSION_IDLE_MS,
  CLI_SESSION_MS,
  ROTATE_AFTER_MS,
  ROTATION_GRACE_MS,
  SESSION_IDLE_MS,
  SESSION_MS,
  type StartedSession,
} from '../../actors/identity/sessions.ts';
import { LINKS_MAX, SESSIONS_MAX } from '../../actors/identity/sign-ins.ts';
import { GIVEN_UP_MAX } from '../../machines/identity/session.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import { operator, outcomeOf, settle, startPeopleWorld } from '../support/people-on-host.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('a session ends absolutely after 7 days, one of the command line after 30', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const browser = await world.signedIn(ann);
  const confirmation = { challenge, session: browser.session };
  const cli = await world.people.linkFor(operator, ann, 'cli', confirmation);
  const sessions = [
    [browser, SESSION_MS, SESSION_IDLE_MS],
    [await world.use(cli, { verifier }), CLI_SESSION_MS, CLI_SESSION_IDLE_MS],
  ] as const;
  t.same([SESSION_MS, CLI_SESSION_MS], [7 * DAY_MS, 30 * DAY_MS]);
  for (const [session, lifetimeMs, idleMs] of sessions) {
    const beganMs = session.expiresMs - lifetimeMs;
    const look = () => reasonOf(() => world.people.sessionOf(session.secret));
    while (world.clock.now() < session.expiresMs - idleMs) {
      t.equal(look(), 'accepted', `${world.clock.now() - beganMs} ms old`);
      world.clock.jump(idleMs - 1);
    }
    t.equal(look(), 'accepted');
    world.clock.jump(session.expiresMs - 1 - world.clock.now());
    t.equal(look(), 'accepted');
    world.clock.jump(1);
    t.equal(look(), 'CREDENTIAL_EXPIRED');
    world.clock.jump(beganMs - world.clock.now());
  }
});

test('a session that is unused for 12 hours ends, and its end is recorded', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const [used, unused] = [await world.signedIn(ann), await world.signedIn(ann)];
  t.same([SESSION_IDLE_MS, CLI_SESSION_IDLE_MS], [12 * HOUR_MS, 7 * DAY_MS]);
  world.clock.jump(SESSION_IDLE_MS - 1);
  t.equal(
    reasonOf(() => world.people.sessionOf(used.secret)),
    'accepted',
  );
  world.clock.jump(1);
  t.equal(
    reasonOf(() => world.people.sessionOf(unused.secret)),
    'CREDENTIAL_EXPIRED',
  );
  await settle();
  t.match(world.host.findInstance('session', unused.session), {
    value: 'ended',
    context: { endedReason: 'IDLE' },
  });
  world.clock.jump(SESSION_IDLE_MS - 2);
  t.equal(
    reasonOf(() => world.people.sessionOf(used.secret)),
    'accepted',
  );
  world.seen.clear();
  world.clock.jump(2);
  t.equal(
    reasonOf(() => world.people.sessionOf(used.secret)),
    'CREDENTIAL_EXPIRED',
    'if its last use was not recorded, the last rotation of its secret counts',
  );
  t.same(world.faults, []);
});

test('the secret rotates hourly, and its predecessor works for another minute', async (t) => {
  const world = await startPeopleWorld(t);
  const first = await world.signedIn(await world.person('ann@example.org'));
  const { sessionOf, rotate } = world.people;
  t.equal(sessionOf(first.secret).isRotationDue, false);
  t.equal(await outcomeOf(() => rotate(first.session)), 'IN_PROGRESS', 'not before its time');
  world.clock.jump(ROTATE_AFTER_MS);
  t.equal(sessionOf(first.secret).isRotationDue, true);
  const all = await Promise.all(Array.from({ length: 5 }, () => rotate(first.session)));
  t.equal(new Set(all.map(({ secret }) => secret)).size, 1, 'concurrent requests get one secret');
  t.equal(await outcomeOf(() => rotate(first.session)), 'IN_PROGRESS');
  const secret = all[0]?.secret ?? '';
  t.equal(all[0]?.expiresMs, first.expiresMs, 'its absolute end stays');
  t.equal(sessionOf(secret).isRotationDue, false);
  await settle();
  world.clock.jump(ROTATION_GRACE_MS - 1);
  t.equal(sessionOf(first.secret).isRotationDue, false, 'an old secret requests no new one');
  world.clock.jump(1);
  t.equal(
    reasonOf(() => sessionOf(first.secret)),
    'CREDENTIAL_REVOKED',
  );
  await settle();
  t.match(world.host.findInstance('session', first.session), {
    value: 'ended',
    context: { endedReason: 'SECRET_REUSED' },
  });
  t.equal(
    reasonOf(() => sessionOf(secret)),
    'CREDENTIAL_REVOKED',
    'the newer secret is signed out too: one of the two users stole it',
  );
  t.same(world.faults, []);
});

/** A session whose secret was just rotated; `next`: another rotation, `look`: the outcome. */
async function startRotated(t: Test) {
  const world = await startPeopleWorld(t);
  const first = await world.signedIn(await world.person('ann@example.org'));
  const look = async (secret: string) => {
    const outcome = reasonOf(() => world.people.sessionOf(secret));
    await settle();
    return outcome;
  };
  const next = async () => (await world.people.rotate(first.session)).secret;
  world.clock.jump(ROTATE_AFTER_MS);
  const second = await next();
  return { world, first, second, look, next };
}

test('a new secret whose answer was lost ends no session', async (t) => {
  const { world, first, look, next } = await startRotated(t);
  const isDue = () => world.people.sessionOf(first.secret).isRotationDue;
  t.equal(isDue(), false, 'the answer may still be in flight');
  world.clock.jump(ROTATION_GRACE_MS);
  t.equal(isDue(), true, 'the new one was never used');
  const third = await next();
  t.equal(await look(first.secret), 'accepted', 'until the new one is used');
  t.equal(await look(third), 'accepted');
  world.clock.jump(ROTATION_GRACE_MS - 1);
  t.equal(await look(first.secret), 'accepted');
  t.equal(isDue(), false);
  world.clock.jump(1);
  t.equal(await look(first.secret), 'CREDENTIAL_REVOKED', 'reused');
  t.equal(await look(third), 'CREDENTIAL_REVOKED');
  t.same(world.faults, []);
});

test('at most one of two holders of a secret continues', async (t) => {
  const takenByThief = await startRotated(t);
  t.equal(await takenByThief.look(takenByThief.second), 'accepted', 'the thief uses the new one');
  takenByThief.world.clock.jump(ROTATION_GRACE_MS);
  const owners = await takenByThief.look(takenByThief.first.secret);
  t.equal(owners, 'CREDENTIAL_REVOKED', 'and the owner the old one');
  t.equal(await takenByThief.look(takenByThief.second), 'CREDENTIAL_REVOKED');

  const kept = await startRotated(t);
  kept.world.clock.jump(ROTATION_GRACE_MS);
  const owner = await kept.next();
  t.equal(await kept.look(owner), 'accepted');
  t.equal(await kept.look(kept.second), 'CREDENTIAL_REVOKED', 'a thief who withheld it');
  t.equal(await kept.look(owner), 'CREDENTIAL_REVOKED');

  const older = await startRotated(t);
  older.world.clock.jump(ROTATION_GRACE_MS);
  t.equal(await older.look(await older.next()), 'accepted');
  older.world.clock.jump(ROTATION_GRACE_MS);
  const old = await older.look(older.first.secret);
  t.equal(old, 'CREDENTIAL_REVOKED', 'or continues with the old one');
});

test('a thief who uses a newer secret loses it once its owner returns', async (t) => {
  for (const awayMs of [0, HOUR_MS, 5 * DAY_MS]) {
    const { world, first, second: owners, look, next } = await startRotated(t);
    world.clock.jump(ROTATION_GRACE_MS);
    t.equal(world.people.sessionOf(first.secret).isRotationDue, true, 'the owner pauses');
    let thiefs = await next();
    t.equal(await look(thiefs), 'accepted');
    for (const backMs = world.clock.now() + awayMs; world.clock.now() < backMs; ) {
      world.clock.jump(HOUR_MS);
      t.equal(await look(thiefs), 'accepted');
      thiefs = await next();
      t.equal(await look(thiefs), 'accepted');
    }
    t.equal(await look(owners), 'CREDENTIAL_REVOKED', `back after ${awayMs} ms`);
    t.match(world.host.findInstance('session', first.session), {
      value: 'ended',
      context: { endedReason: 'SECRET_REUSED' },
    });
    t.equal(await look(thiefs), 'CREDENTIAL_REVOKED');
    t.same(world.faults, []);
  }
});

test('a session abandons at most 16 new secrets, and recognises each of them', async (t) => {
  t.equal(GIVEN_UP_MAX, 16);
  for (const displayed of [0, GIVEN_UP_MAX - 1]) {
    const { world, first, second, look, next } = await startRotated(t);
    const { sessionOf } = world.people;
    const secrets = [second];
    while (secrets.length <= GIVEN_UP_MAX) {
      world.clock.jump(ROTATION_GRACE_MS);
      t.equal(sessionOf(first.secret).isRotationDue, true, `${secrets.length} of them`);
      secrets.push(await next());
    }
    world.clock.jump(HOUR_MS);
    t.equal(sessionOf(first.secret).isRotationDue, false, 'the one in use stays');
    t.equal(await outcomeOf(next), 'LIMIT_EXCEEDED');
    const newest = secrets.at(-1) ?? '';
    t.equal(await look(newest), 'accepted');
    t.equal(sessionOf(newest).isRotationDue, true, 'once used, secrets rotate as usual');
    const after = await next();
    world.clock.jump(HOUR_MS);
    t.equal(sessionOf(newest).isRotationDue, false, 'no further one is abandoned');
    t.equal(await look(after), 'accepted');
    t.equal(await look(secrets[displayed] ?? ''), 'CREDENTIAL_REVOKED');
    t.equal(await look(after), 'CREDENTIAL_REVOKED');
  }
});

test('a client that accepts no new secret is signed out like an idle session', async (t) => {
  const { world, first, look, next } = await startRotated(t);
  const rotatedMs = world.clock.now();
  while (world.clock.now() + HOUR_MS < rotatedMs + SESSION_IDLE_MS) {
    world.clock.jump(HOUR_MS);
    t.equal(await look(first.secret), 'accepted');
    await next();
  }
  world.clock.jump(HOUR_MS);
  t.equal(await look(first.secret), 'CREDENTIAL_REVOKED');
  t.match(world.host.findInstance('session', first.session), {
    context: { endedReason: 'SECRET_REUSED' },
  });
});

test('a first use during the rotation that abandons a secret ends no session', async (t) => {
  const { world, first, second, look, next } = await startRotated(t);
  world.clock.jump(ROTATION_GRACE_MS);
  const changing = next();
  t.equal(await look(second), 'accepted', 'it was the newest a moment ago');
  const third = await changing;
  world.clock.jump(ROTATION_GRACE_MS);
  t.equal(await look(first.secret), 'accepted', 'the newest is not used yet');
  t.equal(await look(third), 'accepted');
  t.equal(await look(second), 'CREDENTIAL_REVOKED', 'its second use does');
});

test('no secret rotates while its first use cannot be recorded', async (t) => {
  let isAway = false;
  const world = await startPeopleWorld(t, (host) => ({
    ...host,
    submit(submission) {
      if (!isAway) return host.submit(submission);
      isAway = false;
      return Promise.reject(new Error('the stream gives no answer'));
    },
  }));
  const first = await world.signedIn(await world.person('ann@example.org'));
  world.clock.jump(ROTATE_AFTER_MS);
  const second = await world.people.rotate(first.session);
  world.clock.jump(ROTATE_AFTER_MS);
  isAway = true;
  t.equal(world.people.sessionOf(second.secret).isRotationDue, true);
  await t.rejects(world.people.rotate(first.session), /gives no answer/);
  t.equal(world.people.sessionOf(second.secret).isRotationDue, true, 'it stays');
  t.match(world.faults, [/could not be recorded/]);
  const third = await world.people.rotate(first.session);
  t.not(third.secret, second.secret);
});

test('a rotation waits until the first use of the requesting secret is recorded', async (t) => {
  const { world, first, second, look } = await startRotated(t);
  world.clock.jump(ROTATE_AFTER_MS);
  t.equal(world.people.sessionOf(second).isRotationDue, true);
  const { secret: third } = await world.people.rotate(first.session);
  t.equal(await look(second), 'accepted', 'the requesting secret is now the previous one');
  t.equal(await look(first.secret), 'MALFORMED_CREDENTIAL');
  t.equal(await look(third), 'accepted');
});

test('ending one session, or all of a person, takes effect on the next request', async (t) => {
  const world = await startPeopleWorld(t);
  const [ann, bob] = [await world.person('ann@example.org'), await world.person('bob@example.org')];
  const sessions = [
    await world.signedIn(ann),
    await world.signedIn(ann),
    await world.signedIn(ann),
  ];
  const others = await world.signedIn(bob);
  const look = ({ secret }: { secret: string }) => reasonOf(() => world.people.sessionOf(secret));
  await world.people.endSession(sessions[0]?.session ?? '', 'SIGNED_OUT');
  t.same(sessions.map(look), ['CREDENTIAL_REVOKED', 'accepted', 'accepted']);
  t.equal(await world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE'), 2);
  t.same(
    [...sessions.map(look), look(others)],
    [...Array(3).fill('CREDENTIAL_REVOKED'), 'accepted'],
  );
  t.equal(await world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE'), 0);
  await world.people.endSession('no-such-session', 'SIGNED_OUT');
});

test('sessions and links per person are bounded: the oldest ends', async (t) => {
  const world = await startPeopleWorld(t);
  const ann = await world.person('ann@example.org');
  const sessions: StartedSession[] = [];
  for (let count = 0; count <= SESSIONS_MAX; count++) sessions.push(await world.signedIn(ann));
  const look = (secret = '') => reasonOf(() => world.people.sessionOf(secret));
  t.equal(look(sessions[0]?.secret), 'CREDENTIAL_REVOKED');
  t.same(
    sessions.slice(1).map(({ secret }) => look(secret)),
    Array(SESSIONS_MAX).fill('accepted'),
  );
  const links: IssuedLink[] = [];
  for (let count = 0; count <= LINKS_MAX; count++) {
    links.push(await world.people.linkFor(operator, ann, 'operator'));
  }
  t.equal(await outcomeOf(() => world.use({ token: links[0]?.token ?? '' })), 'CREDENTIAL_REVOKED');
  t.equal(await outcomeOf(() => world.use({ token: links[1]?.token ?? '' })), 'accepted');
  t.equal(await world.people.endAllSessions(ann, 'SIGNED_OUT_EVERYWHERE'), SESSIONS_MAX);
});

test('DUR-28: a session begun while the clock was ahead rotates its secret at once', async (t) => {
  const HOUR_MS = 3_600_000;
  const world = await startPeopleWorld(t);
  world.clock.jump(HOUR_MS);
  const first = await world.signedIn(await world.person('ann@example.org'));
  world.clock.jump(-HOUR_MS);
  const { sessionOf, rotate } = world.people;
  t.equal(sessionOf(first.secret).isRotationDue, true);
  const next = await rotate(first.session);
  t.equal(sessionOf(next.secret).isRotationDue, false);
  world.clock.jump(ROTATE_AFTER_MS);
  t.equal(sessionOf(next.secret).isRotationDue, true, 'and hourly from then on');
  t.same(world.faults, []);
});
