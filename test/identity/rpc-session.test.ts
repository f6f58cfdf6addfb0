/** A session over RPC: its secret rotates with any answer, and no client loses its session. */
import { test } from 'tap';
import { createRotateCookie } from '../../src/identity/sign-in/session-cookie.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { cookieHeaders, ORIGIN, startRpcWorld } from '../support/api-in-process.ts';

const HOUR_MS = 3_600_000;
const PROJECT = { projectName: 'projects/demo' };

/** The secret in an answer's Set-Cookie; undefined if absent. */
function newSecret({
  headers,
}: {
  headers: Readonly<Record<string, unknown>>;
}): string | undefined {
  return /^svc_session=(svc_session_[^;]+); .*HttpOnly; SameSite=Lax/.exec(
    String(headers['set-cookie'] ?? ''),
  )?.[1];
}

test('Any answer may carry a session’s new secret, once for all requests', async (t) => {
  const world = await startRpcWorld(t, ({ people, clock, log }) => {
    const metrics = createMetrics({ clock, version: 'test' });
    t.teardown(() => metrics.close());
    const rotateCookie = createRotateCookie({
      people,
      origin: () => ORIGIN,
      clock,
      log,
      metrics,
    });
    return { rotateCookie };
  });
  const person = await world.signedInAs('demo', 'OWNER');
  const list = (secret: string, request: object = PROJECT) =>
    world.call('ListMembers', request, { key: null, headers: cookieHeaders({ secret }) });
  t.equal(newSecret(await list(person.secret)), undefined, 'not at once');
  world.clock.jump(HOUR_MS);
  const answers = await Promise.all([1, 2, 3].map(() => list(person.secret)));
  const secrets = new Set(answers.map(newSecret));
  t.equal(secrets.size, 1, 'concurrent requests get the same one');
  const [second = ''] = secrets;
  t.match(second, /^svc_session_/);
  t.match(await list(person.secret), { status: 200 }, 'the old one serves requests in flight');
  t.equal(newSecret(await list(second)), undefined);
  world.clock.jump(HOUR_MS);
  const refused = await list(second, { projectName: 'demo' });
  t.match(refused, { status: 400, reason: 'INVALID_FIELD' });
  const third = newSecret(refused) ?? '';
  t.match(third, /^svc_session_/, 'a refusal delivers it too');
  t.match(await list(third), { status: 200 });
  world.clock.jump(61_000);
  t.match(await list(third), { status: 200 });
  t.match(
    await list(second),
    { status: 401, reason: 'CREDENTIAL_REVOKED' },
    'a later use of an old one is a theft',
  );
  while (world.row('session', person.session)?.value === 'active') {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  t.match(await list(third), { status: 401, reason: 'CREDENTIAL_REVOKED' }, 'and ends the session');
});
