/**
 * Destinations over the wire, and the audit of every machine: what each caller sees, and what none
 * sees.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { startRpcWorld } from '../support/api-in-process.ts';

const PROJECT = 'projects/demo';

test('transitions and machines are listed according to the caller’s permissions', async (t) => {
  const world = await startRpcWorld(t);
  const list = (more: object = {}, key = world.keys.write) =>
    world.call('ListTransitions', { projectName: PROJECT, ...more }, { key });
  await world.call('CreateDestination', {
    projectName: PROJECT,
    requestId: randomUUID(),
    destination: { displayName: 'Pager', webhook: { url: 'https://pager.example/secret-path' } },
  });
  await t.test("keys see no identities' paths, requested or not", async (t) => {
    const { transitions } = (await list()).body;
    t.same(
      transitions.map(({ machine }: { machine: string }) => machine),
      ['destination'],
    );
    t.match(await list({ machine: 'credential' }), { status: 403, reason: 'HUMAN_OPERATION' });
  });
  await t.test('only public fields of events are shown', async (t) => {
    const { transitions } = (await list()).body;
    const event = JSON.parse(transitions[0].eventJson);
    t.same(Object.keys(event.input).sort(), ['at', 'displayName', 'groupWaitMs', 'kind']);
    t.notMatch(JSON.stringify(transitions), /secret|whs_|urlDigest|path/);
  });
  await t.test('destinations are shown to keys that may write', async (t) => {
    t.same((await list({}, world.keys.read)).body.transitions, []);
    const requested = await list({ machine: 'destination' }, world.keys.read);
    t.match(requested, { status: 403, reason: 'MISSING_CAPABILITY' });
  });
  await t.test('machines are returned with definition and drawings', async (t) => {
    const { machines } = (await world.call('ListMachines', { projectName: PROJECT })).body;
    t.ok(machines.length >= 6);
    for (const { machine, description } of machines) {
      const { body } = await world.call('GetMachine', { projectName: PROJECT, machine });
      t.match(body, {
        machine,
        description,
        version: machineDefinitions.get(machine)?.version,
        mermaid: /^stateDiagram-v2/,
        svg: /^<svg/,
      });
      t.equal(JSON.parse(body.definitionJson).id, machine);
    }
  });
  await t.test('missing resources are rejected', async (t) => {
    const none = await world.call('GetMachine', { projectName: PROJECT, machine: 'toaster' });
    t.match(none, { status: 404, body: { message: /known: alertRule/ } });
    t.match(await list({ machine: 'toaster' }), { status: 404 });
    t.match(await list({ instanceName: 'x' }), { metadata: { field: 'instanceName' } });
    t.match(await list({ instanceName: 'projects/other/alertRules/x' }), { status: 403 });
    const both = { instanceName: `${PROJECT}/alertRules/x`, machine: 'delivery' };
    t.match(await list(both), { status: 400, metadata: { field: 'machine' } });
  });
});

test('Destinations', async (t) => {
  const world = await startRpcWorld(t);
  const creation = (change: object = {}) => ({
    projectName: PROJECT,
    requestId: randomUUID(),
    destination: { displayName: 'Pager', webhook: { url: 'https://pager.example/hook/abcd' } },
    ...change,
  });
  const first = creation();
  const created = await world.call('CreateDestination', first);
  t.match(created.body, {
    destination: { displayName: 'Pager', state: 'ACTIVE', host: 'pager.example', lastFour: 'abcd' },
    webhookSecret: /^whsec_/,
    secretAvailable: true,
  });
  t.notMatch(JSON.stringify(created.body), /hook\/abcd/, 'the URL is not returned');
  const { name } = created.body.destination;

  await t.test('the secret is returned once', async (t) => {
    const again = await world.call('CreateDestination', first);
    t.match(again.body, { secretAvailable: false, webhookSecret: '', destination: { name } });
    t.equal(world.sealedValues.size, 2, 'values sealed by the second try are deleted');
  });
  await t.test('invalid destinations are rejected', async (t) => {
    const bad = async (change: object) => {
      const { status, metadata } = await world.call('CreateDestination', creation(change));
      return [status, metadata.field];
    };
    t.same(await bad({ destination: undefined }), [400, 'destination']);
    t.same(await bad({ destination: { displayName: 'x' } }), [400, 'destination']);
    const webhook = { url: 'https://pager.example' };
    t.same(await bad({ destination: { webhook } }), [400, 'destination.displayName']);
    for (const displayName of ['Pager\nDear owner', 'a\u0007b', 'a\u2028b', 'a\u202eb']) {
      const named = { displayName, webhook };
      t.same(await bad({ destination: named }), [400, 'destination.displayName']);
    }
    t.same(await bad({ destination: { displayName: 'x', webhook: { url: 'pager' } } }), [
      400,
      'destination.webhook.url',
    ]);
    t.same(await bad({ requestId: 'x' }), [400, 'requestId']);
  });
  await t.test(
    'HOOK-28: a destination’s wait for further incidents can be set and changed',
    async (t) => {
      const waits = { displayName: 'Waits', webhook: { url: 'https://waits.example/hook/abcd' } };
      const create = async (groupWaitSeconds?: number) =>
        await world.call(
          'CreateDestination',
          creation({ destination: { ...waits, groupWaitSeconds } }),
        );
      t.equal(created.body.destination.groupWaitSeconds, 0, 'a webhook does not wait');
      const { body } = await create(45);
      t.equal(body.destination.groupWaitSeconds, 45);
      const update = (change: object) => {
        const request = { name: body.destination.name, requestId: randomUUID(), ...change };
        return world.call('UpdateDestination', request);
      };
      t.match((await update({ groupWaitSeconds: 0 })).body, { groupWaitSeconds: 0 });
      t.match((await update({ displayName: 'Same wait' })).body, { groupWaitSeconds: 0 });
      t.match((await update({ groupWaitSeconds: 300 })).body, { groupWaitSeconds: 300 });
      for (const seconds of [-1, 301]) {
        const field = 'groupWaitSeconds';
        t.match(await create(seconds), {
          status: 400,
          metadata: { field: `destination.${field}` },
        });
        t.match(await update({ [field]: seconds }), { status: 400, metadata: { field } });
      }
      t.match(await update({}), { status: 400, metadata: { field: 'displayName' } });
      const deletion = { name: body.destination.name, requestId: randomUUID() };
      t.equal((await world.call('DeleteDestination', deletion)).status, 200);
    },
  );
  await t.test('a destination can be read, listed and deleted', async (t) => {
    t.match((await world.call('GetDestination', { name })).body, { name, state: 'ACTIVE' });
    const list = () => world.call('ListDestinations', { projectName: PROJECT });
    t.equal((await list()).body.destinations.length, 1);
    const deletion = { name, requestId: randomUUID() };
    t.equal((await world.call('DeleteDestination', deletion)).status, 200);
    t.match(await world.call('GetDestination', { name }), { status: 404 });
    t.same((await list()).body.destinations, []);
  });
  await t.test('LIMIT-14: a project has at most 5 destinations', async (t) => {
    for (let i = 0; i < 5; i++) await world.call('CreateDestination', creation());
    const answer = await world.call('CreateDestination', creation());
    t.match(answer, { status: 400, reason: 'LIMIT_EXCEEDED', metadata: { limit: '5' } });
  });
});
