/** Positions in the log, told and waited for on the PromQL routes. */
import t from 'tap';
import { startPromqlRoutes } from '../support/promql-routes.ts';

t.test(
  'a position in the log is told in each answer, and waited for by those let in',
  async (t) => {
    const { send, host, clock, requests, issue } = await startPromqlRoutes(t);
    const url = '/api/v1/query?query=up';
    const position = () => String(host.appliedSequence());
    t.equal((await send(url)).headers['svc-sequence'], position());
    t.equal((await send('/nothing', { key: null })).headers['svc-sequence'], position());

    const next = String(Number(position()) + 1);
    const before = requests.length;
    const waiting = send(url, { headers: { 'svc-sequence': next } });
    await send('/-/healthy');
    t.equal(requests.length, before, 'a later one is waited for');
    await issue('demo', 'monitoring.read');
    t.match(await waiting, { status: 200, headers: { 'svc-sequence': next } }, 'and read from');

    const far = { 'svc-sequence': '999999' };
    t.equal((await send(url, { key: null, headers: far })).status, 401, 'strangers do not wait');
    const never = send(url, { headers: far });
    await send('/-/healthy');
    await clock.advance(6_000);
    t.match(await never, { status: 503, body: { error: /^NOT_READY: / } }, 'nobody does for ever');
    const none = await send(url, { headers: { 'svc-sequence': 'x' } });
    t.match(none, { status: 400, body: { error: /^INVALID_FIELD: / } });
  },
);
