/** Records of rejected exchanges: one per minute, complete in number and in the claims named. */
import { test } from 'tap';
import { RefusalNotes } from '../../actors/ci/refusal-notes.ts';
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import { denied, notesOf } from '../support/ci-exchanges.ts';
import { owner, PROJECT, refusalOf, startCiWorld } from '../support/keyless-ci-on-host.ts';

const MINUTE_MS = 60_000;
const REF_DIFFERS = { claim: 'ref', difference: 'DIFFERENT' } as const;

test('Rejected exchanges are recorded with their count, once a minute per connection', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const first = await denied(world, id, { bound: { ref: 'x' } });
  t.match(notesOf(world, id), [
    {
      correlation: first.correlation,
      codes: { IDENTITY_MISMATCH: 1 },
      claims: ['ref'],
      refusals: 1,
    },
  ]);
  const later = [];
  for (const name of ['ref', 'event_name', 'ref_type']) {
    later.push(await denied(world, id, { bound: { [name]: 'x' } }));
  }
  await refusalOf(world.ci.exchange({ project: PROJECT, connection: id, assertion: 'garbage' }));
  t.equal(notesOf(world, id).length, 1, 'no second record within the minute');
  await world.clock.advance(MINUTE_MS - 1);
  t.equal(notesOf(world, id).length, 1);
  await world.clock.advance(1);
  await world.ci.settled();
  const [, second] = notesOf(world, id);
  t.match(second, { refusals: 4, claims: ['event_name', 'ref', 'ref_type'] });
  t.same(second?.codes, { IDENTITY_MISMATCH: 3, 'BAD_ASSERTION MALFORMED': 1 });
  const correlations = new Set(later.map(({ correlation }) => correlation));
  t.same(
    [...correlations],
    [second?.correlation],
    'the answer has the id of the record that counts it',
  );
  t.not(second?.correlation, first.correlation);
  await world.clock.advance(10 * MINUTE_MS);
  const third = await denied(world, id, { bound: { ref: 'x' } });
  t.match(notesOf(world, id)[2], { correlation: third.correlation, refusals: 1 }, 'at once again');
});

test('CI-12: a record says for each claim whether it differs, is missing, or both', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  await denied(world, id, { bound: { ref: 'x' } });
  for (const ref of ['x', null]) await denied(world, id, { bound: { ref } });
  await denied(world, id, { bound: { event_name: null } });
  await world.clock.advance(MINUTE_MS);
  await world.ci.settled();
  const [first, second] = notesOf(world, id);
  t.match(first, { claims: ['ref'], differences: [REF_DIFFERS] });
  t.same(second?.claims, ['event_name', 'ref']);
  t.same(second?.differences, [
    { claim: 'event_name', difference: 'MISSING' },
    REF_DIFFERS,
    { claim: 'ref', difference: 'MISSING' },
  ]);
});

test('A stranger’s garbage does not label the mismatch that follows it', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const garbage = () =>
    refusalOf(world.ci.exchange({ project: PROJECT, connection: id, assertion: 'garbage' }));
  // The first is recorded at once; the second begins the record that the mismatch will be in.
  for (let i = 0; i < 3; i++) await garbage();
  const { correlation } = await denied(world, id, { bound: { ref: 'refs/heads/dev' } });
  await world.clock.advance(MINUTE_MS);
  await world.ci.settled();
  const note = notesOf(world, id).find((one) => one.correlation === correlation);
  t.match(note, { claims: ['ref'], refusals: 3 });
  t.same(note?.codes, { 'BAD_ASSERTION MALFORMED': 2, IDENTITY_MISMATCH: 1 });
});

test('CI-12: a record names the refused runs whose tokens were verified', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const run = (run_id: string) => denied(world, id, { bound: { ref: 'x' }, recorded: { run_id } });
  await run('1001');
  t.match(notesOf(world, id), [{ runs: ['1001'] }]);
  for (let i = 2; i <= 9; i++) await run(`100${i}`);
  await refusalOf(world.ci.exchange({ project: PROJECT, connection: id, assertion: 'garbage' }));
  await world.clock.advance(MINUTE_MS);
  await world.ci.settled();
  t.same(notesOf(world, id)[1]?.runs, ['1002', '1003', '1004', '1005', '1006'], 'at most five');
  await refusalOf(world.ci.exchange({ project: PROJECT, connection: id, assertion: 'garbage' }));
  await world.clock.advance(MINUTE_MS);
  await world.ci.settled();
  t.notOk('runs' in (notesOf(world, id)[2] ?? {}), 'what is not verified names no run');
});

test('A mismatch, like an unknown trust, is answered before its record exists', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const submit = world.host.submit.bind(world.host);
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const held: typeof world.host.submit = async (request) => {
    if (request.by.name === 'keyless CI') await released;
    return submit(request);
  };
  Object.assign(world.host, { submit: held });
  t.equal(await world.tryExchange(id, { bound: { ref: 'x' } }), 'IDENTITY_MISMATCH');
  t.same(notesOf(world, id), [], 'it is answered while the record is being written');
  release();
  await world.ci.settled();
  t.equal(notesOf(world, id).length, 1);
});

test('10,000 rejected exchanges leave two records, and none of them is lost', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const bad = () => world.tryExchange(id, { bound: { ref: 'x' } });
  await Promise.all(Array.from({ length: 10_000 }, bad));
  await world.clock.advance(MINUTE_MS);
  await world.ci.settled();
  const notes = notesOf(world, id);
  t.equal(notes.length, 2);
  t.equal(
    notes.reduce((sum, { refusals }) => sum + Number(refusals), 0),
    10_000,
  );
  t.same(world.lost, []);
  const row = world.host.view(PROJECT).instance('ciConnection', id);
  t.match(
    row?.context as unknown as CiConnectionContext,
    { tokenEpoch: 1 },
    'refusals change nothing else',
  );
});

test('Pending refusals are recorded when the service stops, except those of a deleted connection', async (t) => {
  const world = await startCiWorld(t);
  const [id, deleted] = [await world.connect(), await world.connect()];
  for (let i = 0; i < 3; i++) await denied(world, id, { bound: { ref: 'x' } });
  for (let i = 0; i < 3; i++) await denied(world, deleted, { bound: { ref: 'x' } });
  const deletion = { project: PROJECT, by: owner, request: world.request(), connection: deleted };
  await world.ci.delete(deletion);
  await world.ci.close();
  t.same(
    notesOf(world, id).map(({ refusals }) => refusals),
    [1, 2],
  );
  t.same(
    notesOf(world, deleted).map(({ refusals }) => refusals),
    [1],
  );
  t.same(world.lost, []);
});

test('A record that cannot be written is counted as lost, and the answer is the same', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const row = world.host.view(PROJECT).instance('ciConnection', id);
  const lost: number[] = [];
  const notes = new RefusalNotes({
    clock: world.clock,
    random: world.random,
    host: {
      view: (project) => world.host.view(project),
      submit: () => Promise.reject(new Error('The disk is full')),
    },
    onLost: (refusals) => void lost.push(refusals),
  });
  t.ok(row);
  if (!row) return;
  const refused = { code: 'IDENTITY_MISMATCH', differences: [REF_DIFFERS] };
  const correlation = notes.add(row, refused);
  await notes.settled();
  t.match(correlation, /^[0-9A-Z]{26}$/);
  t.same(lost, [1]);
  await notes.close();
});

test('Refusals on two nodes leave one record per minute, and none of them is lost', async (t) => {
  const world = await startCiWorld(t);
  const other = await startCiWorld(t, world);
  const id = await world.connect();
  const nodes = [world, other];
  const settle = () => Promise.all(nodes.map(({ ci }) => ci.settled()));
  const bad = { bound: { ref: 'x' } };
  await other.host.waitFor(world.host.appliedSequence(), AbortSignal.timeout(180_000));
  for (let i = 0; i < 5; i++) {
    await Promise.all(nodes.map((node) => node.tryExchange(id, bad)));
    await settle();
  }
  const notes = () => {
    const { items } = world.host.view(PROJECT).transitions({ instance: id, limit: 100 });
    return items.map(({ event }) => event).filter(({ type }) => type === 'exchangeRefused');
  };
  t.equal(notes().length, 1);
  for (let minute = 1; minute <= 3; minute++) {
    await world.clock.advance(MINUTE_MS);
    await settle();
    t.ok(notes().length <= 1 + minute, `${notes().length} records after ${minute} minutes`);
  }
  t.equal(
    notes().reduce((sum, { refusals }) => sum + Number(refusals), 0),
    10,
  );
});
