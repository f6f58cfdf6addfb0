/**
 * Keys, service accounts, members and projects from the command line, against the whole service:
 * secrets shown once, instructions for a lost secret, and output for people and programs.
 */
import { type Test, test } from 'tap';
import { type CliWorld, startSeparateCliWorld } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';

test('identities from the command line', async (t) => {
  const world = await startSeparateCliWorld(t, 'identity');
  const made = ['admin', 'project', 'create', 'identity', '--owner', 'owner@identity.test'];
  t.equal((await world.svc(made)).code, 0);
  await world.signIn();
  await t.test('service accounts', (t) => accounts(t, world));
  await t.test('keys', (t) => keys(t, world));
  await t.test('lost secrets', (t) => lostSecrets(t, world));
  await t.test('members', (t) => members(t, world));

  await t.test('projects are listed with the role in each', async (t) => {
    const ran = await world.svc(['projects', 'list']);
    t.match(
      ran.stdout,
      /^name +project +your role +created\nidentity +identity +OWNER +\d{4}-\d\d-\d\dT/,
    );
    t.match((await world.svc(['projects', 'list', '--json'])).json, {
      projects: [{ name: 'projects/identity', role: 'OWNER' }],
    });
  });

  await t.test('credentials with access', (t) => waysIn(t, world));

  await t.test('a key printed once is printed nowhere else', async (t) => {
    const secrets = world.printed.join('').match(/svc_(pk|sk|inv)_\w+/g) ?? [];
    t.ok(secrets.length > 3);
    t.equal(new Set(secrets).size, secrets.length, 'each once');
    const log = world.lines.join('');
    for (const secret of secrets) t.notOk(log.includes(secret));
  });
});

async function waysIn(t: Test, { svc, endpoint }: CliWorld): Promise<void> {
  const bound = ['--capability', 'monitoring.read', '--network', '127.0.0.0/8'];
  const made = await svc(['keys', 'create', '--name', 'found', ...bound]);
  const secret = made.stdout.trim();
  const listed = await svc(['credentials', '--kind', 'PERSONAL_KEY']);
  t.equal(listed.code, 0, listed.stderr);
  const line = new RegExp(
    `^found +PERSONAL_KEY .*ACTIVE.*…${secret.slice(-4)} .*projects/identity/members/.*`,
    'm',
  );
  t.match(listed.stdout, line);
  const { credentials } = (await svc(['credentials', '--json'])).json;
  const { name, ownerName } = credentials.find(
    (each: { displayName: string }) => each.displayName === 'found',
  );
  const own = await svc(['keys', 'list', '--member', ownerName]);
  const row = /found +ACTIVE +monitoring\.read +127\.0\.0\.0\/8 /;
  t.match(own.stdout, row, 'an owner names the member');
  t.equal((await svc(['keys', 'list', '--member', 'x', '--service-account', 'y'])).code, 2);

  const body = JSON.stringify({ key: secret });
  const headers = { 'content-type': 'application/json' };
  const report = await fetch(`${endpoint}/v1/leaked-keys`, { method: 'POST', body, headers });
  t.same(await report.json(), { results: [{ revoked: true }] });
  t.match((await svc(['keys', 'show', name])).stdout, /^revoked +LEAKED$/m);
  t.match((await svc(['credentials', '--all'])).stdout, /found .*REVOKED: LEAKED/);

  const sessions = await svc(['sessions', 'list']);
  t.match(sessions.stdout, /^session +signed in by +client .*\n\w+ .* this one$/m);
  const { json } = await svc(['sessions', 'list', '--json']);
  t.match(json.sessions, [{ current: true }]);
  t.equal((await svc(['sessions', 'end', secret])).code, 2, 'never by a secret');
}

async function accounts(t: Test, { svc }: CliWorld): Promise<void> {
  await t.test('templates are listed with their permissions', async (t) => {
    const ran = await svc(['service-accounts', 'templates']);
    t.match(ran.stdout, /^metrics-scraper +Metrics scraper +monitoring\.read /m);
  });

  await t.test('an account is created, changed, disabled, enabled and deleted', async (t) => {
    const create = ['service-accounts', 'create', '--name', 'Deploy', '--template'];
    const { name } = (await svc([...create, 'alert-manager', '--json'])).json;
    t.match(name, /^projects\/identity\/serviceAccounts\/\w+$/);
    const id = name.split('/').at(-1);
    const act = (...args: string[]) => svc(['service-accounts', ...args]);
    t.match((await act('show', id)).stdout, /^permissions +monitoring\.read monitoring\.write$/m);
    const narrowed = await act('update', id, '--capability', 'monitoring.read');
    t.match(narrowed.stdout, /^permissions +monitoring\.read$/m);
    t.match(narrowed.stdout, /^name +Deploy$/m, 'other fields stay unchanged');
    t.match((await act('update', id, '--capability', 'none')).stdout, /^permissions +nothing$/m);
    const disabled = await act('disable', id, '--reason', 'Leaked');
    t.match(disabled.stdout, /^state +DISABLED\ndisabled +Leaked$/m);
    t.match((await act('show', id)).stdout, /^disabled +Leaked$/m, 'later readers see the reason');
    const enabled = await act('enable', name);
    t.match(enabled.stdout, /^state +ACTIVE$/m);
    t.notMatch(enabled.stdout, /Leaked/);
    t.match((await act('list')).stdout, new RegExp(`^Deploy +ACTIVE .*${id}$`, 'm'));
    t.match((await act('delete', id)).stdout, `Deleted ${name}`);
    t.match((await act('list')).stdout, 'No service accounts in this project');
  });

  await t.test('a repeated request id creates nothing twice', async (t) => {
    const requestId = '0c7d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a01';
    const args = ['--name', 'Once', '--template', 'metrics-scraper', '--request-id', requestId];
    const create = ['service-accounts', 'create', '--json', ...args];
    const [first, second] = [await svc(create), await svc(create)];
    t.equal(first.json.name, second.json.name);
    const other = await svc([
      ...create.slice(0, -4),
      '--template',
      'alert-manager',
      '--request-id',
      requestId,
    ]);
    t.match(other, { code: 1, stderr: /REQUEST_ID_REUSED/ });
  });
}

async function keys(t: Test, world: CliWorld): Promise<void> {
  const { svc } = world;
  const create = ['keys', 'create', '--name', 'Scraper', '--capability', 'monitoring.read'];

  await t.test('the secret is alone on standard output, the rest on standard error', async (t) => {
    const ran = await svc([...create, '--lifetime', '30d']);
    t.match(ran.stdout, /^svc_pk_\w+\n$/);
    t.match(ran.stderr, /^last four +…\w{4}$/m);
    t.notOk(ran.stderr.includes(ran.stdout.trim()));
    const env = { SVC_API_KEY: ran.stdout.trim(), SVC_PROJECT: 'identity' };
    t.match(await svc(['monitoring', 'vms'], { as: 'nobody', env }), { code: 0 });
    const human = await svc(['members', 'list'], { as: 'nobody', env });
    t.match(human, { code: 3, stderr: /Keys cannot do this/ });
  });

  await t.test('a key is listed, rotated, shown and revoked', async (t) => {
    const accountArgs = ['--name', 'Robot', '--template', 'alert-manager', '--json'];
    const account = (await svc(['service-accounts', 'create', ...accountArgs])).json.name;
    const of = ['--service-account', account];
    const first = (await svc([...create, ...of, '--json'])).json;
    t.match(first, { secretAvailable: true, secret: /^svc_sk_/ });
    const { name } = first.key;
    const id = name.split('/').at(-1);
    const rotated = (await svc(['keys', 'rotate', id, ...of, '--overlap', '2h', '--json'])).json;
    t.match(rotated.secret, /^svc_sk_/);
    const old = await svc(['keys', 'show', name]);
    t.match(old.stdout, /^state +ROTATING$/m);
    t.match(old.stdout, new RegExp(`^successor +${rotated.key.name}$`, 'm'));
    t.match(old.stdout, /^valid until +\d{4}-\S+, WITHIN A DAY$/m);
    const everywhere = await svc(['keys', 'list', '--service-account', '-']);
    t.match(
      everywhere.stdout,
      new RegExp(` ${id} +${account.split('/').at(-1)}$`, 'm'),
      'listed with its account',
    );
    const listed = (await svc(['keys', 'list', ...of])).stdout;
    t.match(listed, /^name .* valid until +warning .* key$/m);
    const soon = new Date(Date.now() + 2 * 3_600_000).getTime();
    const ends = new RegExp(` ROTATING .* (\\S+) +WITHIN A DAY +never +${id}$`, 'm').exec(listed);
    const endMs = Date.parse(ends?.[1] ?? '');
    t.ok(Math.abs(endMs - soon) < 60_000, 'the end of the overlap, not of the lifetime');
    t.match(listed, new RegExp(` ACTIVE .*Z? +never +${rotated.key.name.split('/').at(-1)}$`, 'm'));
    const revoked = await svc(['keys', 'revoke', name, '--reason', 'Not needed']);
    t.match(revoked.stdout, /^revoked +Not needed$/m);
    t.match(revoked.stdout, /^can do now +nothing \(it has ended\)$/m);
    t.notMatch(revoked.stdout, /works until/);
    t.notMatch((await svc(['keys', 'list', ...of])).stdout, id, 'only active keys');
    t.match(
      (await svc(['keys', 'list', ...of, '--all'])).stdout,
      new RegExp(`REVOKED .* ended +never +${id}$`, 'm'),
    );
    await svc(['service-accounts', 'update', account, '--capability', 'none']);
    const idle = await svc(['keys', 'show', rotated.key.name]);
    t.match(
      idle.stdout,
      /^can do now +nothing \(see its owner\)$/m,
      'the key is active but has no permissions',
    );
  });

  await t.test('a key that expires soon is marked', async (t) => {
    const { stdout } = await svc([...create, '--lifetime', '12h', '--json']);
    t.match(JSON.parse(stdout).key, { expiryWarning: 'WITHIN_1_DAY' });
    t.match((await svc(['keys', 'list'])).stdout, /^Scraper .*WITHIN A DAY +never +\w+$/m);
  });

  await t.test('invalid keys are rejected with the message of the service', async (t) => {
    t.match(await svc([...create, '--lifetime', '400d']), { code: 1, stderr: /INVALID_FIELD/ });
    const unknown = ['keys', 'create', '--name', 'x', '--capability', 'everything'];
    t.match(await svc(unknown), { code: 1, stderr: /INVALID_FIELD/ });
  });
}

async function lostSecrets(t: Test, world: CliWorld): Promise<void> {
  const gateway = await startGateway(t, world.endpoint);
  const create = ['keys', 'create', '--name', 'Lost', '--capability', 'monitoring.read'];

  await t.test(
    'a creation whose response is lost prints the result and the next step',
    async (t) => {
      const requestId = '5a0d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a02';
      const args = [...create, '--request-id', requestId];
      const first = await world.svc(args);
      t.match(first, { code: 0, stdout: /^svc_pk_/ });
      const second = await world.svc(args);
      t.match(second, { code: 1, stdout: '', stderr: /cannot be shown again\./ });
      t.notOk(second.stderr.includes(first.stdout.trim()));
      const revoke = /Revoke it first: svc (keys revoke \S+)/.exec(second.stderr)?.[1] ?? '';
      t.match(await world.svc(revoke.split(' ')), { code: 0, stdout: /^state +REVOKED$/m });
      t.match(
        await world.svc(create),
        { code: 0, stdout: /^svc_pk_/ },
        'then another one is created',
      );
      const other = await world.svc([...args, '--lifetime', '1d']);
      t.match(other, { code: 1, stderr: /REQUEST_ID_REUSED/ });
    },
  );

  await t.test('a rotation without a response is resent unchanged', async (t) => {
    const { key } = (await world.svc([...create, '--json'])).json;
    await world.svc(['login', '--link', '-', '--endpoint', gateway.url], {
      as: 'behind',
      input: (await world.svc(['admin', 'login-link', 'owner@identity.test', '--json'])).json.link,
    });
    gateway.faults.push({ kind: 'lose answer', path: 'RotateKey' });
    const rotate = ['keys', 'rotate', key.name];
    const ran = await world.svc(rotate, { as: 'behind', env: { SVC_ENDPOINT: gateway.url } });
    t.match(ran, {
      code: 1,
      stdout: '',
      stderr: /then rotate the old key again: svc keys rotate/,
    });
    const sent = gateway.requests.filter(({ path }) => path.endsWith('RotateKey'));
    t.equal(sent.length, 2);
    t.equal(sent[0]?.body, sent[1]?.body);
    const revoke = /Revoke it first: svc (keys revoke \S+)/.exec(ran.stderr)?.[1] ?? '';
    t.equal((await world.svc(revoke.split(' '))).code, 0);
    t.match(
      await world.svc(rotate),
      { code: 0, stdout: /^svc_pk_/ },
      'the old key can be rotated again',
    );
  });
}

async function members(t: Test, world: CliWorld): Promise<void> {
  const { svc } = world;
  await t.test('a person is invited, joins, gets another role, and leaves', async (t) => {
    const invited = await svc(['members', 'invite', 'new@identity.test', '--role', 'VIEWER']);
    t.match(invited.stdout, /^http:\S+#svc_inv_\w+\n$/, 'the link is alone on standard output');
    const listed = await svc(['members', 'list', '--invitations']);
    t.match(listed.stdout, /^new@identity\.test +VIEWER +PENDING /m);
    const login = await svc(['login', '--link', '-'], { as: 'new', input: invited.stdout });
    t.equal(login.code, 0, login.stderr);
    const mine = await svc(['members', 'list'], { as: 'new' });
    t.match(mine.stdout, /^new .*VIEWER +\S+ +you +\w+$/m);
    t.match(mine.stdout, / OWNER +\S+ +\w+$/m, 'the other one is not');
    const denied = await svc(['service-accounts', 'list'], { as: 'new' });
    t.match(denied, { code: 3, stderr: /ask an OWNER/ });
    t.match(denied.stderr, /An owner of the project can give you another role/);
    t.notMatch(denied.stderr, /credential/);
    const used = await svc(['login', '--link', '-'], { as: 'late', input: invited.stdout });
    t.match(used, { code: 3, stderr: /CREDENTIAL_REVOKED/ });
    t.match(used.stderr, /A link works once.*svc admin login-link/);
    t.notMatch(used.stderr, /successor/);
    const { members: rows } = (await svc(['members', 'list', '--json'])).json;
    const { name } = rows.find(({ role }: { role: string }) => role === 'VIEWER');
    const raised = await svc(['members', 'role', name, '--role', 'EDITOR']);
    t.match(raised.stdout, / EDITOR /);
    t.match(await svc(['members', 'remove', name]), { code: 0, stdout: `Removed ${name}\n` });
    const outside = await svc(['members', 'list', '--project', 'identity'], { as: 'new' });
    t.match(outside, { code: 3, stderr: /You are not a member of this project/ });
    t.match(outside.stderr, /svc projects list/);
    t.notMatch(outside.stderr, /credential belongs/);
  });

  await t.test('an invitation is withdrawn', async (t) => {
    const invite = ['members', 'invite', 'late@identity.test', '--role', 'VIEWER', '--json'];
    const { link, invitation } = (await svc(invite)).json;
    t.match(await svc(['members', 'uninvite', invitation.name.split('/').at(-1)]), { code: 0 });
    const login = await svc(['login', '--link', '-'], { as: 'late', input: link });
    t.equal(login.code, 3, login.stderr);
  });

  await t.test('the last owner cannot leave', async (t) => {
    const { members: rows } = (await svc(['members', 'list', '--json'])).json;
    t.match(await svc(['members', 'remove', rows[0].name]), {
      code: 1,
      stderr: /INVALID_STATE|LIMIT/,
    });
  });
}
