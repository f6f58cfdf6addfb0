/**
 * The projection: the effects of applying commits, and reads whose pages stay consistent while rows
 * are added and removed.
 */
import { type Test, test } from 'tap';
import { Overlay } from '../../actors/platform/host/draft.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type { MachineIndexes } from '../../machines/platform/definition.ts';
import type { IndexedMachines } from '../../sqlite/platform/control/index-columns.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { instanceMigrations } from '../../sqlite/platform/control/instances-schema.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import {
  type EncodedCommit,
  encodeCommit,
  encodeDecision,
} from '../../streams/platform/commit/codec.ts';
import type { Decision, InstanceStep } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import {
  INCIDENT_STATUSES,
  type InstanceFilter,
  type ListOptions,
  REQUEST_KEPT_MS,
  type StoredInstance,
  type StoredView,
} from '../../streams/platform/commit/projection.ts';
import { fraction, seededRandom } from '../../streams/platform/random.ts';

const by = { kind: 'service', name: 'test' } as const;
/** The service's machines, and one more whose rows each have an owner. */
const machines: IndexedMachines = new Map([
  ...new Map<string, { readonly indexes?: MachineIndexes }>(machineDefinitions),
  ['m', { indexes: { owner: 'owner' } }],
]);

function stepOf(instance: string, fields: Partial<InstanceStep> = {}): InstanceStep {
  return {
    machine: 'm',
    version: 1,
    instance,
    event: { type: 'went', at: 1 },
    from: null,
    to: 'on',
    context: { n: 1 },
    timers: [],
    final: false,
    ...fields,
  };
}

function createChain(t: Test) {
  const database = openDatabase({ path: ':memory:', synchronous: 'NORMAL', migrations: [] });
  t.teardown(() => database.close());
  const store = openInstanceStore(database, machines);
  let sequence = 0;
  const encode = (project: string, decision: Partial<Decision>, at = 1000): EncodedCommit => {
    const head = store.head(project);
    const about = { id: `c${sequence}`, project, number: head.number + 1, at, writer: 'n' };
    const whole = { by, steps: [], records: [], ...decision };
    return encodeCommit({ ...about, predecessor: head.hash }, [encodeDecision(whole)]);
  };
  const apply = (project: string, decision: Partial<Decision>, at?: number) =>
    store.apply(encode(project, decision, at), ++sequence);
  return { store, encode, apply, database };
}

test('a commit is applied once, at its position, and skipped elsewhere', async (t) => {
  const { store, encode } = createChain(t);
  const first = encode('p', { steps: [stepOf('a')] });
  const rival = encode('p', { steps: [stepOf('b')] });
  t.equal(store.apply(first, 1), 'applied');
  t.equal(store.apply(first, 1), 'known', 'delivered again');
  t.equal(store.apply(rival, 2), 'superseded');
  t.equal(store.apply(first, 3), 'superseded', 'a copy');
  t.equal(store.lastSequence('p'), 3);
  t.match(store.head('p'), { number: 1, hash: first.hash, at: 1000 });
  t.equal(store.latestCommitMs(), 1000);
  t.equal(store.view('p').instance('m', 'b'), undefined);
  const about = { id: 'x', project: 'p', number: 2, predecessor: 'unknown', at: 1, writer: 'n' };
  const foreign = encodeCommit(about, []);
  t.equal(store.apply(foreign, 4), 'foreign');
  t.equal(store.position().applied, 3, 'nothing is recorded before it was checked');
  store.passOver(foreign, 4);
  t.match(store.position(), { applied: 4, appliedHash: foreign.hash, gapped: false });
  const next = encode('p', { steps: [stepOf('a', { context: { n: 2 } })] });
  t.equal(store.apply(next, 6), 'applied');
  t.equal(store.position().gapped, true, 'sequence 5 was missing');
  t.match(store.commit('p', 2), { id: next.commit.id, sequence: 6 });
  t.same(store.projects(), ['p']);
});

test('a row has the last step of a commit, the audit has all of them', async (t) => {
  const { store, apply } = createChain(t);
  const timers = [{ id: 't', dueMs: 5000, event: { type: 'late' } }];
  apply('p', { steps: [stepOf('a'), stepOf('a', { from: 'on', to: { x: 'off' }, timers })] }, 100);
  apply('p', { steps: [stepOf('a', { from: { x: 'off' }, to: 'end', final: true })] }, 200);
  const view = store.view('p');
  t.match(view.instance('m', 'a'), { value: 'end', final: true, createdMs: 100, updatedMs: 200 });
  t.match(view.transitions({ limit: 9 }).items, [
    { sequence: 1, from: null, to: 'on', atMs: 100, by },
    { sequence: 1, from: 'on', to: { x: 'off' } },
    { sequence: 2, from: { x: 'off' }, to: 'end' },
  ]);
  t.equal(store.nextTimerDueMs(), undefined, 'the timer ended with its state');
  t.equal(store.findInstance('m', 'a')?.project, 'p');
  t.equal(store.view('q').instance('m', 'a'), undefined, 'not in another project');
});

test('two projects may use one id without sharing rows', async (t) => {
  const { store, apply } = createChain(t);
  const timers = [{ id: 't', dueMs: 5, event: { type: 'late' } }];
  apply('p', { steps: [stepOf('a', { context: { of: 'p' }, timers })] });
  apply('q', { steps: [stepOf('a', { context: { of: 'q' } })] });
  t.same(store.view('p').instance('m', 'a')?.context, { of: 'p' });
  t.same(store.view('q').instance('m', 'a')?.context, { of: 'q' });
  t.equal(store.nextTimerDueMs(), 5);
});

test('a row is read again after each commit that changes it', async (t) => {
  const { store, apply } = createChain(t);
  const view = store.view('p');
  const n = () => view.instance('m', 'a')?.context.n;
  t.equal(n(), undefined, 'not there yet');
  apply('p', { steps: [stepOf('a')] });
  t.equal(n(), 1);
  apply('p', { steps: [stepOf('b', { context: { n: 2 } })] });
  t.equal(n(), 1, 'another row changed');
  apply('p', { steps: [stepOf('a', { context: { n: 3 }, final: true })] });
  t.equal(n(), 3);
  t.equal(store.view('p').instance('m', 'a')?.context.n, 3, 'in a view created later');
  apply('p', { forgotten: [{ machine: 'm', instance: 'a' }] });
  t.equal(n(), undefined, 'it was forgotten');
});

test('rows, records, lists and counts equal those of the file, however often they are read', async (t) => {
  const { store, apply, database } = createChain(t);
  const states = ['on', { x: 'off' }];
  const random = seededRandom(7);
  const one = <T>(of: readonly T[]): T => of[Math.floor(fraction(random) * of.length)] as T;
  const ids = ['a', 'b', 'c', 'd'];
  const live = new Map<string, boolean>();
  for (let n = 1; n <= 200; n++) {
    const id = one(ids);
    const isFinal = live.get(id);
    const body = one([{ n }, { n, absent: undefined }, null, { n, long: Array(99).fill(n) }]);
    const record = { kind: 'k', id, body, sort: one(['', 'x']) };
    const from = isFinal === undefined ? null : 'on';
    const step = {
      from,
      to: one(states),
      context: { n, owner: one(['o', 'q w']) },
      final: n % 9 === 0,
    };
    if (isFinal) apply('p', { forgotten: [{ machine: 'm', instance: id }] }, n);
    else apply('p', { steps: [stepOf(id, step)], records: [record] }, n);
    if (isFinal) live.delete(id);
    else live.set(id, step.final);
    const file = openInstanceStore(database, machines).view('p');
    const view = store.view('p');
    for (const each of ids) {
      t.strictSame(view.instance('m', each), file.instance('m', each), `row ${each} at ${n}`);
      t.strictSame(view.record('k', each), file.record('k', each), `record ${each} at ${n}`);
    }
    for (const filter of [{ final: false }, { owner: 'q w', final: true }, { owner: 'o' }]) {
      const page = { limit: 2, ...filter };
      t.strictSame(view.instances('m', page), file.instances('m', page), `list at ${n}`);
    }
    for (const what of [{ final: false }, { final: true }, { final: false, owner: 'o' }]) {
      t.equal(view.countInstances('m', what), file.countInstances('m', what), `count at ${n}`);
    }
  }
});

test('counts stay correct while a batch changes or rolls back rows', async (t) => {
  const { store, apply } = createChain(t);
  apply('p', { steps: [stepOf('a'), stepOf('b'), stepOf('c', { final: true })] });
  const view = store.view('p');
  const overlay = new Overlay(view, machines);
  const row = view.instance('m', 'a') as StoredInstance;
  const counted = () => [false, true].map((final) => overlay.countInstances('m', { final }));
  t.same(counted(), [2, 1]);
  overlay.savepoint();
  overlay.putInstance({ ...row, final: true });
  t.same(counted(), [1, 2]);
  overlay.savepoint();
  overlay.putInstance({ ...row, instance: 'd' });
  overlay.removeInstance('m', 'c');
  t.same(counted(), [2, 1]);
  t.equal(overlay.countInstances('m', { final: true, owner: 'o' }), 0, 'counted in between');
  overlay.rollback();
  t.same(counted(), [1, 2], 'as before the rolled-back decision');
});

test('pages of instances follow creation order while rows come and go', async (t) => {
  const { store, apply } = createChain(t);
  for (const id of ['c', 'a', 'e']) apply('p', { steps: [stepOf(id)] }, 100);
  apply('p', { steps: [stepOf('b'), stepOf('d', { final: true })] }, 200);
  const view = store.view('p');
  const ids = (page: { items: readonly { instance: string }[] }) =>
    page.items.map((i) => i.instance);
  t.same(ids(view.instances('m', { limit: 9 })), ['a', 'c', 'e', 'b', 'd']);
  t.same(ids(view.instances('m', { limit: 9, descending: true })), ['d', 'b', 'e', 'c', 'a']);
  t.same(ids(view.instances('m', { limit: 9, final: false })), ['a', 'c', 'e', 'b']);
  t.same(ids(view.instances('m', { limit: 9, final: true })), ['d']);
  const page = view.instances('m', { limit: 2 });
  apply('p', { steps: [stepOf('0'), stepOf('c', { final: true })] }, 300);
  t.same(ids(view.instances('m', { limit: 2, ...(page.next ? { after: page.next } : {}) })), [
    'e',
    'b',
  ]);
  const last = view.instances('m', { limit: 6 });
  t.equal(last.next, undefined, 'no token after the last page');
  t.equal(view.countInstances('m', { final: true }), 2);
  t.throws(() => view.instances('m', { limit: 2, after: 'nonsense' }), { name: 'Refusal' });
  t.throws(() => view.instances('m', { limit: 0 }), RangeError);
});

test('instances of one identity are listed and counted by an index, in a draft too', async (t) => {
  const { store, apply, database } = createChain(t);
  const owned = (id: string, owner: string, fields: Partial<InstanceStep> = {}) =>
    stepOf(id, { context: { owner }, ...fields });
  apply('p', { steps: [owned('a', 'x'), owned('b', 'y'), owned('c', 'x', { final: true })] }, 1);
  apply('p', { steps: [owned('d', 'x'), owned('e', 'x')] }, 2);
  apply('p', { steps: [stepOf('f', { context: { n: 1 } })] }, 3);
  apply('q', { steps: [owned('g', 'x')] }, 3);
  const view = store.view('p');
  const ids = (of: StoredView, options: Partial<ListOptions & InstanceFilter>) =>
    of.instances('m', { limit: 10, ...options }).items.map((item) => item.instance);
  t.same(ids(view, { owner: 'x' }), ['a', 'c', 'd', 'e']);
  t.same(ids(view, { owner: 'x', final: false, descending: true }), ['e', 'd', 'a']);
  t.same(ids(view, { owner: 'nobody' }), []);
  const first = view.instances('m', { owner: 'x', limit: 2, final: false });
  t.same(ids(view, { owner: 'x', final: false, after: first.next ?? '' }), ['e']);
  t.equal(view.countInstances('m', { owner: 'x', final: false }), 3);
  t.equal(view.countInstances('m', { owner: 'x', final: true }), 1);

  const draft = new Overlay(view, machines);
  const a = view.instance('m', 'a') as StoredInstance;
  draft.putInstance({ ...a, final: true });
  draft.putInstance({ ...a, instance: 'h', createdMs: 9 });
  draft.putInstance({ ...a, instance: 'i', createdMs: 9, context: { owner: 'y' } });
  t.same(ids(draft, { owner: 'x', final: false }), ['d', 'e', 'h']);
  t.equal(draft.countInstances('m', { owner: 'x', final: false }), 3);
  t.equal(draft.countInstances('m', { owner: 'x', final: true }), 2);
  t.equal(draft.countInstances('m', { final: false }), 6);

  const trust = { machine: 'ciConnection', context: { serviceAccount: 'x' } };
  apply('p', { steps: [stepOf('t', trust)] }, 4);
  const owner = { limit: 9, owner: 'x' };
  t.match(view.instances('ciConnection', owner).items, [{ instance: 't' }], 'its own field');

  const plan = database
    .prepare(`EXPLAIN QUERY PLAN SELECT count(*) FROM instances
      WHERE project = ? AND machine = ? AND final = ? AND owner = ?`)
    .all('p', 'm', 0, 'x');
  t.match(plan[0], { detail: /COVERING INDEX instances_of_owner/ });
});

test('a person’s memberships are found in all projects, by an index', async (t) => {
  const { store, apply, database } = createChain(t);
  const place = (id: string, person: string, fields: Partial<InstanceStep> = {}) =>
    stepOf(id, { machine: 'membership', context: { person }, ...fields });
  const offer = (id: string, email: string, fields: Partial<InstanceStep> = {}) =>
    stepOf(id, { machine: 'invitation', context: { email, person: 'x' }, ...fields });
  apply('q', { steps: [place('b', 'x'), offer('i', 'x@x.org')] });
  apply('p', {
    steps: [place('a', 'x'), place('c', 'y'), stepOf('e', { context: { person: 'x' } })],
  });
  apply('r', { steps: [offer('j', 'x@x.org', { final: true }), offer('k', 'y@x.org')] });
  const ids = (machine: string, subject: string) =>
    store.findInstancesOf(machine, subject).map((item) => `${item.project}/${item.instance}`);
  t.same(ids('membership', 'x'), ['p/a', 'q/b']);
  t.same(ids('invitation', 'x@x.org'), ['q/i'], 'ended ones are left out');
  t.same(ids('invitation', 'x'), []);
  t.same(ids('m', 'x'), []);
  const plan = database
    .prepare(`EXPLAIN QUERY PLAN SELECT * FROM instances
      WHERE subject = ? AND machine = ? AND final = 0 ORDER BY project, instance`)
    .all('x', 'membership');
  t.match(plan[0], { detail: /USING INDEX instances_of_subject/ });
});

test('a file of an older program, or with other indexes, is indexed when it is opened', async (t) => {
  const older = instanceMigrations.slice(0, 5);
  const database = openDatabase({
    path: ':memory:',
    synchronous: 'NORMAL',
    migrations: older,
    area: 'instances',
  });
  t.teardown(() => database.close());
  const insert =
    database.prepare(`INSERT INTO instances (project, machine, instance, version, value,
    context, timers, final, created, updated) VALUES ('p', ?, ?, 1, '"on"', ?, '[]', 0, 1, 1)`);
  insert.run('credential', 'k', '{"owner":"x"}');
  insert.run('ciConnection', 'c', '{"serviceAccount":"x"}');
  insert.run('membership', 'a', '{"person":"x"}');
  insert.run('delivery', 'd', '{"incident":"x","owner":"y"}');
  const store = openInstanceStore(database);
  const view = store.view('p');
  const ids = (machine: string, filter: InstanceFilter, of = view) =>
    of.instances(machine, { limit: 9, ...filter }).items.map(({ instance }) => instance);
  t.same(ids('credential', { owner: 'x' }), ['k']);
  t.same(ids('ciConnection', { owner: 'x' }), ['c']);
  t.match(store.findInstancesOf('membership', 'x'), [{ instance: 'a' }]);
  t.same(ids('delivery', { incident: 'x' }), ['d']);
  t.same(ids('delivery', { owner: 'y' }), [], 'no such index is declared');

  const changed = new Map([['delivery', { indexes: { owner: 'owner' } }]]);
  const reopened = openInstanceStore(database, changed).view('p');
  t.same(ids('delivery', { owner: 'y' }, reopened), ['d']);
  t.same(ids('delivery', { incident: 'x' }, reopened), [], 'its declaration was removed');
  t.same(ids('credential', { owner: 'x' }, reopened), []);
});

test('API-34: an incident of an older program gets the data center of its VM, if known', async (t) => {
  const database = openDatabase({
    path: ':memory:',
    synchronous: 'NORMAL',
    migrations: instanceMigrations.slice(0, 6),
    area: 'instances',
  });
  t.teardown(() => database.close());
  const insert = database.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?)');
  const put = (project: string, kind: string, id: string, body: object) =>
    insert.run(project, kind, id, id, JSON.stringify(body));
  put('a', 'vm', 'vm-1', { datacenter: 'DC-9' });
  put('p', 'vm', 'vm-1', { datacenter: 'DC-1' });
  put('q', 'vm', 'vm-2', { datacenter: 'DC-1' });
  const fires = { state: 'FIRING', severity: 'INFO', acknowledged: null, snoozedUntilMs: null };
  put('p', 'incident', 'a', { ...fires, vm: 'vm-1', value: 0.1 });
  put('p', 'incident', 'gone', { ...fires, vm: 'vm-2' });
  put('p', 'incident', 'known', { ...fires, vm: 'vm-1', vmDatacenter: 'DC-2' });
  put('p', 'incident', 'whole', { ...fires, vm: '', datacenter: 'DC-1' });
  const view = openInstanceStore(database).view('p');
  const all = { statuses: INCIDENT_STATUSES, severities: ['INFO'] };
  const ids = (place: string) =>
    view.incidents({ ...all, place }, { limit: 9 }).items.map(({ id }) => id);
  t.same(ids('DC-1'), ['whole', 'a'], 'not from a VM of another project');
  t.same(ids('DC-2'), ['known']);
  t.equal(view.record('incident', 'a')?.body.value, 0.1);
});

test('incidents of older files and of commits are found alike, by each status', async (t) => {
  const open = { id: 'x', vm: 'v', rule: 'r', severity: 'INFO', state: 'FIRING' };
  const acknowledged = { by: 'b', atMs: 1, note: '' };
  const bodies = [
    { ...open, acknowledged: null, snoozedUntilMs: null, datacenter: 'DC-1' },
    { ...open, acknowledged: null, snoozedUntilMs: 5, vmDatacenter: 'DC-2' },
    { ...open, acknowledged, snoozedUntilMs: null },
    { ...open, acknowledged, snoozedUntilMs: 5 },
    { ...open, state: 'RECOVERED', acknowledged, snoozedUntilMs: null },
    { ...open, state: 'RETIRED' },
    open,
  ];
  const older = openDatabase({
    path: ':memory:',
    synchronous: 'NORMAL',
    migrations: instanceMigrations.slice(0, 6),
    area: 'instances',
  });
  t.teardown(() => older.close());
  const { apply, database } = createChain(t);
  // Each one rewrites the same record, so that every change of its columns is visible.
  const columns = 'SELECT status, severity, rule, vm, place FROM records ORDER BY id';
  const written = bodies.map((body, i) => {
    const insert = older.prepare('INSERT INTO records VALUES (?, ?, ?, ?, ?)');
    insert.run('p', 'incident', `i${i}`, '1', JSON.stringify(body));
    apply('p', { records: [{ kind: 'incident', id: 'x', sort: '1', body }] });
    return database.prepare(columns).get();
  });
  openInstanceStore(older);
  t.same(written, older.prepare(columns).all());
  const statuses = written.map((row) => (row as { status: string }).status);
  t.same(statuses, [
    'FIRING',
    'SNOOZED',
    'ACKNOWLEDGED',
    'ACKNOWLEDGED_SNOOZED',
    'RECOVERED',
    'RETIRED',
    'FIRING',
  ]);
  apply('p', { records: [{ kind: 'note', id: 'n', sort: '1', body: open }] });
  const note = database.prepare("SELECT status, rule FROM records WHERE id = 'n'").get();
  t.same(note, { status: null, rule: null }, 'other kinds are in no index of incidents');
});

test('a rewritten record has its new body and its new position in the list', async (t) => {
  const { store, apply } = createChain(t);
  const put = (sort: string, n: number) =>
    apply('p', { records: [{ kind: 'note', id: 'a', sort, body: { n } }] });
  const found = () =>
    store
      .view('p')
      .records('note', { limit: 9 })
      .items.map(({ sort, body }) => [sort, body.n]);
  put('1', 1);
  put('1', 2);
  t.same(found(), [['1', 2]]);
  put('2', 3);
  t.same(found(), [['2', 3]]);
});

test('API-34: rare incidents among 9,019 are one page, also under two filters', async (t) => {
  const { store, apply } = createChain(t);
  const displayed = { acknowledged: null, snoozedUntilMs: null };
  const incident = (i: number, fields: object = {}) => {
    const facts = {
      state: 'FIRING',
      severity: 'INFO',
      rule: `r${i % 2}`,
      vm: `vm-${i}`,
      ...displayed,
    };
    const sort = String(i).padStart(6, '0');
    return { kind: 'incident', id: `i${i}`, sort, body: { ...facts, ...fields } };
  };
  const records = Array.from({ length: 9_120 }, (_, i) => {
    if (i < 9_019) return incident(i);
    const rare = { state: 'RECOVERED', severity: 'CRITICAL' };
    return incident(i, i === 9_019 ? rare : { severity: 'WARNING' });
  });
  for (let i = 0; i < records.length; i += 400) apply('p', { records: records.slice(i, i + 400) });
  const view = store.view('p');
  const all = { statuses: INCIDENT_STATUSES, severities: ['INFO', 'WARNING', 'CRITICAL'] };
  const find = (filter: object) => view.incidents({ ...all, ...filter }, { limit: 50 });
  const recovered = find({ statuses: ['RECOVERED'] });
  t.match(recovered, { items: [{ id: 'i9019' }], next: undefined });
  const both = { rule: 'r0', severities: ['WARNING'] };
  const severities = find(both).items.map(({ body }) => body.severity);
  t.same(severities, Array(50).fill('WARNING'), 'by one index');
  const none = find({ rule: 'r0', severities: ['CRITICAL'] });
  t.same(none.items, []);
  t.equal(none.next, undefined, 'the first page has no successor');
  const { items, next } = find({ vms: ['vm-9019'], severities: ['CRITICAL'] });
  t.match({ ids: items.map(({ id }) => id), next }, { ids: ['i9019'], next: undefined });
  t.equal(find({ statuses: ['RETIRED'] }).items.length, 0);
});

test('API-34: deliveries of an incident are filtered by state and event', async (t) => {
  const { store, apply } = createChain(t);
  const delivery = (id: string, to: string, event: string) =>
    stepOf(id, { machine: 'delivery', to, context: { incident: 'x', destination: 'd', event } });
  apply('p', {
    steps: [delivery('a', 'sent', 'FIRING'), delivery('b', 'queued', 'FIRING')],
  });
  apply('p', { steps: [delivery('c', 'sent', 'RECOVERED')] });
  const ids = (filter: object) => {
    const all = { states: ['sent', 'queued'], events: ['FIRING', 'RECOVERED'], incident: 'x' };
    const { items } = store.view('p').deliveries({ ...all, ...filter }, { limit: 9 });
    return items.map(({ instance }) => instance).sort();
  };
  t.same(ids({}), ['a', 'b', 'c']);
  t.same(ids({ states: ['sent'] }), ['a', 'c']);
  t.same(ids({ states: ['sent'], events: ['FIRING'] }), ['a']);
  t.same(ids({ destination: 'other' }), []);
});

test('records are replaced, removed, and listed by their sort text', async (t) => {
  const { store, apply } = createChain(t);
  const note = (id: string, sort: string, body: Record<string, unknown> | null = { sort }) => ({
    kind: 'note',
    id,
    sort,
    body,
  });
  apply('p', { records: [note('1', 'b'), note('2', 'é'), note('3', 'a'), note('4', '\u{1F600}')] });
  apply('p', { records: [note('3', 'c'), note('1', '', null)] });
  const view = store.view('p');
  const walk = (descending: boolean): string[] => {
    const read = (page: ListOptions) => view.records('note', { ...page, descending });
    return Array.from(itemsOf(1, read), ({ id }) => id);
  };
  t.same(walk(false), ['3', '2', '4']);
  t.same(walk(true), ['4', '2', '3']);
  t.equal(view.record('note', '1'), undefined);
});

test('transitions are listed by project, machine or instance, both ways', async (t) => {
  const { store, apply } = createChain(t);
  apply('p', { steps: [stepOf('a'), stepOf('b'), stepOf('a', { machine: 'o' })] });
  apply('p', { steps: [stepOf('a')] });
  apply('q', { steps: [stepOf('a')] });
  const view = store.view('p');
  const found = (options: { machine?: string; instance?: string; descending?: boolean }) => {
    const page = view.transitions({ limit: 3, ...options });
    return page.items.map((row) => `${row.sequence}${row.machine}${row.instance}`).join(' ');
  };
  t.equal(found({}), '1ma 1mb 1oa');
  t.equal(found({ descending: true }), '2ma 1oa 1mb');
  t.equal(found({ machine: 'm' }), '1ma 1mb 2ma');
  t.equal(found({ machine: 'm', instance: 'a' }), '1ma 2ma');
  t.equal(found({ instance: 'a' }), '1ma 1oa 2ma');
  const { next } = view.transitions({ limit: 3 });
  t.equal(view.transitions({ limit: 3, ...(next ? { after: next } : {}) }).items.length, 1);
});

test('due timers are returned earliest first, of owned projects only', async (t) => {
  const { store, apply } = createChain(t);
  const timer = (id: string, dueMs: number) => ({ id, dueMs, event: { type: id } });
  apply('p', { steps: [stepOf('a', { timers: [timer('x', 30), timer('y', 10)] })] });
  apply('q', { steps: [stepOf('b', { timers: [timer('z', 20)] })] });
  const due = (nowMs: number, owns?: (project: string) => boolean) =>
    store.dueTimers(nowMs, 2, owns).map((each) => each.id);
  t.same(due(30), ['y', 'z']);
  t.same(due(9), []);
  t.same(
    due(30, (project) => project === 'p'),
    ['y', 'x'],
  );
  t.equal(
    store.nextTimerDueMs((project) => project === 'q'),
    20,
  );
  apply('p', { steps: [stepOf('a', { timers: [timer('x', 30)] })] });
  t.same(due(99), ['z', 'x'], 'a step carries all timers that remain');
});

test('API-14: request ids are kept for seven days of project time', async (t) => {
  const { store, apply } = createChain(t);
  const request = (id: string) => ({ scope: 's', id, fingerprint: 'f', answer: { id } });
  apply('p', { request: request('1') }, 1000);
  apply('q', { request: request('1') }, 1000);
  apply('p', { request: request('2') }, 1000 + REQUEST_KEPT_MS);
  t.match(store.request('p', 's', '1'), { fingerprint: 'f', answer: { id: '1' }, sequence: 1 });
  apply('p', { request: request('3') }, 1001 + REQUEST_KEPT_MS);
  t.equal(store.request('p', 's', '1'), undefined);
  t.ok(store.request('p', 's', '2'));
  t.ok(store.request('q', 's', '1'), 'another project’s time does not advance');
});

test('a projection belongs to one stream', async (t) => {
  const { store } = createChain(t);
  store.bind('one');
  store.bind('one');
  t.throws(() => store.bind('two'), { name: 'HistoryMismatch', kind: 'otherStream' });
});
