/** Sessions: that they end when they should, and not before; that secrets change, and old ones tell. */
import { createHash } from 'node:crypto';
import t from 'tap';
import type { IssuedLink, StartedSession } from '../../actors/identity/people-port.ts';
import {
  CLI_SESSION_IDLE_MS,
  CLI_SESSION_MS,
  ROTATE_AFTER_MS,
  ROTATION_GRACE_MS,
  SESSION_IDLE_MS,
  SESSION_MS,
} from '../../actors/identity/sessions.ts';
import { LINKS_MAX, SESSIONS_MAX } from '../../actors/identity/sign-ins.ts';
import { reasonOf } from '../support/credential-world.ts';
import { operator, outcomeOf, settle, startPeopleWorld } from '../support/people-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

t.test('a session ends absolutely after 7 days, one of the command line after 30', async (t) => {
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

t.test('a session that nobody uses for 12 hours is over, and its end is recorded', async (t) => {
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
    'a lost note of its last use is judged from the last change of its secret',
  );
  t.same(world.faults, []);
});

t.test('the secret changes hourly, and the one before works for another minute', async (t) => {
  const world = await startPeopleWorld(t);
  const first = await world.signedIn(await world.person('ann@example.org'));
  const { sessionOf, rotate } = world.people;
  t.equal(sessionOf(first.secret).isRotationDue, false);
  t.equal(await outcomeOf(() => rotate(first.session)), 'IN_PROGRESS', 'not before its time');
  world.clock.jump(ROTATE_AFTER_MS);
  t.equal(sessionOf(first.secret).isRotationDue, true);
  const all = await Promise.all(Array.from({ length: 5 }, () => rotate(first.session)));
  t.equal(new Set(all.map(({ secret }) => secret)).size, 1, 'requests at one time get one secret');
  t.equal(await outcomeOf(() => rotate(first.session)), 'IN_PROGRESS');
  const secret = all[0]?.secret ?? '';
  t.equal(all[0]?.expiresMs, first.expiresMs, 'its absolute end stays');
  t.equal(sessionOf(secret).isRotationDue, false);
  world.clock.jump(ROTATION_GRACE_MS - 1);
  t.equal(sessionOf(first.secret).isRotationDue, false, 'an old secret asks for no new one');
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
    'whoever has the newer one is signed out too: one of the two stole it',
  );
  t.same(world.faults, []);
});

t.test('ending one session, or all of a person, acts on the next request', async (t) => {
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

t.test('sessions and links of one person are bounded: the oldest ends', async (t) => {
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
