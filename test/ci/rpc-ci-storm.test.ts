/**
 * Ten thousand exchanges a minute, scaled: the exchanges of twelve seconds sent as fast as they are
 * answered, both valid ones and those of strangers, while other callers read.
 */
import { test } from 'tap';
import { PROJECT_NAME, startCiRpcWorld } from '../support/ci-api.ts';
import { tries } from '../support/tries.ts';

const FRESH = tries(1_000, 200);
const STRANGE = FRESH;
const IN_FLIGHT = 64;
const RUNNERS = 101;
/** Most exchanges that may end while another caller waits for one answer. */
const ENDED_MEANWHILE_MAX = 3 * IN_FLIGHT;

test('10,000 exchanges a minute are each answered clearly and starve no other call', async (t) => {
  const world = await startCiRpcWorld(t);
  const trustName = await world.connect();
  let sent = 0;
  const exchange = async (assertion: string) => {
    // A fleet of runners, because failures are limited per address.
    const address = `198.51.100.${sent++ % RUNNERS}`;
    const answer = await world.anonymous('ExchangeCiToken', { trustName, assertion }, { address });
    return answer.status === 200 ? 'EXCHANGED' : `${answer.reason} ${answer.metadata.cause}`;
  };
  const fresh: string[] = [];
  for (let i = 0; i < FRESH; i++) fresh.push(await world.mint());
  const other = await world.mint({ ref: 'refs/heads/other' });
  const strange = Array.from({ length: STRANGE }, (_, i) => {
    const forms = ['garbage', `${fresh[i]?.slice(0, -12)}AAAAAAAAAAAA`, other, 'a.b.c'];
    return forms[i % forms.length] ?? '';
  });
  const queue = fresh.flatMap((assertion, i) => [assertion, strange[i] ?? '']);
  const outcomes = new Map<string, number>();
  let ended = 0;
  const work = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const outcome = await exchange(next);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      ended++;
    }
  };
  const endedMeanwhile: number[] = [];
  const read = async () => {
    while (ended < FRESH + STRANGE) {
      const before = ended;
      const answer = await world.call('ListVMMonitoring', { projectName: PROJECT_NAME });
      endedMeanwhile.push(ended - before);
      if (answer.status !== 200) throw new Error(`A read was answered ${answer.status}`);
    }
  };
  await Promise.all([read(), ...Array.from({ length: IN_FLIGHT }, work)]);
  t.same(Object.fromEntries(outcomes), {
    EXCHANGED: FRESH,
    'BAD_ASSERTION MALFORMED': STRANGE / 2,
    'BAD_ASSERTION BAD_SIGNATURE': STRANGE / 4,
    'EXCHANGE_DENIED IDENTITY_MISMATCH': 1,
    'BAD_ASSERTION REPLAYED': STRANGE / 4 - 1,
  });
  const most = Math.max(...endedMeanwhile);
  t.ok(most <= ENDED_MEANWHILE_MAX, `a read waited for ${most} exchanges`);
  await world.clock.advance(60_000);
  await world.notesSettled();
  const about = { machine: 'ciConnection', instance: trustName.split('/').at(-1) ?? '' };
  const { items } = world.host.view('demo').transitions({ ...about, limit: 2_000 });
  const notes = items.filter(({ event }) => event.type === 'exchangeRefused');
  const noted = notes.reduce((sum, { event }) => sum + Number(event.refusals), 0);
  t.same(
    [notes.length, noted],
    [2, STRANGE],
    'strangers caused two records, which count all of them',
  );
});
