/**
 * Rejected readings: recorded by project, VM and cause, and reported to the project by a notice
 * while they arrive.
 */
import { test } from 'tap';
import { type NoticeBody, raiseNotice } from '../../actors/alerting/notices.ts';
import { noticeRefusedReadings } from '../../actors/alerting/refused-readings-notice.ts';
import type { WriteRequest } from '../../actors/telemetry/ingest/ingest-port.ts';
import { RefusedReadings } from '../../actors/telemetry/ingest/refused-readings.ts';
import type { RejectedSample } from '../../actors/telemetry/ingest/rejections.ts';
import { cpuRow, openAlertingWorld, PROJECT, START_MS } from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

const MINUTE = 60_000;
const key = { name: 'collectors/keys/k', datacenter: 'DC-1', vm: null };

async function openWorld(test: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(test);
  const leftOut: string[] = [];
  const refused = new RefusedReadings({
    clock: world.clock,
    onLeftOut: (reason, count) => void leftOut.push(`${reason} ${count}`),
  });
  const ingest = refused.recording(world.ingest);
  world.run((signal) => noticeRefusedReadings({ ...world, refused }, signal));
  const write = (change: Partial<WriteRequest> = {}) =>
    ingest.write({
      project: PROJECT,
      batchId: '',
      reach: key,
      rows: [cpuRow('vm-1', START_MS, 1)],
      ...change,
    });
  const notices = () =>
    world.host
      .view(PROJECT)
      .records('notice', { limit: 9 })
      .items.map(({ body }) => body as unknown as NoticeBody);
  return { ...world, refused, write, notices, leftOut };
}

const bad = (change: Partial<RejectedSample> = {}): RejectedSample => ({
  row: 1,
  vm: 'vm-2',
  series: 'displayName',
  reason: 'BAD_FIELD',
  message: 'Too long.',
  ...change,
});

test('SRC-16: rejected and omitted readings are recorded by VM and cause, with counts', async (t) => {
  const world = await openWorld(t);
  const message = 'The label has 221 characters.';
  const leftOut = [{ vm: 'vm-1', series: 'fs', reason: 'BAD_LABEL', message } as const];
  for (let i = 0; i < 3; i++) await world.write({ rejected: [bad()], leftOut });
  const facts = { sender: key.name, times: 3 };
  t.match(world.refused.of(PROJECT), [
    { vm: 'vm-2', series: 'displayName', reason: 'BAD_FIELD', message: 'Too long.', ...facts },
    { vm: 'vm-1', series: 'fs', reason: 'BAD_LABEL', message, ...facts },
  ]);
  t.same(world.leftOut, ['BAD_LABEL 1', 'BAD_LABEL 1', 'BAD_LABEL 1']);
  t.same(world.refused.of('other'), []);
  await world.pass(16 * MINUTE, MINUTE);
  t.same(world.refused.of(PROJECT), [], 'causes that do not recur end');
});

test('SRC-16: a hostile sender cannot exhaust memory or hide another project’s causes', async (t) => {
  const world = await openWorld(t);
  await world.write({ project: 'other', rejected: [bad()] });
  for (let i = 0; i < 300; i++) {
    const rejected = Array.from({ length: 200 }, (_, n) => bad({ series: `s${i}_${n}` }));
    await world.write({ rejected });
  }
  t.equal(world.refused.of('other').length, 1);
  const { length } = world.refused.of(PROJECT);
  t.ok(length > 1_000 && length <= 20_000, `${length} causes`);
});

test('SRC-19: rows of a VM that another collector reports do not displace a fault', async (t) => {
  const world = await openWorld(t);
  await world.write({ reach: { ...key, name: 'the source of the VM' } });
  const reach = { ...key, name: 'another source' };
  const rows = [...Array(101).keys()].map((i) => cpuRow('vm-1', START_MS + i, 1));
  const { rejected } = await world.write({ reach, rows, rejected: [bad({ row: 101 })] });
  t.equal(rejected.filter(({ reason }) => reason === 'REPORTED_ELSEWHERE').length, 101);
  t.match(world.refused.of(PROJECT), [{ reason: 'BAD_FIELD', sender: reach.name }]);
  t.equal(world.refused.of(PROJECT).length, 1);
});

test('SRC-16: a notice names the VM and the cause, and ends with them', async (t) => {
  const world = await openWorld(t);
  await world.pass(MINUTE);
  t.same(world.notices(), []);
  await world.write({ rows: [{ ...cpuRow('vm-2', START_MS, 1), displayName: 'web 2' }] });
  await world.write({ rejected: [bad({ reason: 'CLOCK_AHEAD' })] });
  await world.pass(MINUTE);
  t.same(world.notices(), [], 'a fast clock is reported elsewhere');
  const again = async (minutes: number, rejected: readonly RejectedSample[]) => {
    for (let i = 0; i < minutes; i++) {
      await world.write({ rejected });
      await world.pass(MINUTE, MINUTE / 2);
    }
  };
  await again(2, [bad()]);
  const [first] = world.notices();
  t.match(first, {
    kind: 'READINGS_REFUSED',
    subject: { collection: 'projects', id: PROJECT },
    text: /^Readings of 1 VM arrive but are not stored\. web 2: Too long\./,
    endedMs: null,
  });
  await again(20, [bad(), bad({ series: 'x', message: 'And this.' })]);
  t.match(world.notices(), [{ text: /And this\./, raisedMs: first?.raisedMs, endedMs: null }]);
  await world.pass(20 * MINUTE, MINUTE / 2);
  t.ok(world.notices()[0]?.endedMs, 'ended');
});

test('SRC-16: a notice from an earlier run ends after a restart', async (t) => {
  const world = await openWorld(t);
  const subject = { collection: 'projects', id: PROJECT } as const;
  await submit(world.host, { project: PROJECT }, (draft) =>
    raiseNotice(draft, { kind: 'READINGS_REFUSED', subject, text: 'Earlier.' }),
  );
  await world.pass(14 * MINUTE, MINUTE / 2);
  t.equal(world.notices()[0]?.endedMs, null, 'its readings may arrive again');
  await world.pass(3 * MINUTE, MINUTE / 2);
  t.ok(world.notices()[0]?.endedMs);
});
