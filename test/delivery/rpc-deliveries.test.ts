/**
 * Reads of deliveries over the wire: access, filters, and the fields that are hidden from callers
 * without write access.
 */

import { test } from 'tap';
import { startTestDelivery } from '../../actors/delivery/audience.ts';
import { recordOutcomes } from '../../actors/delivery/outcome.ts';
import type { DestinationKind } from '../../machines/delivery/destination.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';
import { failed, ScriptedNotifier } from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';
const by = { kind: 'operator', name: 'test' } as const;

/** A webhook, and a mail destination with one verified recipient. */
async function withDestinations(world: RpcWorld) {
  const { answer } = await submit(world.host, { project: 'demo', by }, (draft) => {
    const { at } = draft;
    const displayed = { urlDigest: '', host: '', lastFour: '', urlId: null, secretId: null };
    const destination = (id: string, kind: DestinationKind) =>
      draft.start('destination', id, {
        at,
        project: 'demo',
        kind,
        displayName: id,
        ...displayed,
      });
    destination('dst_hook', 'webhook');
    destination('dst_mail', 'email');
    const person = { person: 'per_1', role: 'VIEWER', displayName: 'Ann' } as const;
    const email = 'ann@example.com';
    draft.start('membership', 'mem_1', { at, project: 'demo', ...person, email, by: 'test' });
    draft.start('recipient', 'rcp_1', {
      at,
      project: 'demo',
      destination: 'dst_mail',
      membership: 'mem_1',
      address: email,
      tokenHash: 'h',
    });
    draft.send('recipient', 'rcp_1', { type: 'verified', at, tokenHash: 'h' });
    return {
      hook: startTestDelivery(draft, { destination: 'dst_hook', recipient: null, test: 'a' }),
      mail: startTestDelivery(draft, { destination: 'dst_mail', recipient: 'rcp_1', test: 'b' }),
      nobody: startTestDelivery(draft, { destination: 'dst_mail', recipient: null, test: 'c' }),
    };
  });
  return answer;
}

/** One attempt with an answer of the endpoint. */
async function attempt(world: RpcWorld, delivery: string): Promise<string> {
  const attemptId = `att_of_${delivery}`;
  const { host } = world;
  await submit(host, { project: 'demo', by }, (draft) => {
    draft.send('delivery', delivery, { type: 'attemptDue', at: draft.at });
    const cleared = { type: 'cleared', at: draft.at, attemptId, bodyDigest: 'd' } as const;
    draft.send('delivery', delivery, cleared);
  });
  await world.clock.advance(1_500);
  const outcome = failed({ httpStatus: 503, error: 'The endpoint answered 503' });
  await recordOutcomes(
    { host, random: seededRandom(1), notifier: new ScriptedNotifier() },
    'demo',
    [{ project: 'demo', delivery, attemptId, outcome, durationMs: 1_500 }],
  );
  world.secrets.excerpts.put([{ deliveryId: delivery, attemptId, excerpt: 'We are busy' }]);
  return attemptId;
}

test('Deliveries', async (t) => {
  const world = await startRpcWorld(t);
  const { hook, mail, nobody } = await withDestinations(world);
  const attemptId = await attempt(world, mail);
  const list = async (more: object = {}, key = world.keys.write) =>
    (await world.call('ListDeliveries', { projectName: PROJECT, ...more }, { key })).body;
  const get = async (id: string, key = world.keys.write) =>
    (await world.call('GetDelivery', { name: `${PROJECT}/deliveries/${id}` }, { key })).body;
  const idsOf = ({ deliveries }: { deliveries: { name: string }[] }) =>
    deliveries.map(({ name }) => name.slice(name.lastIndexOf('/') + 1)).sort();

  await t.test(
    'API-30, ERR-08: a delivery shows its state, its reason and each attempt',
    async (t) => {
      t.match(await get(mail), {
        event: 'TEST',
        state: 'WAITING',
        reason: '',
        incidentName: '',
        destinationName: `${PROJECT}/destinations/dst_mail`,
        createdUnix: String(START_SECONDS),
        nextAttemptUnix: /^\d+$/,
        attempts: [
          {
            attemptId,
            startedUnix: String(START_SECONDS),
            durationMs: '1500',
            outcome: 'failed',
            httpStatus: 503,
            error: 'The endpoint answered 503',
            answerExcerpt: 'We are busy',
          },
        ],
      });
      t.match(await get(nobody), {
        state: 'SUPPRESSED',
        reason: 'RECIPIENT_REMOVED',
        attempts: [],
      });
      t.notOk('nextAttemptUnix' in (await get(hook)), 'none is planned');
    },
  );

  await t.test(
    'API-30: recipients and answers are hidden from callers without write access',
    async (t) => {
      t.match(await get(mail), { recipient: 'ann@example.com' });
      const displayed = await get(mail, world.keys.read);
      t.match(displayed, { recipient: '', attempts: [{ httpStatus: 503, answerExcerpt: '' }] });
      t.notMatch(JSON.stringify([displayed, await list({}, world.keys.read)]), /ann@|busy/);
      t.match(JSON.stringify(await list()), /ann@example\.com/);
      t.notMatch(JSON.stringify(await list()), /busy/, 'answers are returned one by one');
    },
  );

  await t.test('a list covers the project, one destination or one incident', async (t) => {
    t.same(idsOf(await list()), [hook, mail, nobody].sort());
    const destinationName = `${PROJECT}/destinations/dst_hook`;
    t.same(idsOf(await list({ destinationName })), [hook]);
    t.same(idsOf(await list({ incidentName: `${PROJECT}/incidents/inc_1` })), []);
    t.match(await list({ destinationName: 'projects/other/destinations/dst_hook' }), {
      message: /project/i,
    });
    t.match(await list({ destinationName: 'dst_hook' }), { code: 'invalid_argument' });
  });
});

test('API-36: a delivery has its path, with the checks of each recheck', async (t) => {
  const world = await startRpcWorld(t);
  const { hook, mail } = await withDestinations(world);
  const attemptId = await attempt(world, hook);
  const stepsOf = async (id: string) =>
    (await world.call('GetDelivery', { name: `${PROJECT}/deliveries/${id}` })).body.steps;
  t.match(await stepsOf(hook), [
    { event: '', state: 'QUEUED', atUnixMs: String(START_SECONDS * 1000), checks: [] },
    { event: 'attemptDue', state: 'RECHECKING', attemptId: '' },
    { event: 'cleared', state: 'SENDING', attemptId, checks: [] },
    { event: 'attemptFailed', state: 'WAITING', attemptId },
  ]);
  const name = `${PROJECT}/destinations/dst_hook`;
  const listed = (await world.call('ListDestinations', { projectName: PROJECT })).body.destinations;
  const lastDelivery = {
    name: `${PROJECT}/deliveries/${hook}`,
    state: 'WAITING',
    createdUnix: String(START_SECONDS),
    attemptedUnix: String(START_SECONDS),
    error: 'The endpoint answered 503',
  };
  t.match(
    listed.find((one: { name: string }) => one.name === name),
    { lastDelivery },
    'its destination shows the failure',
  );
  t.match((await world.call('GetDestination', { name })).body, { lastDelivery });
  const checks = ['DESTINATION_EXISTS', 'DESTINATION_NOT_PAUSED', 'RECIPIENT_ELIGIBLE'] as const;
  await submit(
    world.host,
    { project: 'demo', by },
    (draft) =>
      void draft.send('delivery', mail, {
        type: 'suppressed',
        at: draft.at,
        reason: 'RECIPIENT_UNSUBSCRIBED',
        checks,
      }),
  );
  const [, last] = await stepsOf(mail);
  t.match(last, { event: 'suppressed', state: 'SUPPRESSED' });
  t.same(last.checks, [
    { check: 'DESTINATION_EXISTS', holds: true, reason: '' },
    { check: 'DESTINATION_NOT_PAUSED', holds: true, reason: '' },
    { check: 'RECIPIENT_ELIGIBLE', holds: false, reason: 'RECIPIENT_UNSUBSCRIBED' },
  ]);
  const { deliveries } = (await world.call('ListDeliveries', { projectName: PROJECT })).body;
  t.ok(
    deliveries.every(({ steps }: { steps: [] }) => steps.length === 0),
    'lists omit it',
  );
});

test('a step of a delivery is named after its event and its destination', async (t) => {
  const world = await startRpcWorld(t);
  await withDestinations(world);
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  const namesOf = async (machine: string) => {
    const { body } = await world.call('ListTransitions', { projectName: PROJECT, machine }, editor);
    return new Set(
      body.transitions.map(
        ({ instanceDisplayName: name }: { instanceDisplayName: string }) => name,
      ),
    );
  };
  t.same(await namesOf('delivery'), new Set(['TEST to dst_mail', 'TEST to dst_hook']));
  t.same(await namesOf('recipient'), new Set(['dst_mail']), 'without a person’s address');
});

test('API-30: a due delivery shows when its resting destination is tried next', async (t) => {
  const untilMs = (START_SECONDS + 300) * 1_000;
  const rests = {
    untilMs: (destination: string) => (destination === 'dst_hook' ? untilMs : null),
  };
  const world = await startRpcWorld(t, () => ({ rests }));
  const { hook, mail } = await withDestinations(world);
  const shown = async (id: string) =>
    (await world.call('GetDelivery', { name: `${PROJECT}/deliveries/${id}` })).body;
  t.match(await shown(hook), { state: 'QUEUED', nextAttemptUnix: String(START_SECONDS + 300) });
  t.notOk('nextAttemptUnix' in (await shown(mail)), 'its destination does not rest');
  await submit(
    world.host,
    { project: 'demo', by },
    (draft) => draft.send('delivery', hook, { type: 'attemptDue', at: draft.at }).changed,
  );
  t.match(await shown(hook), { state: 'RECHECKING', nextAttemptUnix: String(START_SECONDS + 300) });
});
