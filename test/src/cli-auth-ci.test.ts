/**
 * `svc trusts` and `svc auth ci` against the whole service and a platform that behaves like
 * GitHub's: what a child process gets, what is masked and when, what a refusal teaches, and what is
 * asked again.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { DenialCause } from '../../actors/identity/ci/port.ts';
import { systemClock } from '../../streams/clock.ts';
import { type CliWorld, startCliWorld } from '../support/cli-world.ts';
import { startGateway } from '../support/faulty-gateway.ts';
import { until } from '../support/program.ts';

/** A trusted workflow: what a job of it has in its environment. */
interface Trusted {
  readonly world: CliWorld;
  readonly env: Readonly<Record<string, string>>;
  readonly account: string;
}

t.test('keyless CI from the command line', async (t) => {
  const world = await startCliWorld(t);
  const made = ['admin', 'project', 'create', 'acme', '--owner', 'owner@example.test'];
  t.equal((await world.svc(made)).code, 0);
  await world.signIn();
  const create = ['service-accounts', 'create', '--name', 'Deploy', '--template', 'alert-manager'];
  const account = (await world.svc([...create, '--json'])).json.name;

  const env = await approval(t, world, account);
  const trusted = { world, env, account };
  await t.test('the child', (t) => child(t, trusted));
  await t.test('printing', (t) => printing(t, trusted));
  await t.test('the platform', (t) => platformAnswers(t, trusted));
  await t.test('refusals', (t) => refusals(t, trusted));
  await t.test('other platforms', (t) => otherPlatforms(t, trusted));
  await t.test('trusts', (t) => trusts(t, trusted));

  await t.test('no token, code or assertion is in the log of the service', async (t) => {
    const masked = world.printed.join('').match(/(?<=::add-mask::)\S+/g) ?? [];
    t.ok(masked.length > 20);
    const log = world.lines.join('');
    for (const secret of masked) if (log.includes(secret)) t.fail('a secret is in the log');
  });

  await t.test('the guide names every cause of a denial', async (t) => {
    const guide = readFileSync(new URL('../../docs/ci.md', import.meta.url), 'utf8');
    for (const cause of Object.keys(causes)) t.ok(guide.includes(`\`${cause}\``), cause);
  });
});

/** All there are: a new one does not compile until the guide has it. */
const causes: Readonly<Record<DenialCause, true>> = {
  PULL_REQUEST: true,
  CONTEXT_REFUSED: true,
  IDENTITY_MISMATCH: true,
  IDENTITY_RENAMED: true,
  CONNECTION_DISABLED: true,
  CONNECTION_DELETED: true,
  ACCOUNT_DISABLED: true,
  NO_PERMISSION_LEFT: true,
};

/** Verification, review and approval; resolves to the environment of a job that is trusted. */
async function approval(t: Test, world: CliWorld, account: string) {
  const { svc, platform } = world;
  const verify = ['trusts', 'verify', '--service-account', account, '--name', 'Deploy workflow'];
  const started = await svc([...verify, '--capability', 'monitoring.read']);
  const code = /^code +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const setupId = /^setup id +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const audience = /^audience +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
  const job = { ...platform.jobEnvironment, SVC_AUDIENCE: audience };

  await t.test('the step goes to standard output, the code beside it', async (t) => {
    t.match(started.stdout, /^- name: /);
    t.notOk(started.stdout.includes(code));
    t.match(code, /^svc_pair_/);
    const again = await svc(['trusts', 'list', '--verifications']);
    t.match(again.stdout, new RegExp(`^${setupId} +Deploy workflow +AWAITING_PROOF`, 'm'));
  });

  await t.test('a verification needs its code, and says so', async (t) => {
    const args = ['auth', 'ci', '--verify', '--setup-id', setupId];
    t.match(await svc(args, { env: job }), { code: 2, stderr: /SVC_SETUP_CODE is empty/ });
    t.match(await svc(['auth', 'ci', '--verify'], { env: job }), {
      code: 2,
      stderr: /SVC_SETUP_ID/,
    });
    const child = [...args, '--', 'env'];
    t.match(await svc(child, { env: { ...job, SVC_SETUP_CODE: code } }), { code: 2 });
  });

  await t.test('nothing is approved before it was observed', async (t) => {
    const ran = await svc(['trusts', 'approve', setupId], { answers: ['yes'] });
    t.match(ran, { code: 1, stderr: /nothing to approve: the verification is AWAITING_PROOF/ });
  });

  await t.test(
    'the verification step proves the identity, with everything masked first',
    async (t) => {
      const env = { ...job, SVC_SETUP_CODE: `${code}\n`, SVC_SETUP_ID: setupId };
      const ran = await svc(['auth', 'ci', '--verify'], { env });
      t.equal(ran.code, 0, ran.stderr);
      t.match(ran.stdout, /^Observed, and waiting for review\. Nothing is granted yet\.$/m);
      t.match(ran.stdout, /^repository_id +74 +yes$/m);
      t.match(ran.stdout, /^environment +\(absent\) +yes$/m);
      t.match(ran.stderr, new RegExp(`^::add-mask::${code}\\n::add-mask::eyJ`));
    },
  );

  await t.test('an approval shows each claim and asks; no is no', async (t) => {
    const no = await svc(['trusts', 'approve', setupId], { answers: ['y'] });
    t.match(no, { code: 1, stdout: '', stderr: /Not approved/ });
    t.match(no.stderr, /^repository_id +74 +yes$/m);
    t.match(no.stderr, /Trust exactly this workflow with monitoring\.read\? Type "yes": /);
    const program = await svc(['trusts', 'approve', setupId]);
    t.match(program, { code: 2, stderr: /--digest is missing/ });
    const stale = await svc(['trusts', 'approve', setupId, '--digest', 'f'.repeat(64)]);
    t.match(stale, { code: 1, stderr: /not those of the digest: review them again/ });
  });

  const review = (await svc(['trusts', 'review', setupId, '--json'])).json;
  const approve = ['trusts', 'approve', setupId, '--digest', review.claimsDigest];
  const approved = await svc(approve);
  t.equal(approved.code, 0, approved.stderr);
  t.match(approved.stderr, /Now remove the step and the secret SVC_SETUP_CODE/);
  const variables = Object.fromEntries(
    [...approved.stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  t.match(variables, { SVC_TRUST: /^projects\/acme\/ciConnections\//, SVC_AUDIENCE: audience });
  return { ...platform.jobEnvironment, ...variables } as Record<string, string>;
}

async function child(t: Test, { world, env }: Trusted): Promise<void> {
  await t.test(
    'it gets the token in its environment, and no right to ask for another',
    async (t) => {
      const more = { SVC_SETUP_CODE: 'code', SVC_REEXEC: '1', OWN: 'kept', GITHUB_ENV: '/env' };
      const ran = await world.svc(['auth', 'ci', '--', 'tool', '--json', '--help'], {
        env: { ...env, ...more },
      });
      t.equal(ran.code, 0, ran.stderr);
      t.equal(ran.stdout, '', 'standard output is the child’s');
      t.strictSame(ran.child?.command, ['tool', '--json', '--help']);
      const { environment = {} } = ran.child ?? {};
      t.match(environment, { SVC_PROJECT: 'acme', SVC_ENDPOINT: world.endpoint, OWN: 'kept' });
      for (const name of [
        ...['ACTIONS_ID_TOKEN_REQUEST_TOKEN', 'ACTIONS_ID_TOKEN_REQUEST_URL'],
        ...['SVC_SETUP_CODE', 'SVC_REEXEC'],
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

  await t.test('its exit code is ours, and a command that is not there says so', async (t) => {
    const run = (client: object) => world.svc(['auth', 'ci', '--', 'tool'], { env, client });
    t.equal((await run({ runChild: async () => ({ exitCode: 42 }) })).code, 42);
    const missing = { problem: 'spawn tool ENOENT', missing: true };
    t.match(await run({ runChild: async () => missing }), {
      code: 127,
      stderr: /tool cannot be run/,
    });
    const denied = { problem: 'spawn tool EACCES', missing: false };
    t.equal((await run({ runChild: async () => denied })).code, 126);
  });

  await t.test(
    'the program as a job runs it: output, exit code and signals go through',
    async (t) => {
      const svc = fileURLToPath(new URL('../../bin/svc.js', import.meta.url));
      const script =
        'trap "echo stopped; exit 7" TERM; test -n "$SVC_API_KEY" && echo up; while :; do sleep 0.05; done';
      const job = spawn(process.execPath, [svc, 'auth', 'ci', '--', 'bash', '-c', script], {
        env: { PATH: process.env.PATH, HOME: world.homeOf('job'), ...env },
        ...{ timeout: 20_000, killSignal: 'SIGKILL' },
      });
      let out = '';
      job.stdout.on('data', (chunk) => (out += chunk));
      await until('the child runs', () => out.includes('up') || undefined, 15);
      job.kill('SIGTERM');
      const [code] = await once(job, 'close');
      t.strictSame([code, out], [7, 'up\nstopped\n']);
      const args = [svc, 'auth', 'ci', '--', 'bash', '-c', 'kill -KILL $$'];
      const killed = spawn(process.execPath, args, {
        env: { PATH: process.env.PATH, HOME: world.homeOf('job'), ...env },
        ...{ timeout: 20_000, killSignal: 'SIGKILL' },
      });
      t.equal((await once(killed, 'close'))[0], 128 + 9, 'as a shell tells it');
    },
  );
}

async function printing(t: Test, { world, env }: Trusted): Promise<void> {
  await t.test(
    'the token is alone on standard output, its mask before it on the other',
    async (t) => {
      const ran = await world.svc(['auth', 'ci', '--print'], { env });
      t.match(ran.stdout, /^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/);
      t.match(ran.stderr, `::add-mask::${ran.stdout}`);
      const json = await world.svc(['auth', 'ci', '--print', '--json'], { env });
      t.match(json.json, {
        accessToken: /^eyJ/,
        projectName: 'projects/acme',
        expiresInSeconds: 900,
      });
    },
  );

  await t.test(
    'where the runner knows no masks, nothing that looks like one is printed',
    async (t) => {
      const ran = await world.svc(['auth', 'ci', '--print'], {
        env: { ...env, GITHUB_ACTIONS: '' },
      });
      t.equal(ran.code, 0);
      t.equal(ran.stderr, '');
    },
  );

  await t.test('it has to be said what the token is for', async (t) => {
    t.match(await world.svc(['auth', 'ci'], { env }), {
      code: 2,
      stderr: /Say what the token is for/,
    });
    const both = ['auth', 'ci', '--print', '--', 'env'];
    t.match(await world.svc(both, { env }), { code: 2 });
  });

  for (const name of ['SVC_TRUST', 'SVC_AUDIENCE', 'SVC_ENDPOINT']) {
    await t.test(`without ${name} nothing is asked`, async (t) => {
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
}

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

async function platformAnswers(t: Test, { world, env }: Trusted): Promise<void> {
  const { platform } = world;
  const print = (client = impatient) => world.svc(['auth', 'ci', '--print'], { env, client });

  await t.test(
    '502, 503 and 504 are asked again, with the audience encoded each time',
    async (t) => {
      const before = platform.tokens.requests;
      for (const status of [502, 503, 504]) platform.tokens.next.push({ kind: 'status', status });
      const ran = await print();
      t.equal(ran.code, 0, ran.stderr);
      t.equal(platform.tokens.requests - before, 4);
      t.equal(platform.tokens.audiences.at(-1), env.SVC_AUDIENCE);
    },
  );

  await t.test('nothing else is asked again, and the answer is not repeated', async (t) => {
    for (const status of [400, 401, 403, 404, 429, 500]) {
      const before = platform.tokens.requests;
      platform.tokens.next.push({ kind: 'status', status, body: '{"value":"planted"}' });
      const ran = await print();
      t.match(ran, { code: 1, stderr: new RegExp(`answered HTTP ${status}`) });
      t.notMatch(ran.stderr, 'planted');
      t.equal(platform.tokens.requests - before, 1, `${status} once`);
    }
  });

  await t.test('an endpoint that stays away ends after five tries', async (t) => {
    const before = platform.tokens.requests;
    platform.tokens.behaviour = { kind: 'status', status: 503 };
    t.match(await print(), { code: 1, stderr: /HTTP 503/ });
    t.equal(platform.tokens.requests - before, 5);
    platform.tokens.behaviour = { kind: 'answer' };
  });

  await t.test('an answer without a token is no token', async (t) => {
    for (const body of ['{}', 'no json', '{"value":1}', '{"value":"a b"}', '{"value":"x\\ny"}']) {
      platform.tokens.next.push({ kind: 'status', status: 200, body });
      t.match(await print(), { code: 1, stderr: /There is no identity token in/ }, body);
    }
  });

  await t.test('a job without the permission is told how to get it', async (t) => {
    const bare = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: '' };
    const ran = await world.svc(['auth', 'ci', '--print'], { env: bare });
    t.match(ran, { code: 1, stderr: /id-token: write/ });
    t.match(ran.stderr, /fork's pull request/);
    const elsewhere = await world.svc(['auth', 'ci', '--print'], {
      env: { ...bare, GITHUB_ACTIONS: undefined },
    });
    t.match(elsewhere, { code: 1, stderr: /--assertion-from/ });
    const plain = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: 'http://tokens.example/?x=1' };
    t.match(await world.svc(['auth', 'ci', '--print'], { env: plain }), {
      code: 1,
      stderr: /not an https address/,
    });
  });

  await t.test('an exchange without an answer goes out again with a fresh assertion', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const before = platform.tokens.requests;
    gateway.faults.push({ kind: 'lose answer' });
    const behind = { ...env, SVC_ENDPOINT: gateway.url };
    const ran = await world.svc(['auth', 'ci', '--print'], { env: behind, client: impatient });
    t.equal(ran.code, 0, ran.stderr);
    t.equal(platform.tokens.requests - before, 2);
    const [first, second] = gateway.requests;
    t.ok(first && second && first.body !== second.body, 'the first one is burned');
  });
}

async function refusals(t: Test, { world, env, account }: Trusted): Promise<void> {
  const { platform } = world;
  const summary = join(world.folder, 'summary.md');
  const refused = async (claims: Record<string, unknown>, more: Record<string, string> = {}) => {
    platform.job.claims = claims;
    writeFileSync(summary, '');
    const job = { ...env, GITHUB_STEP_SUMMARY: summary, ...more };
    const ran = await world.svc(['auth', 'ci', '--', 'env'], { env: job });
    platform.job.claims = {};
    t.equal(ran.code, 3, ran.stderr);
    t.equal(ran.child, undefined, 'nothing runs');
    const shown = ran.stderr.replaceAll(/^::add-mask::.*\n/gm, '');
    const page = readFileSync(summary, 'utf8');
    for (const secret of ran.stderr.match(/(?<=::add-mask::)\S+/g) ?? []) {
      if ((shown + page).includes(secret)) t.fail('a token is shown');
    }
    return { shown, page };
  };

  await t.test('what is different is marked, with what was expected', async (t) => {
    const { shown, page } = await refused({ environment: 'prod', ref: 'refs/heads/x' });
    t.match(shown, /^environment +prod +DIFFERENT: has to be absent$/m);
    t.match(shown, /^ref +refs\/heads\/x +DIFFERENT: expected refs\/heads\/main$/m);
    t.match(shown, /^repository_id +74$/m, 'the claims that fit are shown too');
    t.match(shown, /^ +cause: IDENTITY_MISMATCH$/m);
    const correlation = /^ +correlation: (\S+)$/m.exec(shown)?.[1] ?? '';
    t.match(correlation, /^\w{26}$/);
    t.match(page, correlation, 'and on the summary page');
    t.match(page, '| `environment` | `prod` | **`DIFFERENT: has to be absent`** |');
  });

  await t.test('what is missing is marked', async (t) => {
    const { shown } = await refused({ runner_environment: undefined });
    t.match(shown, /^runner_environment +\(absent\) +MISSING$/m);
    t.match(shown, /^ +cause: CONTEXT_REFUSED$/m);
    platform.job.claims = { environment: 'prod' };
    const verify = ['trusts', 'verify', '--service-account', account, '--name', 'In prod'];
    const start = await world.svc([...verify, '--capability', 'monitoring.read', '--json']);
    const { setupId, pairingCode } = start.json;
    const proof = { ...env, SVC_SETUP_CODE: pairingCode, SVC_SETUP_ID: setupId };
    t.equal((await world.svc(['auth', 'ci', '--verify'], { env: proof })).code, 0);
    const approved = await world.svc(['trusts', 'approve', setupId], { answers: ['yes'] });
    const SVC_TRUST = /^SVC_TRUST=(.*)$/m.exec(approved.stdout)?.[1] ?? '';
    const outside = await refused({}, { SVC_TRUST });
    t.match(outside.shown, /^environment +\(absent\) +MISSING: expected prod$/m);
  });

  await t.test('who does not own the workflow learns nothing of what is expected', async (t) => {
    const { shown } = await refused({
      ...{ repository_id: '99', repository_owner_id: '98' },
      ...{ repository: 'evil/repo', repository_owner: 'evil' },
      workflow_ref: 'evil/repo/.github/workflows/deploy.yml@refs/heads/main',
      job_workflow_ref: 'evil/repo/.github/workflows/deploy.yml@refs/heads/main',
    });
    t.match(shown, /^repository_id +99 +DIFFERENT$/m);
    t.notMatch(shown, 'octo-org/octo-repo +DIFFERENT');
    t.notMatch(shown, /expected/);
  });

  await t.test('a renamed repository is told as one', async (t) => {
    const { shown } = await refused({
      repository: 'octo-org/new-name',
      workflow_ref: 'octo-org/new-name/.github/workflows/deploy.yml@refs/heads/main',
      job_workflow_ref: 'octo-org/new-name/.github/workflows/deploy.yml@refs/heads/main',
    });
    t.match(shown, /cause: IDENTITY_RENAMED/);
    t.match(shown, /has another name now: verify the workflow anew/);
  });

  await t.test('a pull request is told that it never will do', async (t) => {
    const { shown, page } = await refused(
      { event_name: 'pull_request', ref: 'refs/pull/1/merge', head_ref: 'x', base_ref: 'main' },
      { GITHUB_EVENT_NAME: 'pull_request' },
    );
    t.match(shown, /Pull requests are always refused, from forks and from branches/);
    t.match(page, /> Pull requests are always refused/);
  });

  await t.test('names that others chose cannot steer the log or the page', async (t) => {
    const claims = { actor: 'x`|<b>', ref: 'refs/heads/\u001b[31m\n::error::x' };
    const { shown, page } = await refused(claims);
    t.notOk((shown + page).includes('\u001b'));
    t.notMatch(shown + page, /^::error/m);
    t.match(page, "| `actor` | `x'\\|<b>` |  |");
  });

  await t.test('another audience is a token that does not hold', async (t) => {
    const { shown } = await refused(
      {},
      { SVC_AUDIENCE: 'https://elsewhere.example/projects/acme' },
    );
    t.match(shown, /BAD_ASSERTION/);
    t.match(shown, /cause: WRONG_AUDIENCE/);
  });

  await t.test('a program reads the refusal as JSON', async (t) => {
    platform.job.claims = { ref: 'refs/heads/x' };
    const ran = await world.svc(['auth', 'ci', '--print', '--json'], { env });
    platform.job.claims = {};
    const { error } = JSON.parse(ran.stderr.replaceAll(/^::add-mask::.*\n/gm, ''));
    t.match(error, { reason: 'EXCHANGE_DENIED', metadata: { cause: 'IDENTITY_MISMATCH' } });
    t.match(JSON.parse(error.metadata.claims), [{ claim: 'ref', got: 'refs/heads/x' }]);
  });
}

async function otherPlatforms(t: Test, { world, env }: Trusted): Promise<void> {
  const bare = { ...env, ACTIONS_ID_TOKEN_REQUEST_URL: '', GITHUB_ACTIONS: undefined };
  const mint = () => world.platform.mint({ aud: env.SVC_AUDIENCE });

  await t.test('a token in a variable is exchanged, and is not the child’s', async (t) => {
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
      stderr: /no identity token/,
    });
  });
}

async function trusts(t: Test, { world, env, account }: Trusted): Promise<void> {
  const { svc } = world;
  const trust = env.SVC_TRUST ?? '';
  const id = trust.split('/').at(-1) ?? '';
  const exchange = () => svc(['auth', 'ci', '--print'], { env });

  await t.test('a trust is listed and shown with what it binds', async (t) => {
    t.match(
      (await svc(['trusts', 'list'])).stdout,
      new RegExp(`^${id} +Deploy workflow +ENABLED .* octo-org/octo-repo +\\d{4}-`, 'm'),
    );
    const shown = await svc(['trusts', 'show', id]);
    t.match(shown.stdout, /^audience +http\S+\/projects\/acme$/m);
    t.match(shown.stdout, /^repository_owner_id +65 +yes$/m);
  });

  await t.test('an edit of permissions ends the tokens given out before', async (t) => {
    const token = (await exchange()).stdout.trim();
    const read = { as: 'job', env: { SVC_API_KEY: token, SVC_PROJECT: 'acme' } };
    t.match(await svc(['monitoring', 'vms'], read), { code: 0 });
    t.match(await svc(['trusts', 'update', id, '--name', 'Other name']), {
      code: 0,
      stdout: /Other name/,
    });
    t.match(await svc(['monitoring', 'vms'], read), { code: 0 }, 'a name is no permission');
    const wider = ['--capability', 'monitoring.read', '--capability', 'monitoring.write'];
    t.equal((await svc(['trusts', 'update', id, ...wider])).code, 0);
    t.match(await svc(['monitoring', 'vms'], read), { code: 3, stderr: /TOKEN_EPOCH/ });
  });

  await t.test(
    'disabling stops exchanges, enabling lets them again, deleting is for good',
    async (t) => {
      t.match(await svc(['trusts', 'disable', id, '--reason', 'Leak']), {
        stdout: /^state +DISABLED$/m,
      });
      t.match(await exchange(), { code: 3, stderr: /cause: CONNECTION_DISABLED/ });
      t.match(await svc(['trusts', 'enable', id]), { stdout: /^state +ENABLED$/m });
      t.match(await exchange(), { code: 0 });
      t.match(await svc(['service-accounts', 'disable', account]), { code: 0 });
      t.match(await exchange(), { code: 3, stderr: /ACCOUNT_DISABLED|CONNECTION_DISABLED/ });
      t.match(await svc(['trusts', 'delete', id]), { stdout: `Deleted ${trust}\n` });
      t.match(await exchange(), { code: 3 });
    },
  );

  await t.test('a verification is rejected, and its code is told once only', async (t) => {
    t.equal((await svc(['service-accounts', 'enable', account])).code, 0);
    const requestId = '7a0d3c7e-6c27-4d0c-9a6f-2a4f4f5f6a03';
    const verify = ['trusts', 'verify', '--service-account', account, '--name', 'Again'];
    const args = [...verify, '--capability', 'monitoring.read', '--request-id', requestId];
    const { setupId } = (await svc([...args, '--json'])).json;
    const again = await svc(args);
    t.match(again, { code: 1, stderr: /The code cannot be had again/ });
    const rejected = await svc(['trusts', 'reject', setupId, '--reason', 'Not ours']);
    t.match(rejected, { code: 0, stdout: /^state +REJECTED$/m });
  });
}
