/**
 * Positions in the log on the PromQL routes: readers get them and may wait for them, strangers may
 * not.
 */
import { test } from 'tap';
import { startPromqlRoutes } from '../../support/promql-routes.ts';

test('API-15: a reader gets log positions and may wait for one, a stranger may not', async (t) => {
  const { send, host, positions, clock, requests, issue } = await startPromqlRoutes(t);
  const url = '/api/v1/query?query=up';
  const position = () => host.appliedSequence();
  const positionIn = ({ headers }: { headers: Readonly<Record<string, string | undefined>> }) =>
    positions.sequenceOf(headers['svc-sequence'] ?? '');
  t.equal(positionIn(await send(url)), position());
  for (const path of ['/nothing', url, '/-/healthy']) {
    const { headers } = await send(path, { key: null });
    t.notOk('svc-sequence' in headers, `${path} gives a stranger none`);
  }

  const sequence = position() + 1;
  const next = positions.tokenOf(sequence);
  const before = requests.length;
  const waiting = send(url, { headers: { 'svc-sequence': next } });
  await send('/-/healthy');
  t.equal(requests.length, before, 'a later one is awaited');
  await issue('demo', 'monitoring.read');
  const answer = await waiting;
  t.equal(answer.status, 200);
  t.equal(positionIn(answer), sequence, 'and read from');

  const far = { 'svc-sequence': positions.tokenOf(999_999) };
  t.equal((await send(url, { key: null, headers: far })).status, 401, 'strangers do not wait');
  const never = send(url, { headers: far });
  await send('/-/healthy');
  await clock.advance(6_000);
  t.match(
    await never,
    { status: 503, body: { error: /^NOT_READY: / } },
    'no reader waits for ever',
  );
  const none = await send(url, { headers: { 'svc-sequence': ','.repeat(32) } });
  t.match(none, { status: 400, body: { error: /^INVALID_FIELD: / } });
});
