/**
 * Retention, and deletion after it: under a virtual clock that leaps over months, on the real
 * projection, with the recorded history verified after each step.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { endNotice, raiseNotice } from '../../actors/alerting/notices.ts';
import { verifyLog } from '../../actors/audit/log-verifier.ts';
import { HISTORY_KEPT_MS, type RetentionDeps, retain } from '../../actors/audit/retention.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { CommitBodiesOfStream } from '../../streams/platform/commit/commit-bodies.ts';
import { by, PROJECT, START_MS } from '../support/alerting-on-host.ts';
import { type DeliveryWorld, openDeliveryWorld } from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A world with a rule in force, whose deliverer has settled and stopped after `act`. */
async function openWorld(t: Test, options: { folder?: string; clock?: VirtualClock } = {}) {
  const world = await openDeliveryWorld(t, options);
  const stopTimers = world.startTimers();
  const { stop } = world.startDeliverer();
  const delivered = async (act: () => Promise<void>): Promise<void> => {
    await act();
    await world.settle();
  };
  return {
    ...world,
    delivered,
    rest: async () => {
      await stop();
      await stopTimers();
    },
  };
}

/** Drops everything that is due now; ends when nothing is left. */
async function retainOnce(world: DeliveryWorld, more: Partial<RetentionDeps> = {}) {
  const removed: Record<string, number> = {};
  const excerpts: string[] = [];
  const stop = world.run((signal) =>
    retain(
      {
        host: world.host,
        clock: world.clock,
        auditKeptMs: 400 * DAY_MS,
        owns: () => true,
        forgetExcerpts: async (ids) => void excerpts.push(...ids),
        onRemoved: (kind, count) => {
          removed[kind] = (removed[kind] ?? 0) + count;
        },
        ...more,
      },
      signal,
    ),
  );
  await world.settle(400);
  await stop();
  return { removed, excerpts };
}

async function verified(world: DeliveryWorld) {
  const reader = new CommitReader(join(world.folder, 'control.db'));
  const bodies = new CommitBodiesOfStream(world.stream);
  try {
    const { clock } = world;
    const { projects } = await verifyLog({ reader, bodies, clock, machines: machineDefinitions });
    return projects.map(({ project, start, broken }) => ({ project, start, broken }));
  } finally {
    await bodies.close();
    reader.close();
  }
}

const kinds = ['incident', 'incidentWindow', 'incidentHeldVms', 'delivery', 'notice'] as const;

function countsOf(world: DeliveryWorld) {
  const view = world.host.view(PROJECT);
  const records = kinds.map((kind) => [kind, view.records(kind, { limit: 1000 }).items.length]);
  const rows = (['alertInstance', 'delivery'] as const).map((machine) => [
    `${machine} rows`,
    world.instances(machine).length,
  ]);
  return Object.fromEntries([...records, ...rows]);
}

function notices(world: DeliveryWorld, change: typeof raiseNotice | typeof endNotice, id: string) {
  const subject = { collection: 'alertRules' as const, id };
  const notice = { kind: 'INSTANCE_LIMIT' as const, subject, text: 'Too many' };
  return submit(world.host, { project: PROJECT, by }, (draft) => change(draft, notice));
}

test('EVENT-04, LIMIT-19: ended incidents and deliveries are dropped after 90 days, firing ones stay', async (t) => {
  const world = await openWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  await world.delivered(() => world.fire(['vm-old', 'vm-firing', 'vm-gone']));
  await submit(world.host, { project: PROJECT, by }, (draft) => {
    for (const { id } of world.incidents()) {
      draft.putRecord({
        kind: 'incidentHeldVms',
        id,
        body: { datacenter: '', vms: ['vm-x'], count: 1 },
      });
    }
  });
  await world.delivered(() => world.recover(['vm-old']));
  await world.sendAlert('vm-gone', { type: 'retired', reason: 'VM_DELETED' });
  await notices(world, raiseNotice, 'ended');
  await notices(world, raiseNotice, 'lasting');
  await notices(world, endNotice, 'ended');
  t.same(
    world.deliveries().map(({ value }) => value),
    ['sent', 'sent', 'sent', 'sent'],
  );
  await world.rest();
  const all = { incident: 3, incidentWindow: 3, incidentHeldVms: 3, delivery: 4, notice: 2 };

  await t.test('incidents and deliveries that ended less than 90 days ago stay', async (t) => {
    world.clock.jump(HISTORY_KEPT_MS - HOUR_MS);
    t.same((await retainOnce(world)).removed, {});
    t.match(countsOf(world), { ...all, 'alertInstance rows': 3, 'delivery rows': 4 });
  });
  await t.test('an incident that ends later is kept', async (t) => {
    await world.fire(['vm-new']);
    await world.recover(['vm-new']);
    t.equal(world.incidents().length, 4);
  });
  await t.test('after 90 days they are dropped with all of their data', async (t) => {
    world.clock.jump(2 * HOUR_MS);
    const firing = world.incidents().find(({ state }) => state === 'FIRING');
    const expected = world
      .deliveries()
      .filter(({ value, incident }) => value === 'sent' && incident !== firing?.id)
      .map(({ id }) => id);
    const { removed, excerpts } = await retainOnce(world);
    t.same(removed, { incident: 2, notice: 1, alertInstance: 1, delivery: 3 });
    t.same(excerpts.sort(), expected.sort(), 'excerpts stored beside the deliveries are deleted');
    t.match(
      world
        .incidents()
        .map(({ vm, state }) => `${vm} ${state}`)
        .sort(),
      ['vm-firing FIRING', 'vm-new RECOVERED'],
    );
    t.match(countsOf(world), {
      incident: 2,
      incidentWindow: 2,
      incidentHeldVms: 1,
      notice: 1,
      'alertInstance rows': 3,
    });
    t.same((await retainOnce(world)).removed, {}, 'nothing else is dropped');
  });
  await t.test('the recipients of a long firing are notified of its recovery', async (t) => {
    const { stop } = world.startDeliverer();
    await world.recover(['vm-firing']);
    await world.settle();
    await stop();
    t.ok(world.notifier.events().includes('incident.recovered of vm-firing'));
  });
  await t.test('its transitions stay for audit, and the history still verifies', async (t) => {
    const { items } = world.host.view(PROJECT).transitions({ limit: 1000, machine: 'delivery' });
    t.ok(items.some(({ event }) => event.type === 'accepted'));
    t.same(await verified(world), [{ project: PROJECT, start: null, broken: null }]);
  });
  await t.test('a row that was dropped too early is a fault', async (t) => {
    const file = new Database(join(world.folder, 'control.db'));
    const gone = "machine = 'alertInstance' AND context ->> 'vm' = 'vm-new'";
    file.exec(`DELETE FROM instances WHERE ${gone}`);
    file.close();
    t.match(await verified(world), [{ broken: { detail: /has no row|is not the result/ } }]);
  });
});

test('EVENT-04: audit is kept for its retention period, and proves its start', async (t) => {
  const world = await openWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  await world.delivered(() => world.fire(['vm-1', 'vm-2']));
  await world.rest();
  const started = world.host.view(PROJECT).transitions({ limit: 1000 }).items.length;
  world.clock.jump(200 * DAY_MS);
  await world.recover(['vm-1']);
  world.clock.jump(200 * DAY_MS + HOUR_MS);
  await t.test('nothing is truncated until it is a day overdue', async (t) => {
    t.notOk((await retainOnce(world)).removed.commit);
  });
  world.clock.jump(DAY_MS);
  const { removed } = await retainOnce(world);
  const { items } = world.host.view(PROJECT).transitions({ limit: 1000 });
  await t.test('earlier commits and transitions are dropped, later ones are not', async (t) => {
    t.ok(Number(removed.commit) > 3);
    t.ok(items.length > 0 && items.length < started);
    t.ok(items.every(({ atMs }) => atMs >= START_MS + 200 * DAY_MS));
    t.equal(items[0]?.event.type, 'recovered');
    t.match(world.incidents(), [{ vm: 'vm-2', state: 'FIRING' }], 'its state stays');
  });
  await t.test('audit verify proves the rest', async (t) => {
    const start = { number: removed.commit, atMs: Number };
    t.match(await verified(world), [{ project: PROJECT, start, broken: null }]);
  });
  await t.test('another truncation moves the start', async (t) => {
    world.clock.jump(300 * DAY_MS);
    await world.recover(['vm-2']);
    t.ok(Number((await retainOnce(world)).removed.commit) > 0);
    t.match(await verified(world), [{ broken: null }]);
    world.clock.jump(500 * DAY_MS);
    await retainOnce(world);
    t.match(await verified(world), [{ broken: null }], 'in a project without changes');
    t.equal(world.rule().value, 'active');
    await world.fire(['vm-3']);
    t.match(await verified(world), [{ broken: null }]);
  });
  const tampered = async (sql: string) => {
    const file = new Database(join(world.folder, 'control.db'));
    file.exec(sql);
    file.close();
    const [result] = await verified(world);
    return result?.broken?.detail;
  };
  await t.test('a start that no commit confirms is a fault', async (t) => {
    const saved = new Database(join(world.folder, 'control.db'));
    const row = saved.prepare('SELECT decision, hash, number FROM chain_starts').get();
    const { decision, number } = row as { decision: string; number: number };
    saved.close();
    const forged = decision.replace('"retention"', '"somebody"');
    t.match(await tampered(`UPDATE chain_starts SET decision = '${forged}'`), /did not remove/);
    t.match(
      await tampered('UPDATE chain_starts SET decided = 1'),
      /No commit of the chain removed/,
    );
    t.match(await tampered(`UPDATE chain_starts SET number = ${number - 1}`), /are missing/);
    t.match(await tampered('DELETE FROM chain_starts'), /are missing/);
  });
});

test('A restart midway is harmless: the rest is dropped the next time', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START_MS);
  const vms = Array.from({ length: 120 }, (_, i) => `vm-${i}`);
  await t.test('a first start drops a part', async (t) => {
    const world = await openWorld(t, { folder, clock });
    await world.putInForce({});
    await world.fire(vms);
    await world.recover(vms);
    await world.rest();
    clock.jump(HISTORY_KEPT_MS + HOUR_MS);
    let batches = 0;
    // The stream fails midway, as it does when the process ends.
    world.faults.append = () => (++batches > 1 ? 'refused' : undefined);
    let lost = 0;
    const removing = retainOnce(world, { onLost: () => lost++ });
    await world.pass(20_000, 1000);
    const { removed } = await removing;
    t.same(removed, { incident: 50 });
    t.equal(world.incidents().length, 70);
  });
  await t.test('the next one drops the rest', async (t) => {
    const world = await openWorld(t, { folder, clock });
    await world.rest();
    t.same((await retainOnce(world)).removed, { incident: 70 });
    t.equal(world.incidents().length, 0);
    t.match(await verified(world), [{ broken: null }]);
    await world.fire(['vm-0']);
    t.match(world.incidents(), [{ vm: 'vm-0', state: 'FIRING' }], 'it keeps firing');
  });
});

test('A running part checks every hour, and skips projects of other nodes', async (t) => {
  const world = await openWorld(t);
  await world.putInForce({});
  await world.fire(['vm-1']);
  await world.recover(['vm-1']);
  await world.rest();
  const deps = {
    host: world.host,
    clock: world.clock,
    auditKeptMs: 400 * DAY_MS,
    forgetExcerpts: async () => {},
  };
  const others = world.run((signal) => retain({ ...deps, owns: () => false }, signal));
  world.clock.jump(HISTORY_KEPT_MS - 30 * 60_000);
  const stop = world.run((signal) => retain({ ...deps, owns: () => true }, signal));
  await world.settle();
  t.equal(world.incidents().length, 1);
  await world.pass(HOUR_MS + 1000);
  t.equal(world.incidents().length, 0);
  await stop();
  await others();
});

test('A decision does not read what it drops; only ended objects are dropped', async (t) => {
  const world = await openWorld(t);
  await world.putInForce({});
  await world.fire(['vm-1', 'vm-2']);
  await world.sendAlert('vm-1', { type: 'retired', reason: 'VM_DELETED' });
  await world.rest();
  const rows = world.instances('alertInstance');
  const ended = rows.find(({ final }) => final)?.instance ?? '';
  const live = rows.find(({ final }) => !final)?.instance ?? '';
  const decide = (forgotten: string) =>
    submit(world.host, { project: PROJECT, by }, (draft) => {
      draft.forget('alertInstance', forgotten);
      return {
        there: draft.instance('alertInstance', forgotten) !== undefined,
        listed: draft.instances('alertInstance', { limit: 10 }).items.map((row) => row.instance),
        ended: draft.countInstances('alertInstance', { final: true }),
        live: draft.countInstances('alertInstance', { final: false }),
      };
    });
  await t.rejects(decide(live), /has not ended: its row stays/);
  const { answer } = await decide(ended);
  t.same(answer, { there: false, listed: [live], ended: 0, live: 1 });
  t.same(
    world.instances('alertInstance').map(({ instance }) => instance),
    [live],
  );
  await t.rejects(decide(ended), { name: 'Refusal', reason: 'NOT_FOUND' });
});

test('DUR-29: retention reports a damaged incident, and continues with everything else', async (t) => {
  const world = await openWorld(t);
  await world.putInForce({ destinationNames: [] });
  await world.delivered(() => world.fire(['vm-1']));
  await notices(world, raiseNotice, 'r1');
  await notices(world, endNotice, 'r1');
  await world.rest();
  await world.clock.advance(HISTORY_KEPT_MS + DAY_MS);
  world.database.exec("UPDATE records SET checksum = checksum + 1 WHERE kind = 'incident'");
  const damaged: string[] = [];
  const { removed } = await retainOnce(world, { onDamaged: ({ table }) => damaged.push(table) });
  t.same(damaged, ['records']);
  t.match(removed, { notice: 1 });
});
