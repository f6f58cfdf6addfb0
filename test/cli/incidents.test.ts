/**
 * `svc incidents` against the whole service: a rule that fires on stored readings, and a person who
 * acts on it. Also the window chart on its own.
 */
import { test } from 'tap';
import { windowChart } from '../../src/cli/monitoring/window-chart.ts';
import { startCliWorld, writeReadings } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';

test('svc incidents show, explain, ack, snooze, unsnooze', async (t) => {
  const world = await startCliWorld(t);
  const login = await world.svc(['login', '--link', '-'], { input: world.demo.signInUrl ?? '' });
  t.equal(login.code, 0, login.stderr);
  const now = Math.floor(Date.now() / 1000);
  const agos = [150, 120, 60, 30, 1];
  await writeReadings(
    world,
    agos.map((ago, index) => ({ at: now - ago, memory: 10 + index, index })),
  );
  const env = { SVC_PROJECT: 'demo' };
  const svc = (...args: string[]) => world.svc(['incidents', ...args], { env });
  const rule = ['--name', 'Memory', '--metric', 'memory_used_bytes', '--severity', 'CRITICAL'];
  const condition = ['--operator', 'GREATER_THAN', '--threshold', '5', '--for', '90s'];
  // As in a template whose threshold was lowered: a breaching value never recovers.
  condition.push('--recovery-threshold', '80', '--recovery-for', '2m');
  const link = 'https://runbooks.example.com/memory';
  const runbook = ['--runbook', 'Restart it.', '--runbook-url', link, '--label', 'team=web'];
  const saved = await world.svc(
    ['alerts', 'save', ...rule, ...condition, ...runbook, '--all-vms'],
    { env },
  );
  t.equal(saved.code, 0, saved.stderr);
  const incident = await until('it fires', async () => {
    const { incidents } = (await svc('list', '--json')).json;
    return incidents[0] as { name: string } | undefined;
  });
  const id = incident.name.slice(incident.name.lastIndexOf('/') + 1);

  await t.test('show prints the facts and then the timeline', async (t) => {
    const { code, stdout, stderr } = await svc('show', id);
    t.equal(code, 0, stderr);
    t.match(stdout, /^state +FIRING$/m);
    t.match(stdout, /^VM +One \(projects\/demo\/vms\/vm-1\)$/m);
    t.match(stdout, /^condition +memory_used_bytes above 5 B for 90 s$/m);
    t.match(stdout, /^data +OBSERVED$/m);
    t.match(stdout, /^runbook +Restart it\.\nrunbook link +https:\S+\/memory$/m);
    t.match(stdout, /^labels +\{?team="?web/m);
    t.match(stdout, /^time +event +by +fields$/m);
    t.match(stdout, / sustained +evaluator +Fired: memory_used_bytes above 5 B for 90 s, since /);
    t.match(stdout, / sustained .* value=\S+/, 'with the fields of each step');
    t.match((await svc('show', id, '--json')).json, {
      name: incident.name,
      timeline: [{ event: 'sustained' }],
    });
  });
  await t.test('explain draws the window with its threshold and its gap', async (t) => {
    const { code, stdout, stderr } = await svc('explain', incident.name);
    t.equal(code, 0, stderr);
    t.match(stdout, /^memory_used_bytes was above 5 B in each of 3 samples from /);
    t.match(stdout, /^12 B \|.*\*$/m, 'the largest value on top');
    t.match(stdout, /^ 5 B \|-{10,}$/m, 'the threshold');
    t.match(stdout, /^ +\+-+~+-+$/m, 'the gap below');
    t.match(stdout, /^recovery +past 5 B for 120 s$/m);
    t.match(stdout, /^re-evaluated +AGREES$/m);
    t.match(stdout, /^\S+ +10 B +yes$/m);
    t.match((await svc('explain', id, '--json')).json, {
      condition: { threshold: 5 },
      recomputation: { status: 'AGREES' },
    });
  });
  await t.test('ack acknowledges with a note', async (t) => {
    const { code, stdout, stderr } = await svc('ack', id, '--note', 'on it');
    t.equal(code, 0, stderr);
    t.match(stderr, /^Acknowledging \S+ \(request \S+\)$/m);
    t.match(stdout, /^attention +acknowledged by First owner: on it$/m);
    t.match((await svc('list')).stdout, /acknowledged by First owner: on it/);
  });
  await t.test('snooze suppresses notifications, and unsnooze resumes them', async (t) => {
    const snoozed = await svc('snooze', id, '--for', '2h');
    t.match(snoozed, {
      code: 0,
      stdout: /^attention +snoozed until \S+, ack/m,
      stderr: /--until \d+/,
    });
    const unsnoozed = await svc('unsnooze', id);
    t.equal(unsnoozed.code, 0, unsnoozed.stderr);
    t.notMatch(unsnoozed.stdout, /^attention .*snoozed until/m);
    t.match(unsnoozed.stdout, / snoozed +First owner +Snoozed until /);
    t.match(await svc('snooze', id, '--for', '8d'), {
      code: 2,
      stderr: /--for allows at most 7d, until \d{4}-\d\d-\d\dT/,
    });
    t.match(await svc('snooze', id, '--until', '2999-01-01T00:00:00Z'), { code: 2 });
    t.match(await svc('snooze', id), { code: 2, stderr: /either --for or --until/ });
  });
  await t.test('a key may read but not act', async (t) => {
    const key = { ...env, SVC_API_KEY: world.demo.apiKey };
    const asKey = (...args: string[]) =>
      world.svc(['incidents', ...args], { as: 'nobody', env: key });
    t.match(await asKey('show', id), { code: 0, stdout: / human +Acknowledged; it still fires/ });
    t.not((await asKey('ack', id)).code, 0);
  });
  await t.test('several are acknowledged or snoozed at once, each with its result', async (t) => {
    const done = await svc('ack', id, 'inc_none', '--note', 'ours');
    t.equal(done.code, 1, 'one of them does not exist');
    t.match(done.stdout, new RegExp(`^Memory +One +${id} +done$`, 'm'));
    t.match(done.stdout, /^- +- +inc_none +NOT_FOUND +\S/m);
    t.match(await svc('snooze', id, 'Memroy', '--for', '1h'), {
      code: 4,
      stdout: '',
      stderr:
        /No firing incident named "Memroy" in the project\. No incidents were changed\n {2}Did you mean "Memory"/,
    });
    t.match(
      (await svc('show', id)).stdout,
      /acknowledged by First owner: on it/,
      'the first incident is unchanged',
    );
    const snoozed = await svc('snooze', id, 'Memory', '--for', '1h', '--json');
    t.match(snoozed, { code: 0, json: { name: incident.name } }, 'the same one twice');
    t.match(await svc('ack'), { code: 2, stderr: /INCIDENT is missing/ });
    const list = async (...filter: string[]) => (await svc('list', ...filter, '--json')).json;
    t.match(await list('--severity', 'CRITICAL'), { incidents: [{ name: incident.name }] });
    t.same((await list('--severity', 'INFO')).incidents, []);
    t.same((await list('--attention')).incidents, [], 'the incident is snoozed');
    t.match((await svc('list')).stdout, / snoozed until \S+, acknowledged by First owner/);
    t.same((await list('--datacenter', 'nowhere')).incidents, []);
  });
  await t.test('overview counts the incident, and a VM is shown with its telemetry', async (t) => {
    const overview = await world.svc(['overview'], { env });
    t.match(overview, {
      code: 0,
      stdout: /^incidents +1 firing, 0 attention, 1 acknowledged, 1 s/m,
    });
    const json = (await world.svc(['overview', '--json'], { env })).json;
    t.match(json, { incidents: { firing: '1', critical: '1', snoozed: '1' } });
    const { vms } = (await world.svc(['monitoring', 'vms', '--json'], { env })).json;
    const displayed = await world.svc(['monitoring', 'show', vms[0].name, '--json'], { env });
    t.match(displayed, { code: 0, json: { name: vms[0].name, expanded: { available: Boolean } } });
  });
  await t.test('an unknown incident is reported', async (t) => {
    t.match(await svc('show', 'inc_none'), { stderr: /NOT_FOUND|There is no/ });
  });
});

test('windowChart draws observations and nothing between them', async (t) => {
  const at = (seconds: number) => seconds * 1000;
  const sample = (seconds: number, value: number) => {
    return { atMs: at(seconds), value, breaches: value > 90 };
  };
  const chart = windowChart({
    samples: [sample(120, 95), sample(150, 100), sample(210, 92), sample(240, 91)],
    gaps: [
      { startMs: at(0), endMs: at(120), tolerated: false },
      { startMs: at(150), endMs: at(210), tolerated: true },
    ],
    threshold: 90,
    unit: 'percent',
  });
  t.same(chart, [
    '100 % |               *',
    '      |',
    '      |',
    '      |',
    '      |            *',
    '      |',
    '      |                     *  *',
    ' 90 % |-------------------------',
    '      +-xxxxxxxxxxx----~~~~~----',
    '* breaches, - threshold, ~ gap within the tolerance, x gap beyond it',
  ]);
  const one = windowChart({ samples: [sample(0, 95)], gaps: [], threshold: 95, unit: 'percent' });
  t.equal(one.filter((line) => line.includes('*')).length, 2, 'the sample and the legend');
  t.same(windowChart({ samples: [], gaps: [], threshold: 1, unit: 'percent' }), []);
});
