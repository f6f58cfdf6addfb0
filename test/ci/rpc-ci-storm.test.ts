/**
 * Ten thousand exchanges a minute, scaled: the exchanges of twelve seconds sent as fast as they are
 * answered, both valid ones and those of strangers, while other callers read.
 */
import { test } from 'tap';
import { PROJECT_NAME, startCiRpcWorld } from '../support/ci-api.ts';

const FRESH = 1_000;
const STRANGE = 1_000;
const IN_FLIGHT = 64;
const RUNNERS = 101;
/**
 * Longest duration of another caller's request meanwhile, ms: generous, because machines are
 * shared.
 */
const OTHERS_MS_MAX = 5_000;

test('10,000 exchanges a minute: each is answered clearly, and others are not starved', async (t) => {
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
  let isOver = false;
  const work = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const outcome = await exchange(next);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const took: number[] = [];
  const read = async () => {
    while (!isOver) {
      const from = performance.now();
      const answer = await world.call('ListVMMonitoring', { projectName: PROJECT_NAME });
      took.push(performance.now() - from);
      if (answer.status !== 200) throw new Error(`A read was answered ${answer.status}`);
    }
  };
  const from = performance.now();
  const reading = read();
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  const seconds = (performance.now() - from) / 1000;
  isOver = true;
  await reading;
  t.same(Object.fromEntries(outcomes), {
    EXCHANGED: FRESH,
    'BAD_ASSERTION MALFORMED': STRANGE / 2,
    'BAD_ASSERTION BAD_SIGNATURE': STRANGE / 4,
    'EXCHANGE_DENIED IDENTITY_MISMATCH': 1,
    'BAD_ASSERTION REPLAYED': STRANGE / 4 - 1,
  });
  t.ok(Math.max(...took) < OTHERS_MS_MAX, `a read took ${Math.max(...took)} ms`);
  t.ok(took.length >= 20, `${took.length} reads were answered meanwhile`);
  t.comment(
    `${(FRESH + STRANGE) / seconds} exchanges/s, reads ${took.length}, longest ${Math.max(...took)} ms`,
  );
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
