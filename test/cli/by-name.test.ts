/**
 * The command line accepts names wherever it accepts ids, against the whole service: a unique name
 * resolves, and an ambiguous one is rejected with the candidates' ids.
 */
import { type Test, test } from 'tap';
import { type DemoWorld, startCliWorld, writeReadings } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';

const RULE = ['--metric', 'memory_used_bytes', '--operator', '>', '--threshold', '5'];

test('names resolve to ids', async (t) => {
  const world = await startCliWorld(t, {
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const login = await world.svc(['login', '--link', '-'], { input: world.demo.signInUrl ?? '' });
  t.equal(login.code, 0, login.stderr);
  const now = Math.floor(Date.now() / 1000);
  await writeReadings(world, [{ at: now - 30, memory: 9, index: 0 }]);
  await t.test('names of projects', (t) => projects(t, world));
  await t.test('names of destinations, rules and VMs', (t) => monitoring(t, world));
  await t.test('two rules with the same name are listed with their conditions', (t) =>
    twinRules(t, world),
  );
  await t.test('names of unknown VMs', (t) => unknownVms(t, world));
  await t.test('names of incidents', (t) => incidents(t, world));
  await t.test('API-40: service accounts and keys are accepted by name', (t) => keys(t, world));
  await t.test('members are accepted by mail address', (t) => members(t, world));
});

async function projects(t: Test, world: DemoWorld): Promise<void> {
  const called = (given: string, ...args: string[]) =>
    world.svc(['limits', '--project', given, ...args], { env: { SVC_PROJECT: '' } });
  const { json } = await called('demo', '--json');
  t.ok(Object.keys(json).length > 0);
  for (const given of ['Demo', 'DEMO', 'projects/demo']) {
    t.same((await called(given, '--json')).json, json, given);
  }
  t.match(await called('Dmeo'), {
    code: 2,
    stderr: /You are not a member of a project "Dmeo"\n {2}Did you mean "Demo"\?/,
  });
  const withKey = await world.svc(['monitoring', 'vms', '--project', 'Web shop'], {
    env: { SVC_API_KEY: world.demo.apiKey },
  });
  t.match(withKey, { code: 2, stderr: /"Web shop" is not a project id\n/ });
  const completed = await world.svc(['__complete', '--', 'overview', '--project', 'de']);
  t.equal(completed.stdout, 'demo\n');
}

async function monitoring(t: Test, world: DemoWorld): Promise<void> {
  const receiver = await startReceiver(t);
  const svc = (...args: string[]) => world.svc(args, { env: { SVC_PROJECT: 'demo' } });
  const create = ['destinations', 'create', '--kind', 'webhook', '--url', receiver.url];
  for (const name of ['Night pager', 'Team', 'Team']) await svc(...create, '--name', name);

  await t.test(
    'API-40: a destination’s name is accepted in any case, also in a rule',
    async (t) => {
      t.match(await svc('destinations', 'show', 'night pager'), {
        stdout: /^name +Night pager$/m,
      });
      const rule = ['alerts', 'save', '--name', 'Memory is full', '--severity', 'WARNING', ...RULE];
      const saved = await svc(...rule, '--vm', 'One', '--destination', 'Night pager');
      t.equal(saved.code, 0, saved.stderr);
      const { rules } = (await svc('alerts', 'list', '--json')).json;
      t.match(rules, [
        {
          spec: {
            operator: 'GREATER_THAN',
            vmNames: ['projects/demo/vms/vm-1'],
            destinationNames: [/^projects\/demo\/destinations\/dst_/],
          },
        },
      ]);
    },
  );

  await t.test('API-40: an ambiguous or unknown name is refused with candidates', async (t) => {
    const ran = await svc('destinations', 'show', 'Team');
    t.match(ran, {
      code: 2,
      stderr: /"Team" is the name of 2 destinations\. Use the id of one\n/,
    });
    const ids = ran.stderr.match(/^ {2}dst_\w+ {2}Team$/gm) ?? [];
    t.equal(ids.length, 2);
    const [id = ''] = ids[0]?.trim().split(' ') ?? [];
    t.equal((await svc('destinations', 'show', id)).code, 0);
    const near = await svc('destinations', 'show', 'Nigth pager');
    t.match(near, {
      code: 4,
      stderr: /No destination named "Nigth pager".*\n {2}Did you mean "Night pager"\?/,
    });
  });

  await t.test('API-40: completion offers names, and ids where a name is ambiguous', async (t) => {
    const names = async (...args: string[]) => {
      return (await svc('__complete', '--', ...args)).stdout.trimEnd().split('\n');
    };
    t.match(
      await names('destinations', 'show', ''),
      [/^dst_\w+$/, /^dst_\w+$/, 'Night pager'].reverse(),
    );
    t.same(await names('destinations', 'show', 'Nig'), ['Night pager']);
    t.same(await names('monitoring', 'show', 'O'), ['One']);
    t.same(await names('keys', 'revoke', ''), ['Demo key']);
    const elsewhere = ['destinations', 'show', '--project', 'other', ''];
    t.match(await svc('__complete', '--', ...elsewhere), { code: 1, stdout: '', stderr: '' });
  });

  await t.test('a VM and a rule', async (t) => {
    t.match(await svc('monitoring', 'show', 'One'), { stdout: /^VM +projects\/demo\/vms\/vm-1$/m });
    t.equal((await svc('monitoring', 'query', 'one')).code, 0);
    const none = await svc('alerts', 'delete', 'Memory', '--json');
    t.equal(none.code, 4);
    t.match(JSON.parse(none.stderr), {
      error: { reason: 'NOT_FOUND', hint: /svc alerts list$/ },
    });
    const edited = await svc('alerts', 'save', '--id', 'Memory is full', '--threshold', '6');
    t.match(edited, { code: 0, stdout: /^version +2$/m }, edited.stderr);
    t.match(await svc('alerts', 'instances', '--rule', 'memory is full', '--vm', 'One'), {
      code: 0,
    });
  });
}

async function twinRules(t: Test, world: DemoWorld): Promise<void> {
  const svc = (...args: string[]) => world.svc(args, { env: { SVC_PROJECT: 'demo' } });
  for (const threshold of ['70', '80']) {
    const twin = ['--name', 'Twin', '--severity', 'INFO', ...RULE.slice(0, -1), threshold];
    await svc('alerts', 'save', ...twin, '--all-vms', '--pause');
  }
  const twins = (await svc('alerts', 'delete', 'Twin')).stderr;
  for (const threshold of [70, 80]) {
    t.match(twins, new RegExp(`^  \\S{36}  Twin  memory_used_bytes > ${threshold}$`, 'm'));
  }
}

async function unknownVms(t: Test, world: DemoWorld): Promise<void> {
  const svc = (...args: string[]) => world.svc(args, { env: { SVC_PROJECT: 'demo' } });
  await t.test('a misspelt VM is an error, never an empty list', async (t) => {
    const rule = ['--name', 'Typo', '--severity', 'INFO', ...RULE];
    const lines = [
      ['incidents', 'list', '--vm', 'vm-2'],
      ['alerts', 'instances', '--rule', 'Memory is full', '--vm', 'vm-2'],
      ['alerts', 'save', ...rule, '--vm', 'vm-2'],
      ['monitoring', 'show', 'vm-2'],
      ['monitoring', 'query', 'vm-2'],
      ['maintenance', 'plan', '--vm', 'vm-2', '--for', '1h'],
      ['vms', 'enrol', 'vm-2'],
    ];
    for (const line of lines) {
      const ran = await svc(...line);
      t.match(ran, { code: 4, stdout: '' }, line.join(' '));
      t.match(ran.stderr, /No VM named "vm-2" in the project\n {2}Did you mean "vm-1"\?/);
    }
    t.match(await svc('incidents', 'list', '--vm', 'Onne'), { stderr: /Did you mean "One"\?/ });
    const retired = ['incidents', 'list', '--vm', '7b0c5a0e-6d2a-4a55-9a53-0123456789ab'];
    t.match(await svc(...retired), { code: 0, stdout: 'No matching incidents\n' });
  });
  await t.test('a future VM is enrolled by its id', async (t) => {
    const ran = await svc('vms', 'enrol', 'vm-2', '--datacenter', 'DC-1');
    t.match(ran, { code: 0, stdout: /^svc_enrol_/ }, ran.stderr);
    t.match(await svc('vms', 'unenrol', 'vm-2'), { code: 0 }, 'before it has reported');
    t.match(await svc('vms', 'unenrol', 'vm-3'), { code: 4, stderr: /has never been enrolled/ });
  });
  await t.test('a filter without matches prints only a message', async (t) => {
    const none = await svc('alerts', 'instances', '--data-state', 'MISSING');
    t.match(none, { code: 0, stdout: 'No matching alert instances\n' });
  });
}

async function incidents(t: Test, world: DemoWorld): Promise<void> {
  const svc = (...args: string[]) => world.svc(args, { env: { SVC_PROJECT: 'demo' } });
  await t.test(
    'API-40: incidents are found by rule or VM while one fires, also several at once',
    async (t) => {
      const incident = await until('it fires', async () => {
        const { json } = await svc('incidents', 'list', '--state', 'FIRING', '--json');
        return json.incidents[0];
      });
      const second = ['--name', 'Also full', '--severity', 'INFO', ...RULE, '--vm', 'One'];
      const other = await svc('alerts', 'save', ...second, '--json');
      const twins = await until('both fire', async () => {
        const ran = await svc('incidents', 'show', 'One');
        return ran.code === 2 ? ran.stderr : undefined;
      });
      t.match(twins, /^ {2}inc_\w+ {2}Also full on One {2}started \d{4}-\S+T\S+$/m);
      await svc('alerts', 'delete', other.json.name);
      await until(
        'the incident is retired',
        async () => (await svc('incidents', 'show', 'One')).code === 0 || undefined,
      );
      const displayed = await svc('incidents', 'show', 'One');
      t.match(displayed.stdout, new RegExp(`^incident +${incident.name}$`, 'm'), displayed.stderr);
      const acked = await svc('incidents', 'ack', 'Memory is full on One', '--note', 'mine');
      t.match(acked, { code: 0, stdout: /^attention +acknowledged by First owner: mine$/m });
      const both = await svc('incidents', 'ack', 'One', 'inc_none');
      t.match(
        both,
        { code: 1, stdout: /^Memory is full +One +inc_\w+ +done$/m },
        'one of them does not exist',
      );
      t.match(both.stdout, /^- +- +inc_none +NOT_FOUND +\S/m);
      const nextMorning = await svc('incidents', 'snooze', 'Memory is full', '--until', '08:00');
      const end = new Date(Number(/\(--until (\d+)/.exec(nextMorning.stderr)?.[1]) * 1000);
      t.same([end.getHours(), end.getMinutes()], [8, 0], nextMorning.stderr);
      const ahead = end.getTime() - Date.now();
      t.ok(ahead > 0 && ahead <= 25 * 3_600_000, 'the next one');
    },
  );

  await t.test('a read-only key uses ids for resources that it may not list', async (t) => {
    const made = await svc('keys', 'create', '--name', 'reader', '--capability', 'monitoring.read');
    const env = { SVC_PROJECT: 'demo', SVC_API_KEY: made.stdout.trim() };
    const asKey = (...args: string[]) => world.svc(args, { as: 'nobody', env });
    t.equal((await asKey('deliveries', 'list', '--destination', 'dst_none')).code, 0);
    t.match(await asKey('deliveries', 'list', '--destination', 'Night pager'), { code: 3 });
    t.equal((await asKey('incidents', 'show', 'One')).code, 0);
  });
}

async function keys(t: Test, world: DemoWorld): Promise<void> {
  const svc = (...args: string[]) => world.svc(args, { env: { SVC_PROJECT: 'demo' } });
  await svc('service-accounts', 'create', '--name', 'Deploy bot', '--template', 'metrics-scraper');
  const create = ['keys', 'create', '--capability', 'monitoring.read'];
  await svc(...create, '--service-account', 'Deploy bot', '--name', 'ci key');
  await svc(...create, '--name', 'laptop');
  t.match(await svc('service-accounts', 'show', 'deploy bot'), { stdout: /^name +Deploy bot$/m });
  for (const [name, secret] of [
    ['ci key', /^svc_sk_/],
    ['laptop', /^svc_pk_/],
  ] as const) {
    const rotated = await svc('keys', 'rotate', name, '--overlap', '0');
    t.match(rotated, { code: 0, stdout: secret }, `${name}: ${rotated.stderr}`);
  }
  t.match(await svc('keys', 'show', 'ci key'), { stdout: /^state +ACTIVE$/m }, 'the active key');
  await svc(...create, '--name', 'twin');
  await svc(...create, '--name', 'twin', '--service-account', 'Deploy bot');
  const twins = (await svc('keys', 'show', 'twin')).stderr;
  t.equal(
    twins.match(/^ {2}\w+ {2}twin {2}ACTIVE {2}…\S{4} {2}created \d{4}-\S+T\S+$/gm)?.length,
    2,
    twins,
  );
  t.match(await svc('keys', 'show', 'no such key'), { code: 4, stderr: /No key named/ });
}

async function members(t: Test, world: DemoWorld): Promise<void> {
  const env = { SVC_PROJECT: 'acme' };
  await world.svc(['admin', 'project', 'create', 'acme', '--owner', 'boss@example.test']);
  await world.signIn('boss');
  const svc = (...args: string[]) => world.svc(args, { as: 'boss', env });
  const invite = ['members', 'invite', 'eve@example.test', '--role', 'EDITOR'];
  t.match(await svc(...invite), { code: 0 });
  t.match(await svc('members', 'uninvite', 'eve@example.test'), { code: 0 });
  const invited = await svc(...invite);
  await world.svc(['login', '--link', '-'], { as: 'eve', input: invited.stdout });
  const create = ['keys', 'create', '--capability', 'monitoring.read', '--name'];
  t.match(await svc(...create, 'laptop'), { code: 0 });
  const made = await world.svc([...create, 'tablet'], { as: 'eve', env });
  t.match(made.stdout, /^svc_pk_/, made.stderr);

  await t.test('API-40: an owner lists all keys and revokes one by its name', async (t) => {
    const all = await svc('credentials');
    t.match(all.stdout, /tablet/);
    t.match(all.stdout, /laptop/);
    const asEve = await world.svc(['keys', 'show', 'laptop'], { as: 'eve', env });
    t.match(asEve, { code: 4 }, 'a member finds only their own');
    t.match((await svc('keys', 'list', '--member', 'Eve@example.test')).stdout, /tablet/);
    const denied = await svc('keys', 'rotate', 'tablet');
    t.match(denied, { code: 3, stderr: /only for the member it belongs to/ });
    const revoked = await svc('keys', 'revoke', 'tablet', '--reason', 'Lost');
    t.match(revoked, { code: 0, stdout: /^revoked +Lost$/m }, revoked.stderr);
  });
  t.match(await svc('members', 'role', 'boss@example.test', '--role', 'OWNER'), {
    stdout: /boss@example\.test +OWNER/,
  });
  t.match(await svc('members', 'role', 'eve@example.test', '--role', 'VIEWER'), {
    code: 0,
    stdout: /VIEWER/,
  });
  t.match(await svc('members', 'remove', 'eve@example.test'), { code: 0, stdout: /^Removed / });
}
