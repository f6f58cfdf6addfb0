/**
 * A person's own sessions over RPC: they list them and end one, and cannot reach those of others.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { ORIGIN, startRpcWorld } from '../support/api-in-process.ts';

const IAM = '/svc.project.v1.ProjectService/';

test('a person lists their sessions and ends one; its open answers end with it', async (t) => {
  const world = await startRpcWorld(t);
  const { send, authenticator, people, clock } = world;
  const ann = await world.signedInAs('demo', 'OWNER');
  const eve = await world.signedInAs('demo', 'OWNER');
  const by = { kind: 'human', name: `people/${ann.person}` } as const;
  const link = await people.linkFor(by, ann.person, 'operator');
  const phone = await people.signInByLink({ token: link.token, agent: 'Phone/1' });
  const call = (method: string, request: object, person = ann) =>
    send(`${IAM}${method}`, JSON.stringify(request), { person });
  clock.jump(60_000);

  const listed = await call('ListSessions', {});
  t.equal(listed.status, 200);
  t.match(listed.body.sessions, [
    { name: `people/${ann.person}/sessions/${ann.session}`, current: true },
    { agent: 'Phone/1', signInMethod: 'link', current: false },
  ]);
  t.notMatch(JSON.stringify(listed.body), /svc_session/, 'no secret');
  const name = `people/${ann.person}/sessions/${phone.session}`;

  const principal = await authenticator.identify({
    authorization: undefined,
    cookie: `svc_session=${phone.secret}`,
    origin: ORIGIN,
    address: '127.0.0.1',
  });
  const lost: string[] = [];
  t.teardown(authenticator.watch(principal, ({ reason }) => void lost.push(reason)));
  const foreign = await call('EndSession', { name, requestId: randomUUID() }, eve);
  t.match(foreign, { status: 404, reason: 'NOT_FOUND' });
  const guessed = `people/${eve.person}/sessions/${phone.session}`;
  const asOwn = await call('EndSession', { name: guessed, requestId: randomUUID() }, eve);
  t.match(asOwn, { status: 404, reason: 'NOT_FOUND' }, 'nor under a name of their own');
  t.same(lost, []);
  const request = { name, requestId: randomUUID() };
  t.equal((await call('EndSession', request)).status, 200);
  t.same(lost, ['CREDENTIAL_REVOKED'], 'an open answer has ended');
  t.equal((await call('EndSession', request)).status, 200, 'a resend is answered as before');
  t.equal((await call('ListSessions', {})).body.sessions.length, 1);
  const used = await send(`${IAM}ListSessions`, '{}', { person: { ...ann, ...phone } });
  t.match(used, { status: 401, reason: 'CREDENTIAL_REVOKED' });
  t.match(await call('EndSession', { name: 'x', requestId: randomUUID() }), { status: 400 });
});
