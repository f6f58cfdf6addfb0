/**
 * `svc auth ci` against the whole service and a platform that behaves like GitHub's: the
 * environment of the child process, masking, and retries.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { processPorts } from '../../src/cli/client/ports.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { joinCliWorld } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';
import { until } from '../support/program.ts';
import { prepareAccount, trustWorkflow } from '../support/trusted-workflow.ts';
import { runWorkflow } from '../support/workflow-runner.ts';

/** A clock on which waiting takes no time. */
const impatient = {
  clock: {
    ...systemClock,
    wakeAfter(_: number, wake: () => void) {
      const turn = setImmediate(wake);
      return () => clearImmediate(turn);
    },
  },
};

test('svc auth ci', async (t) => {
  const world = await joinCliWorld(t, 'auth-ci');
  const { env } = await trustWorkflow(world, await prepareAccount(world, 'auth-ci'));

  await t.test(
    'it gets the token in its environment, and no right to request another',
    async (t) => {
      const more = { SVC_SETUP_CODE: 'code', SVC_REEXEC: '1', OWN: 'kept', GITHUB_ENV: '/env' };
      const ran = await world.svc(['auth', 'ci', '--', 'tool', '--json', '--help'], {
        env: { ...env, ...more },
      });
      t.equal(ran.code, 0, ran.stderr);
      t.equal(ran.stdout, '', 'standard output belongs to the child');
      t.strictSame(ran.child?.command, ['tool', '--json', '--help']);
      const { environment = {} } = ran.child ?? {};
      t.match(environment, { SVC_PROJECT: 'auth-ci', SVC_ENDPOINT: world.endpoint, OWN: 'kept' });
      for (const name of [
        'ACTIONS_ID_TOKEN_REQUEST_TOKEN',
        'ACTIONS_ID_TOKEN_REQUEST_URL',
        'SVC_SETUP_CODE',
        'SVC_REEXEC',
      ]) {
        t.notOk(name in environment, name);
      }
      const token = environment.SVC_API_KEY ?? '';
      t.match(ran.stderr, `::add-mask::${token}\n`);
      t.notOk(ran.child?.command.join(' ').includes(token));
      const read = await world.svc(['monitoring', 'vms'], { as: 'job', env: environment });
      t.match(read, { code: 0 }, 'it reads its project');
      const save = [
        'alerts',
        'save',
        '--name',
        'x',
        '--metric',
        'cpu_utilization_pct',
        '--all-vms',
      ];
      const spec = ['--operator', 'LESS_THAN', '--threshold', '1', '--severity', 'INFO'];
      t.match(await world.svc([...save, ...spec], { as: 'job', env: environment }), {
        code: 3,
        stderr: /MISSING_CAPABILITY/,
      });
    },
  );

  await t.test(
    'the exit code of the command is returned, and a missing command is reported',
    async (t) => {
      const run = (client: object) => world.svc(['auth', 'ci', '--', 'tool'], { env, client });
      t.equal((await run({ runChild: async () => ({ exitCode: 42 }) })).code, 42);
      const missing = { problem: 'spawn tool ENOENT', missing: true };
      t.match(await run({ runChild: async () => missing }), {
        code: 127,
        stderr: /tool could not be run/,
      });
      const denied = { problem: 'spawn tool EACCES', missing: false };
      t.equal((await run({ runChild: async () => denied })).code, 126);
    },
  );

  await t.test(
    'the program runs as in a job: output, exit code and signals pass through',
    async (t) => {
      const svc = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));
      const script =
        'trap "echo stopped; exit 7" TERM; test -n "$SVC_API_KEY" && echo up; while :; do sleep 0.05; done';
      const job = spawn(process.execPath, [svc, 'auth', 'ci', '--', 'bash', '-c', script], {
        env: { PATH: process.env.PATH, HOME: world.homeOf('job'), ...env },
        timeout: 600_000,
        killSignal: 'SIGKILL',
      });
      let out = '';
      job.stdout.on('data', (chunk) => (out += chunk));
      await until('the child runs', () => out.includes('up') || undefined);
      job.kill('SIGTERM');
      const [code] = await once(job, 'close');
      t.strictSame([code, out], [7, 'up\nstopped\n']);
      const args = [svc, 'auth', 'ci', '--', 'bash', '-c', 'kill -KILL $$'];
      const killed = spawn(process.execPath, args, {
        env: { PATH: process.env.PATH, HOME: world.homeOf('job'), ...env },
        timeout: 600_000,
        killSignal: 'SIGKILL',
      });
      t.equal((await once(killed, 'close'))[0], 128 + 9, 'as in a shell');
    },
  );

  await t.test(
    'AUTH-12: the token is alone on standard output, after its mask on standard error',
    async (t) => {
      const ran = await world.svc(['auth', 'ci', '--print'], { env });
      t.match(ran.stdout, /^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
      t.match(ran.stderr, `::add-mask::${ran.stdout}`);
      const json = await world.svc(['auth', 'ci', '--print', '--json'], { env });
      t.match(json.json, {
        accessToken: /^eyJ/,
        projectName: 'projects/auth-ci',
        expiresInSeconds: 900,
      });
    },
  );

  await t.test('no mask is printed if the runner does not support masks', async (t) => {
    const ran = await world.svc(['auth', 'ci', '--print'], {
      env: { ...env, GITHUB_ACTIONS: '' },
    });
    t.equal(ran.code, 0);
    t.equal(ran.stderr, '');
  });

  await t.test('a command or --print is required', async (t) => {
    t.match(await world.svc(['auth', 'ci'], { env }), {
      code: 2,
      stderr: /Pass a command after --/,
    });
    const both = ['auth', 'ci', '--print', '--', 'env'];
    t.match(await world.svc(both, { env }), { code: 2 });
  });

  for (const name of ['SVC_TRUST', 'SVC_AUDIENCE', 'SVC_ENDPOINT']) {
    await t.test(`without ${name} no token is requested`, async (t) => {
      const before = world.platform.tokens.requests;
      const ran = await world.svc(['auth', 'ci', '--print'], {
        as: 'job',
        env: { ...env, [name]: '' },
      });
      t.equal(ran.code, 2, ran.stderr);
      t.ok(ran.stderr.includes(name));
      t.equal(world.platform.tokens.requests, before);
    });
  }

  await t.test('a verification without a setup id says where to find it', async (t) => {
    const job = { ...env, SVC_SETUP_CODE: 'code', SVC_SETUP_ID: '' };
    const ran = await world.svc(['auth', 'ci', '--verify'], { env: job });
    t.match(ran, { code: 2, stderr: /SVC_SETUP_ID is empty.*\n.*"svc trusts verify" printed it/ });
    t.notMatch(ran.stderr, 'svc trusts show', 'there is no trust yet');
    const incomplete = { ...job, SVC_SETUP_ID: 'id', SVC_AUDIENCE: '' };
    t.match(await world.svc(['auth', 'ci', '--verify'], { env: incomplete }), {
      code: 2,
      stderr: /SVC_AUDIENCE is empty.*\n.*"svc trusts verify" printed it/,
    });
  });

  const { platform } = world;
  const print = (client = impatient) => world.svc(['auth', 'ci', '--print'], { env, client });

  await t.test(
    'AUTH-06, CI-15: responses 502, 503 and 504 are retried with the encoded audience',
    async (t) => {
      const before = platform.tokens.requests;
      for (const status of [502, 503, 504]) platform.tokens.next.push({ kind: 'status', status });
      const ran = await print();
      t.equal(ran.code, 0, ran.stderr);
      t.equal(platform.tokens.requests - before, 4);
      t.equal(platform.tokens.audiences.at(-1), env.SVC_AUDIENCE);
    },
  );

  await t.test('other statuses are not retried, and the response is not printed', async (t) => {
    for (const status of [400, 401, 403, 404, 429, 500]) {
      const before = platform.tokens.requests;
      platform.tokens.next.push({ kind: 'status', status, body: '{"value":"planted"}' });
      const ran = await print();
      t.match(ran, { code: 1, stderr: new RegExp(`responded with HTTP ${status}`) });
      t.notMatch(ran.stderr, 'planted');
      t.equal(platform.tokens.requests - before, 1, `${status} once`);
    }
  });

  await t.test('an unavailable endpoint is tried five times', async (t) => {
    const before = platform.tokens.requests;
    platform.tokens.behaviour = { kind: 'status', status: 503 };
    t.match(await print(), { code: 1, stderr: /HTTP 503/ });
    t.equal(platform.tokens.requests - before, 5);
    platform.tokens.behaviour = { kind: 'answer' };
  });

  await t.test('exchange fails if the response has no token', async (t) => {
    for (const body of ['{}', 'no json', '{"value":1}', '{"value":"a b"}', '{"value":"x\\ny"}']) {
      platform.tokens.next.push({ kind: 'status', status: 200, body });
      t.match(await print(), { code: 1, stderr: /No identity token in/ }, body);
    }
  });

  await t.test('AUTH-05: a job without the token permission gets instructions', async (t) => {
    const bare = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: '' };
    const ran = await world.svc(['auth', 'ci', '--print'], { env: bare });
    t.match(ran, { code: 1, stderr: /id-token: write/ });
    t.match(ran.stderr, /pull requests from forks/);
    const elsewhere = await world.svc(['auth', 'ci', '--print'], {
      env: { ...bare, GITHUB_ACTIONS: undefined },
    });
    t.match(elsewhere, { code: 2, stderr: /--assertion-from/ }, 'as without its variables');
    const plain = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: 'http://tokens.example/?x=1' };
    t.match(await world.svc(['auth', 'ci', '--print'], { env: plain }), {
      code: 1,
      stderr: /not an HTTPS address/,
    });
  });

  await t.test('an exchange without a response is retried with a fresh assertion', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const before = platform.tokens.requests;
    gateway.faults.push({ kind: 'lose answer' });
    const behind = { ...env, SVC_ENDPOINT: gateway.url };
    const ran = await world.svc(['auth', 'ci', '--print'], { env: behind, client: impatient });
    t.equal(ran.code, 0, ran.stderr);
    t.equal(platform.tokens.requests - before, 2);
    const [first, second] = gateway.requests;
    t.ok(first && second && first.body !== second.body, 'the first one is used up');
  });

  const bare = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: '', GITHUB_ACTIONS: undefined };
  const mint = () => world.platform.mint({ aud: env.SVC_AUDIENCE });

  await t.test('a token in a variable is exchanged and hidden from the child', async (t) => {
    const job = { ...bare, SVC_ASSERTION: await mint() };
    const args = ['auth', 'ci', '--assertion-from', 'SVC_ASSERTION', '--', 'env'];
    const ran = await world.svc(args, { env: job });
    t.equal(ran.code, 0, ran.stderr);
    t.notOk('SVC_ASSERTION' in (ran.child?.environment ?? {}));
    t.match(await world.svc(args, { env: job }), { code: 3, stderr: /REPLAYED/ }, 'it works once');
    t.match(await world.svc(args, { env: bare }), { code: 2, stderr: /which is not set/ });
  });

  await t.test('a token on standard input is exchanged', async (t) => {
    const args = ['auth', 'ci', '--assertion-from', '-', '--print'];
    t.match(await world.svc(args, { env: bare, input: `${await mint()}\n` }), { code: 0 });
    t.match(await world.svc(args, { env: bare, input: '' }), {
      code: 1,
      stderr: /No identity token/,
    });
  });

  await t.test('no token, code or assertion is in the log of the service', async (t) => {
    const masked = world.printed.join('').match(/(?<=::add-mask::)\S+/g) ?? [];
    t.ok(masked.length > 15);
    const log = world.lines.join('');
    t.strictSame(
      masked.filter((secret) => log.includes(secret)),
      [],
    );
  });
});

test('the composite action exchanges with one bundled file and installs nothing', async (t) => {
  const world = await joinCliWorld(t, 'auth-ci-action');
  const { env } = await trustWorkflow(world, await prepareAccount(world, 'auth-ci-action'));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  // Everything that a runner has: two files and a Node. The fake npm reports that it was called.
  const checkout = t.testdir({
    'action.yml': readFileSync(join(root, 'action.yml'), 'utf8'),
    action: { 'exchange.cjs': readFileSync(join(root, 'action/exchange.cjs'), 'utf8') },
    tools: { npm: '#!/bin/bash\necho npm was called\n' },
  });
  const tools = join(checkout, 'tools');
  chmodSync(join(tools, 'npm'), 0o755);
  symlinkSync(process.execPath, join(tools, 'node'));
  const run = async (script: string) => {
    const inputs = { trust: env.SVC_TRUST, audience: env.SVC_AUDIENCE, endpoint: world.endpoint };
    const step = { uses: 'action@1', with: { ...inputs, run: script } };
    const workflow = { permissions: { 'id-token': 'write' }, jobs: { one: { steps: [step] } } };
    return runWorkflow(JSON.stringify(workflow), {
      secrets: {},
      variables: {},
      actions: { action: checkout },
      tokenEnvironment: env,
      PATH: `${tools}:/usr/bin:/bin`,
    });
  };
  const query = '$SVC_ENDPOINT/v1/monitoring/projects/$SVC_PROJECT/promql/api/v1/labels';
  const job = await run(
    `printf 'header = "Authorization: Bearer %s"\\n' "$SVC_API_KEY" | curl -sS -K - "${query}"; ` +
      'echo; echo "sees $(compgen -e | tr "\\n" " ")"',
  );
  t.ok(job.ok, job.log);
  t.match(job.log, '"status":"success"', 'the token reads its project');
  t.notMatch(job.log, 'npm was called');
  const seen = /^sees (.*)$/m.exec(job.log)?.[1] ?? '';
  t.match(seen, 'SVC_API_KEY');
  t.notMatch(seen, 'ACTIONS_ID_TOKEN_REQUEST', 'the script cannot request another token');
  const without = await run('svc monitoring vms');
  t.notOk(without.ok);
  t.match(without.log, /svc is not installed here: name its bin\/svc.js in the action's input svc/);
});

test('signal handlers are registered before the command runs', async (t) => {
  const folder = t.testdir({});
  const started = join(folder, 'started');
  const child = processPorts().runChild({
    command: ['touch', started],
    environment: process.env,
    onSignal() {
      throw new Error('no signal can be heard');
    },
  });
  await t.rejects(child, { message: 'no signal can be heard' });
  // A process that starts later has ended, so the command would have run.
  await once(spawn('touch', [join(folder, 'later')]), 'exit');
  t.notOk(existsSync(started), 'the command does not run before it can be stopped');
});
