/**
 * `svc audit list` as run by an owner: actions in the project, their actors, and the refusal with a
 * job's correlation id.
 */
import { test } from 'tap';
import { joinCliWorld } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';
import { prepareAccount, trustWorkflow } from '../support/trusted-workflow.ts';

test('svc audit list', async (t) => {
  const world = await joinCliWorld(t, 'audit');
  const { svc, platform } = world;
  const account = await prepareAccount(world, 'audit');
  const { env } = await trustWorkflow(world, account);
  const list = (...args: string[]) => svc(['audit', 'list', ...args]);

  await t.test('actions are listed newest first with their actors', async (t) => {
    const { code, stdout, stderr } = await list();
    t.equal(code, 0, stderr);
    t.match(stdout, /^time +who +did\n/);
    t.match(stdout, /owner@audit\.test +created the CI connection /);
    t.match(stdout, /owner@audit\.test +approved the CI verification /);
    t.match(stdout, /owner@audit\.test +created the service account /);
    t.notMatch(stdout, /xstate|proofSubmitted|→ active/, 'sentences only, no machine steps');
    const steps = (await list('--steps')).stdout;
    t.match(steps, /^time +by +machine +instance +event +from → to +request id\n/);
    t.match(steps, /people\/\w+ \(owner@audit\.test\) +ciConnection +\w+ +xstate\.init +- → /);
    t.match(steps, /ciVerification +\w+ +proofSubmitted /, 'steps without an actor, on request');
    const { transitions } = (await list('--json', '--limit', '3')).json;
    t.equal(transitions.length, 3);
    const times = transitions.map(({ atUnixMs }: { atUnixMs: string }) => Number(atUnixMs));
    t.same(
      times,
      [...times].sort((a, b) => b - a),
    );
  });

  await t.test('the list can be filtered by resource or machine', async (t) => {
    const id = account.split('/').at(-1) ?? '';
    const machines = async (...filter: string[]) => {
      const ran = await list('--json', ...filter);
      t.equal(ran.code, 0, ran.stderr);
      const { transitions } = ran.json as { transitions: { machine: string; instance: string }[] };
      return transitions.map(({ machine, instance }) => `${machine} ${instance}`);
    };
    for (const name of [`serviceAccounts/${id}`, `projects/audit/serviceAccounts/${id}`]) {
      t.same(await machines('--instance', name), [`serviceAccount ${id}`], name);
    }
    t.match(await machines('--machine', 'membership', '--project', 'audit'), [/^membership /]);
    t.match((await list('--instance', 'vms/none')).stdout, /^No matching actions\n$/);
    t.match(await list('--instance', id), { code: 2, stderr: /lacks the collection/ });
    t.match(await list('--limit', '0'), {
      code: 2,
      stderr: /--limit must be a whole number from 1 to/,
    });
    t.match(await list('--machine', 'nothing'), { code: 4, stderr: /There is no machine/ });
  });

  await t.test('the list can be filtered by the names of actors and resources', async (t) => {
    const whole = (await list('--json')).json.transitions;
    const [{ by, byDisplayName }] = whole;
    t.match(by, /^people\//);
    const own = whole.filter((each: { by: string }) => each.by === by);
    for (const given of [by, byDisplayName, byDisplayName.toUpperCase()]) {
      const found = (await list('--by', given, '--json')).json.transitions;
      t.same(found, own, given);
    }
    const eve = (await svc(['members', 'invite', 'eve@audit.test', '--role', 'VIEWER'])).stdout;
    await svc(['login', '--link', '-'], { as: 'eve', input: eve });
    for (const given of ['Eve', 'eve@audit.test', 'eve (eve@audit.test (not verified))']) {
      const { stdout } = await list('--by', given);
      t.match(stdout, /^\S+ +eve .* +joined the project with the role VIEWER$/m, given);
      t.notMatch(stdout, /owner@example/, given);
    }
    const created = ['--instance', 'serviceAccounts/deploy'];
    t.match((await list(...created)).stdout, /owner@audit\.test +created the service account /);
    t.match(await list('--instance', 'serviceAccounts/No such'), { code: 4 });
    t.match(await list('--by', 'owner@exmaple'), {
      code: 4,
      stdout: '',
      stderr:
        /No person or account named "owner@exmaple" was found\n {2}"svc members list" and "svc service-accounts list" show/,
    });
    const key = ['keys', 'create', '--service-account', account, '--name', 'k', '--json'];
    const made = (await svc([...key, '--capability', 'monitoring.write'])).json;
    const rule = ['--metric', 'load_1m', '--operator', '>', '--threshold', '1', '--all-vms'];
    const save = ['alerts', 'save', '--name', 'Load', '--severity', 'INFO', ...rule, '--wait', '0'];
    const asKey = { SVC_API_KEY: made.secret, SVC_PROJECT: 'audit' };
    await svc(save, { as: 'nobody', env: asKey });
    t.match((await list('--by', 'Deploy')).stdout, /serviceAccounts\/\S+ +created the rule Load/);
  });

  await t.test('API-34: a changed role is listed with the previous role', async (t) => {
    const { stdout: input } = await svc([
      'members',
      'invite',
      'bob@audit.test',
      '--role',
      'VIEWER',
    ]);
    await svc(['login', '--link', '-'], { as: 'bob', input });
    const { members } = (await svc(['members', 'list', '--json'])).json;
    const bob = members.find(({ role }: { role: string }) => role === 'VIEWER');
    for (const role of ['EDITOR', 'OWNER'])
      await svc(['members', 'role', bob.name, '--role', role]);
    await svc(['members', 'remove', bob.name]);
    const lines = (await list('--limit', '7')).stdout.split('\n').slice(1);
    const name = bob.displayName || bob.email;
    const did = [
      `removed ${name} from the project`,
      `changed the role of ${name}: EDITOR → OWNER`,
      `changed the role of ${name}: VIEWER → EDITOR`,
      'joined the project with the role VIEWER',
      'invited bob@audit.test as VIEWER',
    ];
    for (const sentence of did)
      t.ok(
        lines.some((line) => line.endsWith(sentence)),
        sentence,
      );
  });

  await t.test('a denied job is found by its correlation id', async (t) => {
    platform.job.claims = { ref: 'refs/heads/other' };
    const refused = await svc(['auth', 'ci', '--print'], { env });
    t.equal(refused.code, 3, refused.stderr);
    const correlation = /correlation: (\w{26})/.exec(refused.stderr)?.[1] ?? '';
    const found = await until('the refusal is noted', async () => {
      const ran = await list('--correlation', correlation, '--json');
      return ran.code === 0 ? ran.json : undefined;
    });
    t.match(found, {
      transitions: [{ machine: 'ciConnection', event: 'exchangeRefused' }],
    });
    t.equal(found.transitions.length, 1);
    t.match(
      (await list('--correlation', correlation)).stdout,
      /ciConnection +\w+ +exchangeRefused/,
    );
    const none = await list('--correlation', '01KDVDNA002N96WC8R14NF57GK');
    t.match(none, {
      code: 4,
      stdout: '',
      stderr: /None of all \d+ steps .*01KDVDNA002N96WC8R14NF57/,
    });
  });

  await t.test('anonymous callers and keys are rejected with that reason', async (t) => {
    t.match(await svc(['audit', 'list'], { as: 'nobody' }), { code: 3, stderr: /svc login/ });
  });
});
