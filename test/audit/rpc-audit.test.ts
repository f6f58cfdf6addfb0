/**
 * `AuditService` for each kind of reader: which paths, which fields of a step, and which actors are
 * visible.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { type CallOptions, type RpcWorld, startRpcWorld, VM } from '../support/api-in-process.ts';
import { keyOf, settle, shop, startPeopleWorld } from '../support/people-on-host.ts';
import { cpuSpec } from '../support/rule-spec.ts';

const PROJECT = 'projects/demo';
const IDENTITIES = [
  'serviceAccount',
  'credential',
  'ciVerification',
  'ciConnection',
  'membership',
  'invitation',
  'enrolment',
];

/** An owner, a viewer, a key that reads, and changes by the owner to find. */
async function startAudited(t: Parameters<typeof startRpcWorld>[0]) {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  const requestId = randomUUID();
  const made = await world.call(
    'CreateServiceAccount',
    {
      projectName: PROJECT,
      requestId,
      displayName: 'Robot',
      capabilities: ['monitoring.read'],
    },
    { person: owner },
  );
  const account = String(made.body.name);
  const keyRequestId = randomUUID();
  const issued = await world.call(
    'CreateKey',
    {
      parent: account,
      requestId: keyRequestId,
      displayName: 'k',
      capabilities: ['monitoring.read'],
    },
    { person: owner },
  );
  const { secret } = issued.body;
  return {
    ...world,
    owner,
    requestId,
    keyRequestId,
    account,
    keyName: issued.body.key.name,
    secret,
  };
}

const list = (world: Pick<RpcWorld, 'call'>, filter: object, who: CallOptions) =>
  world.call('ListTransitions', { projectName: PROJECT, ...filter }, who);

test('An owner reads who changed an identity, how, when, and by which request', async (t) => {
  const world = await startAudited(t);
  const { owner, account, keyName } = world;
  const of = async (filter: object) =>
    (await list(world, filter, { person: owner })).body.transitions;
  t.match(await of({ instanceName: account }), [
    {
      machine: 'serviceAccount',
      event: 'xstate.init',
      toJson: '"active"',
      requestId: world.requestId,
      by: `people/${owner.person}`,
      byDisplayName: 'OWNER',
      atUnixMs: String(world.clock.now()),
      instanceDisplayName: 'Robot',
    },
  ]);
  const [key] = await of({ instanceName: keyName });
  t.match(key, {
    machine: 'credential',
    requestId: world.keyRequestId,
    instanceDisplayName: 'k',
  });
  t.match(key.eventJson, /monitoring\.read/);
  t.notMatch(JSON.stringify(key), /"hash"/, 'without the secret or its digest');
  t.notMatch(JSON.stringify(await of({})), world.secret.slice(-49));
  for (const machine of IDENTITIES) {
    t.equal((await list(world, { machine }, { person: owner })).status, 200, machine);
  }
  const all = new Set((await of({})).map(({ machine }: { machine: string }) => machine));
  t.ok(all.has('credential') && all.has('membership'), 'without a filter too');
});

test('A VM shows the path of its enrolment', async (t) => {
  const world = await startAudited(t);
  const who = { person: world.owner };
  const offer = { vmName: VM, requestId: randomUUID(), datacenter: 'DC-1' };
  const { enrolmentToken } = (await world.call('EnrolVm', offer, who)).body;
  await world.call('EnrolAgent', { enrolmentToken, system: 'x' }, { key: null });
  const { transitions } = (await list(world, { instanceName: VM }, who)).body;
  t.match(transitions, [
    { machine: 'enrolment', event: 'enrolled', by: VM },
    { machine: 'enrolment', requestId: offer.requestId, by: `people/${world.owner.person}` },
  ]);
  t.same((await list(world, { machine: 'enrolment' }, who)).body.transitions, transitions);
  const other = await list(world, { instanceName: `${VM}0` }, who);
  t.same(other.body.transitions, [], 'not that of another VM');
});

test('Changes caused by a proven address are attributed to the person', async (t) => {
  const world = await startPeopleWorld(t);
  const web = await shop(world);
  const { person } = await world.use(await web.tokenTo('bob@example.org'));
  await keyOf(world, memberIdOf('web', person), 'bobs');
  const link = await world.people.linkByEmail('bob@example.org');
  await world.use({ token: link?.token ?? '' });
  await settle();
  const steps = world.host.view('web').transitions({ limit: 100 }).items;
  const lines = steps.map(({ machine, event, by }) => `${machine} ${event.type} ${by.name}`);
  t.ok(lines.includes(`credential revoked people/${person}`), lines.join('\n'));
  t.ok(lines.includes(`membership renamed people/${person}`), lines.join('\n'));
});

test('API-22: only owners see identities, by filter, by name or indirectly', async (t) => {
  const world = await startAudited(t);
  const readers: readonly [string, CallOptions, string][] = [
    ['a key', { key: world.keys.write }, 'HUMAN_OPERATION'],
    ['a viewer', { person: await world.signedInAs('demo', 'VIEWER') }, 'MISSING_CAPABILITY'],
    ['an editor', { person: await world.signedInAs('demo', 'EDITOR') }, 'MISSING_CAPABILITY'],
  ];
  for (const [name, who, reason] of readers) {
    for (const machine of IDENTITIES) {
      t.match(await list(world, { machine }, who), { status: 403, reason }, `${name}: ${machine}`);
    }
    const named = await list(world, { instanceName: world.account }, who);
    t.match(named, { status: 403, reason }, name);
    const key = await list(world, { instanceName: world.keyName }, who);
    t.match(key, { status: 403, reason }, name);
    const { transitions } = (await list(world, {}, who)).body;
    for (const { machine } of transitions) t.notOk(IDENTITIES.includes(machine), name);
  }
  const stranger = { person: await world.signedInAs('other', 'OWNER') };
  t.match(await list(world, {}, stranger), { reason: 'PROJECT_BOUNDARY' });
  const foreign = { instanceName: 'projects/other/serviceAccounts/x' };
  t.match(await list(world, foreign, { person: world.owner }), { reason: 'PROJECT_BOUNDARY' });
});

test('A credential sees that a person acted but not which one; a person sees who', async (t) => {
  const world = await startAudited(t);
  const spec = cpuSpec({ threshold: 50 });
  const ids = { id: randomUUID(), requestId: randomUUID(), expectedVersion: '0' };
  const save = { projectName: PROJECT, ...ids, spec };
  t.equal((await world.call('SaveAlertRule', save, { person: world.owner })).status, 200);
  const saved = async (who: CallOptions) =>
    (await list(world, { machine: 'alertRule' }, who)).body.transitions.at(-1);
  t.match(await saved({ key: world.keys.read }), {
    by: 'human',
    byDisplayName: '',
    requestId: ids.requestId,
  });
  t.match(await saved({ person: await world.signedInAs('demo', 'VIEWER') }), {
    by: `people/${world.owner.person}`,
    byDisplayName: 'OWNER',
    instanceDisplayName: 'CPU',
  });
});

test('A name of another machine, or a machine without a path, is rejected', async (t) => {
  const world = await startAudited(t);
  const of = (filter: object) => list(world, filter, { person: world.owner });
  const crossed = await of({ instanceName: world.account, machine: 'credential' });
  t.match(crossed, { status: 400, metadata: { field: 'machine' } });
  for (const instanceName of [
    'projects/demo/dashboards/x',
    'projects/demo',
    `${world.account}/x/y`,
  ]) {
    const answer = await of({ instanceName });
    t.match(answer, { status: 400, metadata: { field: 'instanceName' } }, instanceName);
  }
  t.match(await of({ machine: 'nothing' }), { status: 404 });
});

test('API-22: every machine is listed and drawn for every reader', async (t) => {
  const world = await startRpcWorld(t);
  const viewer = { person: await world.signedInAs('demo', 'VIEWER') };
  const { machines } = (await world.call('ListMachines', { projectName: PROJECT }, viewer)).body;
  t.same(
    machines.map(({ machine }: { machine: string }) => machine),
    [...machineDefinitions.keys()],
  );
  for (const machine of ['credential', 'ciConnection', 'membership']) {
    const { body } = await world.call('GetMachine', { projectName: PROJECT, machine }, viewer);
    t.match(body, { machine, mermaid: /stateDiagram/, svg: /^<svg/ });
  }
});

test('API-34: transitions are filtered by time, event, actor and request, in either order', async (t) => {
  const world = await startAudited(t);
  const { owner, requestId, keyRequestId } = world;
  const person = { person: owner };
  const startMs = world.clock.now();
  await world.clock.advance(60_000);
  for (const displayName of ['A', 'B', 'C']) {
    const about = { name: world.account, requestId: randomUUID(), displayName };
    await world.call('UpdateServiceAccount', about, person);
    await world.clock.advance(60_000);
  }
  const found = async (filter: object, who: CallOptions = person) => {
    const { status, body } = await list(world, filter, who);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.transitions;
  };
  const edits = await found({ events: ['edited'] });
  t.same(
    edits.map(({ fields }: { fields: { displayName: string } }) => fields.displayName),
    ['C', 'B', 'A'],
  );
  const oldest = await found({ events: ['edited', 'xstate.init'], oldestFirst: true });
  t.same(
    oldest.slice(-3),
    edits.toReversed(),
    'oldest first, with a fixed order within one commit',
  );
  t.equal(oldest[0].event, 'xstate.init');
  const middle = {
    startTimeUnixMs: String(startMs + 120_000),
    endTimeUnixMs: String(startMs + 120_000),
  };
  t.same(await found(middle), [edits[1]], 'both ends are in the range');
  t.same(await found({ startTimeUnixMs: String(startMs + 200_000) }), []);
  t.match(await found({ requestId }), [{ machine: 'serviceAccount', event: 'xstate.init' }]);
  t.match(await found({ requestId: keyRequestId }), [{ instanceName: world.keyName }]);
  const mine = await found({ by: `people/${owner.person}`, events: ['edited'] });
  t.same(mine, edits);
  const member = `${PROJECT}/members/${memberIdOf('demo', owner.person)}`;
  t.same(await found({ by: member, events: ['edited'] }), edits, 'a member stands for its person');
  t.same(await found({ by: `${PROJECT}/members/nobody` }), []);
  t.same(await found({ by: 'people/nobody' }), []);
  t.match(edits[0], {
    instanceName: world.account,
    fromStates: ['serviceAccount.active'],
    toStates: ['serviceAccount.active'],
  });
  t.same(JSON.parse(edits[0].eventJson), edits[0].fields, 'the fields are those of the JSON');
  t.notOk('observedUnixMs' in edits[0], 'no observation decided it');
  t.same(oldest[0].fromStates, [], 'a first step has no earlier state');
});

test('API-34: each page of a filtered list starts where the previous one ended', async (t) => {
  const world = await startAudited(t);
  const person = { person: world.owner };
  for (const displayName of ['A', 'B', 'C', 'D', 'E']) {
    const about = { name: world.account, requestId: randomUUID(), displayName };
    await world.call('UpdateServiceAccount', about, person);
  }
  for (const oldestFirst of [false, true]) {
    const filter = { events: ['edited', 'xstate.init'], oldestFirst };
    const whole = (await list(world, filter, person)).body.transitions;
    const pages = [];
    let pageToken = '';
    do {
      const page = { ...filter, pageSize: 2, pageToken };
      const { body } = await list(world, page, person);
      t.ok(body.transitions.length > 0, 'no page is empty');
      pages.push(...body.transitions);
      pageToken = body.nextPageToken;
    } while (pageToken !== '');
    t.same(pages, whole);
  }
  const { body } = await list(world, { pageSize: 1 }, person);
  const turned = { pageSize: 1, pageToken: body.nextPageToken, oldestFirst: true };
  t.match(await list(world, turned, person), { status: 400, reason: 'INVALID_FIELD' });
});

test('API-34: filters are validated, and a hidden name finds nothing', async (t) => {
  const world = await startAudited(t);
  const { owner, keys } = world;
  const bad: [object, string][] = [
    [{ startTimeUnixMs: '-1' }, 'startTimeUnixMs'],
    [{ startTimeUnixMs: '5', endTimeUnixMs: '4' }, 'endTimeUnixMs'],
    [{ events: Array.from({ length: 21 }, String) }, 'events'],
    [{ by: 'x'.repeat(201) }, 'by'],
    [{ requestId: 'x'.repeat(201) }, 'requestId'],
  ];
  for (const [filter, field] of bad) {
    const answer = await list(world, filter, { person: owner });
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } });
  }
  const rule = { projectName: PROJECT, id: randomUUID(), requestId: randomUUID() };
  const spec = cpuSpec();
  const saved = { ...rule, spec, expectedVersion: '0' };
  await world.call('SaveAlertRule', saved, { person: owner });
  const asKey = { key: keys.read };
  const byName = { by: `people/${owner.person}`, machine: 'alertRule' };
  t.same((await list(world, byName, asKey)).body, { transitions: [], nextPageToken: '' });
  const member = `${PROJECT}/members/${memberIdOf('demo', owner.person)}`;
  const byMember = { by: member, machine: 'alertRule' };
  t.same((await list(world, byMember, asKey)).body, { transitions: [], nextPageToken: '' });
  t.match((await list(world, { by: 'human', machine: 'alertRule' }, asKey)).body, {
    transitions: [{ by: 'human', instanceName: `${PROJECT}/alertRules/${rule.id}` }],
  });
});

test('API-36: a machine’s layout is data with the ids that transitions name', async (t) => {
  const world = await startRpcWorld(t);
  const machine = async (name: string) =>
    (await world.call('GetMachine', { projectName: PROJECT, machine: name })).body;
  for (const name of machineDefinitions.keys()) {
    const { layout, svg } = await machine(name);
    const ids = new Set(layout.states.map(({ id }: { id: string }) => id));
    t.match(svg, `width="${layout.width}" height="${layout.height}"`, 'the same drawing');
    for (const { parentId, box, kind } of layout.states) {
      t.ok(parentId === '' || ids.has(parentId));
      t.ok(box.x + box.width <= layout.width && box.y + box.height <= layout.height);
      t.not(kind, 'KIND_UNSPECIFIED');
    }
    for (const { fromState, toState, points, events } of layout.arrows) {
      t.ok(ids.has(fromState) && ids.has(toState), `${fromState} ${toState}`);
      t.ok(points.length >= 2 && events.length >= 1);
    }
    for (const { parentId, toState, points } of layout.starts) {
      t.ok((parentId === '' || ids.has(parentId)) && ids.has(toState) && points.length >= 2);
    }
    t.ok(layout.starts.some(({ parentId }: { parentId: string }) => parentId === ''));
  }
  const { layout } = await machine('alertInstance');
  const arrow = layout.arrows.find(
    ({ fromState, toState }: { fromState: string; toState: string }) =>
      fromState === 'alertInstance.firing' && toState === 'alertInstance.idle',
  );
  t.match(arrow.events, [{ event: 'recovered', guard: 'isOfThisIncident' }]);
  const timers = layout.arrows.flatMap(({ events }: { events: { event: string }[] }) => events);
  const end = 'xstate.after.snoozeEnd.alertInstance.firing.notification.snoozed';
  t.match(
    timers.find(({ event }: { event: string }) => event === end),
    { label: 'after snoozeEnd' },
  );
});
