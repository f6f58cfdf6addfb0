/** Maintenance windows over the wire: users plan, read and end them; credentials cannot. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';

const projectName = 'projects/demo';

test('HOOK-29: users plan, list and end maintenance windows', async (t) => {
  const world = await startRpcWorld(t);
  const person = { person: await world.signedInAs('demo', 'EDITOR') };
  const untilUnix = String(START_SECONDS + 3_600);
  const request = { projectName, requestId: randomUUID(), untilUnix, note: ' New disks ' };
  const { status, body } = await world.call('CreateMaintenanceWindow', request, person);
  t.equal(status, 200);
  t.match(body, { state: 'ACTIVE', ruleName: '', vmName: '', untilUnix, note: 'New disks' });
  t.match(body, { createdByDisplayName: 'EDITOR', ruleDisplayName: '', vmDisplayName: '' });
  t.match(body.name, /^projects\/demo\/maintenanceWindows\/mnt_/);
  t.notOk('endedUnix' in body);
  t.same((await world.call('CreateMaintenanceWindow', request, person)).body, body, 'sent again');
  const list = async (more: object = {}) => {
    const { body: page } = await world.call(
      'ListMaintenanceWindows',
      { projectName, ...more },
      person,
    );
    return page.windows as { name: string; state: string }[];
  };
  t.same(await list(), [body]);
  const later = { ...request, requestId: randomUUID(), fromUnix: String(START_SECONDS + 60) };
  const planned = (await world.call('CreateMaintenanceWindow', later, person)).body;
  t.match(planned, { state: 'SCHEDULED' });
  const end = (name: string) =>
    world.call('EndMaintenanceWindow', { name, requestId: randomUUID() }, person);
  t.match((await end(planned.name)).body, {
    state: 'CANCELLED',
    endedBy: /./,
    endedByDisplayName: 'EDITOR',
    endedUnix: /^\d+$/,
  });
  t.match((await end(body.name)).body, { state: /ANNOUNCING|OVER/ });
  t.match(await end(planned.name), { status: 400, reason: 'INVALID_STATE' });
  t.equal((await list({ includeOver: true })).length, 2);
});

test('HOOK-29: an invalid maintenance window is rejected with its field', async (t) => {
  const world = await startRpcWorld(t);
  const person = { person: await world.signedInAs('demo', 'EDITOR') };
  const untilUnix = String(START_SECONDS + 3_600);
  const create = (more: object) =>
    world.call(
      'CreateMaintenanceWindow',
      { projectName, requestId: randomUUID(), untilUnix, ...more },
      person,
    );
  const rule = `${projectName}/alertRules/${randomUUID()}`;
  for (const [field, value] of [
    ['untilUnix', String(START_SECONDS - 1)],
    ['ruleName', rule],
    ['ruleName', 'CPU'],
    ['vmName', `${projectName}/vms/none`],
    ['note', 'x'.repeat(1_001)],
  ] as const) {
    const answer = await create({ [field]: value });
    t.match(answer, { status: 400, reason: 'INVALID_FIELD' }, field);
  }
  t.match(await create({ vmName: 'projects/other/vms/vm-1' }), { reason: 'PROJECT_BOUNDARY' });
  const asKey = await world.call('CreateMaintenanceWindow', {
    projectName,
    requestId: randomUUID(),
    untilUnix,
  });
  t.match(asKey, { status: 403, reason: 'HUMAN_OPERATION' });
});
