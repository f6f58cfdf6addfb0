/**
 * Reading all live instances of a project takes one page per turn and returns every one of them.
 */
import { test } from 'tap';
import { retireInstances, rulesWithStaleInstances } from '../../actors/alerting/rule-instances.ts';
import { seedOf } from '../../actors/alerting/rule-markers.ts';
import { outstandingDeliveries } from '../../actors/delivery/due-attempts.ts';
import type { Host, Page, ProjectReads } from '../../actors/platform/host/host-port.ts';
import { allInstances, liveInstances } from '../../actors/platform/host/live-instances.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import { openAlertingWorld, PROJECT, RULE } from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

const COUNT = 1_000;

/** The host, with the largest number of rows read in one turn of the event loop. */
function watched(host: Host) {
  let inTurn = 0;
  const most = { inOneTurn: 0 };
  const record = <Row extends Page<unknown>>(page: Row): Row => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    inTurn += page.items.length;
    most.inOneTurn = Math.max(most.inOneTurn, inTurn);
    return page;
  };
  const view = (project: string): ProjectReads => {
    const inner = host.view(project);
    return {
      ...bound(inner),
      instances: (machine, options) => record(inner.instances(machine, options)),
    };
  };
  return { host: { ...host, view }, view: view(PROJECT), most };
}

function bound(view: ProjectReads): ProjectReads {
  return {
    project: view.project,
    instance: (...requested) => view.instance(...requested),
    instances: (...requested) => view.instances(...requested),
    record: (...requested) => view.record(...requested),
    records: (...requested) => view.records(...requested),
    countInstances: (...requested) => view.countInstances(...requested),
    transitions: (...requested) => view.transitions(...requested),
    countByState: (...requested) => view.countByState(...requested),
    incidents: (...requested) => view.incidents(...requested),
    countIncidents: () => view.countIncidents(),
    deliveries: (...requested) => view.deliveries(...requested),
  };
}

test('many live instances do not block others: no turn reads more than a page', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  for (let start = 0; start < COUNT; start += 50) {
    await submit(world.host, { project: PROJECT }, (draft) => {
      for (let i = start; i < start + 50; i++) {
        const of = { project: PROJECT, rule: RULE, vm: `vm-${i}`, labels: '' };
        const key = { ...of, evaluationRevision: 1 };
        const id = instanceIdOf(key);
        draft.start('alertInstance', id, { at: draft.at, ...key });
        if (i % 2 === 0) continue;
        const { at } = draft;
        const fired = { incidentId: `inc_${i}`, value: 1, notify: false, repeatIntervalMs: 0 };
        draft.send('alertInstance', id, { type: 'breachStarted', at, eventMs: at });
        const times = { at, eventMs: at, observedMs: at, startedMs: at };
        draft.send('alertInstance', id, { type: 'sustained', ...times, ...fired });
      }
    });
  }
  const { host, view, most } = watched(world.host);
  t.equal(allInstances(view, 'alertInstance').length, COUNT);
  t.equal(most.inOneTurn, COUNT, 'a read without turns is detected');
  await world.settle(2);
  most.inOneTurn = 0;
  const found: string[] = [];
  for await (const { instance } of liveInstances(view, 'alertInstance')) found.push(instance);
  t.equal(new Set(found).size, COUNT);
  t.equal((await seedOf(view)).firing.length, COUNT / 2);
  t.same(await rulesWithStaleInstances(view), new Set());
  await world.deleteRule();
  t.same(await rulesWithStaleInstances(view), new Set([RULE]));
  t.equal(await retireInstances(host, PROJECT, RULE), COUNT);
  t.same(world.live('alertInstance'), []);
  t.ok(most.inOneTurn <= 200, `${most.inOneTurn} rows in one turn`);
});

test('deliveries are swept one page per turn, over large and small projects alike', async (t) => {
  const world = await openAlertingWorld(t);
  const projects = [PROJECT, 'other'];
  for (const project of projects) {
    await submit(world.host, { project }, (draft) => {
      for (let i = 0; i < 220; i++) {
        const of = {
          at: draft.at,
          project,
          event: 'FIRING' as const,
          occurrence: 1,
          incident: `inc_${i}`,
        };
        const rule = { alertInstance: 'i', rule: RULE, evaluationRevision: 1, recipient: null };
        const id = `dlv_${project}_${i}`;
        draft.start('delivery', id, { ...of, ...rule, destination: 'dst_1' });
      }
    });
  }
  const { host, most } = watched(world.host);
  const { due, sending } = await outstandingDeliveries(host);
  t.equal(new Set(due.map(({ instance }) => instance)).size, 440);
  t.same(sending, []);
  t.ok(most.inOneTurn <= 200, `${most.inOneTurn} rows in one turn`);
});
