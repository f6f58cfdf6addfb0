/**
 * Behaviour common to all client commands: the command line, the endpoint and the caller, reporting
 * of faults, and the completion scripts.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { refusalOf } from '../../src/cli/client/faults.ts';
import { toConnectError } from '../../src/platform/errors.ts';
import { Refusal, type RefusalReason } from '../../streams/platform/refusal.ts';
import { type DemoWorld, joinDemoWorld } from '../support/cli-against-service.ts';

test('client commands', async (t) => {
  const world = await joinDemoWorld(t, 'client');
  const other = ['admin', 'project', 'create', 'client-other'];
  t.equal((await world.svc([...other, '--owner', world.emailOf('other')])).code, 0);
  await world.signIn();
  const withKey = { SVC_API_KEY: world.demo.apiKey, SVC_PROJECT: 'client' };

  await t.test('an invalid command line is rejected with a suggestion', async (t) => {
    const lines: [string[], RegExp][] = [
      [['monitoring'], /^svc monitoring: specify an action: vms, show, query, promql$/m],
      [['monitoring', 'vm'], /"vm" is not an action: did you mean "svc monitoring vms"\?/],
      [['monitoring', 'vms', '--projct', 'x'], /--projct is unknown\. Did you mean --project\?/],
      [['monitoring', 'vms', 'x'], /Unexpected argument "x"/],
      [['monitoring', 'vms', '--json=yes'], /--json takes no value/],
      [['monitoring', 'vms', '--project', '--json'], /--project requires a value: PROJECT/],
      [['monitoring', 'vms', '--project', 'a', '--project', 'b'], /--project is given twice/],
      [['monitoring', 'vms', '--timeout', 'soon'], /--timeout must be a duration such as 90s/],
      [['monitoring', 'vms', '--project', 'a b'], /"a b" is not a project/],
      [['monitoring', 'query'], /VM is missing/],
      [
        ['monitoring', 'query', 'v', '--start', 'noon'],
        /--start must be a time such as 08:00, 2026-/,
      ],
      [
        ['incidents', 'list', '--state', 'OPEN'],
        /--state must be one of FIRING, RECOVERED, RETIRED/,
      ],
      [['service-accounts', 'create', '--name', 'x'], /either --template or --capability/],
      [['keys', 'revoke', 'svc_sk_x_y'], /never by its secret$/m],
    ];
    for (const [args, sentence] of lines) {
      const ran = await world.svc(args, { env: withKey });
      t.match(ran, { code: 2, stderr: sentence }, args.join(' '));
    }
  });

  await t.test('help for an unknown action reports it like the action itself', async (t) => {
    const help = await world.svc(['help', 'alerts', 'lsit']);
    const run = await world.svc(['alerts', 'lsit']);
    t.match(help, { code: 2, stdout: '', stderr: /did you mean "svc alerts list"\?/ });
    t.equal(help.stderr, run.stderr);
    t.match(await world.svc(['help', 'alerts', 'list']), {
      code: 0,
      stdout: /^Usage: svc alerts l/,
    });
    t.match(await world.svc(['help', 'audit', 'verify']), {
      code: 0,
      stdout: /^Usage: svc audit v/,
    });
  });

  await t.test('a secret on the command line is rejected and not repeated', async (t) => {
    for (const flag of ['--key', '--api-key', '--token', '--secret', '--setup-code']) {
      for (const args of [[flag, 'svc_sk_planted'], [`${flag}=svc_sk_planted`]]) {
        const ran = await world.svc(['monitoring', 'vms', ...args]);
        t.match(ran, { code: 2, stderr: /can read a command line/ });
        t.notMatch(ran.stderr, 'planted');
      }
    }
  });

  await t.test(
    'the endpoint comes from a flag, a variable or the session, and must be confidential',
    async (t) => {
      const none = { SVC_ENDPOINT: undefined };
      t.match(
        await world.svc(['whoami'], { env: none }),
        { code: 0 },
        'the session has the endpoint',
      );
      const nobody = { as: 'nobody', env: { ...withKey, ...none } };
      t.match(await world.svc(['monitoring', 'vms'], nobody), {
        code: 2,
        stderr: /address of the service is not set/,
      });
      const flag = ['monitoring', 'vms', '--endpoint'];
      t.match(await world.svc([...flag, world.endpoint], nobody), { code: 0 });
      t.match(await world.svc([...flag, 'http://monitoring.example'], nobody), {
        code: 2,
        stderr: /uses plain HTTP, so the credential could be read/,
      });
      t.match(await world.svc([...flag, 'https://a.example/path'], nobody), { code: 2 });
      const elsewhere = await world.svc(['whoami', '--endpoint', 'https://other.example']);
      t.match(elsewhere, { code: 3, stderr: /You are signed in at http:\S+, not at https:/ });
    },
  );

  await t.test('exit codes differ by fault: 3 denied, 4 not found, 5 no response', async (t) => {
    const { svc } = world;
    t.match(await svc(['monitoring', 'vms'], { as: 'nobody' }), {
      code: 3,
      stderr: /not signed in/,
    });
    t.match(await svc(['keys', 'list'], { as: 'nobody', env: withKey }), {
      code: 3,
      stderr: /Keys cannot do this/,
    });
    const typo = { SVC_API_KEY: `${world.demo.apiKey.slice(0, -1)}!` };
    const mistyped = await svc(['monitoring', 'vms'], { env: { ...withKey, ...typo } });
    t.match(mistyped, { code: 3, stderr: /its checksum is wrong/ });
    t.notMatch(mistyped.stderr, world.demo.apiKey.slice(-10, -1));
    const nowhere = { ...withKey, SVC_PROJECT: undefined };
    t.match(await svc(['monitoring', 'vms'], { env: nowhere }), {
      code: 2,
      stderr: /project is not set\. Use --project or SVC_PROJECT\n.*SVC_PROJECT=demo$/m,
    });
    const foreign = ['monitoring', 'vms', '--project', 'client-other'];
    t.match(await svc(foreign, { env: withKey }), {
      code: 3,
      stderr: /^svc monitoring vms: PROJECT_BOUNDARY: /,
    });
    t.match(await svc(['service-accounts', 'show', 'none']), { code: 4, stderr: /NOT_FOUND/ });
    const away = await svc(['monitoring', 'vms', '--endpoint', 'http://127.0.0.1:9'], {
      env: withKey,
    });
    t.match(away, {
      code: 5,
      stderr: /connection refused or host unreachable \(ECONNREFUSED\)\n {2}Nothing was ch/,
    });
    t.match(
      away.stderr,
      /"systemctl status svc"\),\n {2}and check its address: --endpoint or SVC_E/,
    );
    for (const endpoint of ['https://me:hunter2@h', 'me:hunter2@h', 'https://h/?key=hunter2']) {
      const flagged = await svc(['monitoring', 'vms', '--endpoint', endpoint]);
      const set = await svc(['monitoring', 'vms'], { env: { SVC_ENDPOINT: endpoint } });
      for (const { code, stdout, stderr } of [flagged, set]) {
        t.equal(code, 2, endpoint);
        t.notMatch(stdout + stderr, /hunter2/, 'a password in an address is not repeated');
      }
    }
  });

  await t.test('a program reads the fault as JSON', async (t) => {
    const ran = await world.svc(['service-accounts', 'show', 'none', '--json']);
    const { error } = JSON.parse(ran.stderr);
    t.match(error, { reason: 'NOT_FOUND', message: String, hint: String });
    t.equal(ran.stdout, '');
  });

  await t.test('a session file readable by others is not used', async (t) => {
    const path = join(world.homeOf('owner'), '.config/svc/session.json');
    t.equal(statSync(path).mode & 0o777, 0o600);
    t.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
    const text = readFileSync(path, 'utf8');
    chmodSync(path, 0o640);
    const refused = await world.svc(['whoami']);
    t.match(refused, { code: 1, stderr: /other users can read it \(mode 0640, not 0600\)/ });
    chmodSync(path, 0o600);
    chmodSync(join(path, '..'), 0o770);
    t.match(await world.svc(['whoami']), {
      code: 1,
      stderr: /other users can write to its folder/,
    });
    chmodSync(join(path, '..'), 0o700);
    writeFileSync(path, '{"endpoint": 1}');
    t.match(await world.svc(['whoami']), { code: 1, stderr: /is not a valid session file/ });
    writeFileSync(path, text);
    t.equal((await world.svc(['whoami'])).code, 0);
    const xdg = join(world.folder, 'xdg');
    mkdirSync(xdg);
    const other = await world.svc(['whoami'], { env: { XDG_CONFIG_HOME: xdg } });
    t.match(other, { code: 3 }, 'XDG_CONFIG_HOME wins over the home folder');
  });

  await t.test('completion', (t) => completion(t, world));

  await t.test('only requested secrets were printed', async (t) => {
    const secret = /svc_session_\w+/.exec(
      readFileSync(join(world.homeOf('owner'), '.config/svc/session.json'), 'utf8'),
    )?.[0];
    t.match(secret, /^svc_session_/);
    const all = world.printed.join('');
    for (const each of [secret ?? '', world.demo.apiKey]) t.notOk(all.includes(each));
  });
});

async function completion(t: Test, world: DemoWorld) {
  const complete = async (...words: string[]): Promise<string[]> => {
    const { stdout } = await world.svc(['__complete', '--', ...words]);
    return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
  };
  await t.test('commands, actions, options and choices are completed', async (t) => {
    t.strictSame(await complete('ke'), ['keys']);
    t.strictSame(await complete('keys', 'r'), ['rotate', 'revoke']);
    t.strictSame(await complete('keys', 'create', '--li'), ['--lifetime']);
    t.strictSame(await complete('keys', 'create', '--help', '--li'), ['--lifetime']);
    t.strictSame(await complete('incidents', 'list', '--state', 'R'), ['RECOVERED', 'RETIRED']);
    t.strictSame(await complete('login', '--li'), ['--link']);
    t.strictSame(await complete('help', 'tru'), ['trusts']);
    t.strictSame(await complete('destinations', 'show', '--pro'), ['--project']);
    t.ok((await complete('')).includes('service-accounts'));
    t.notOk((await complete('')).includes('__complete'));
  });
  const script = (await world.svc(['completion', 'bash'])).stdout;
  await t.test('API-40: the bash script passes the words and offers the lines', async (t) => {
    const folder = join(world.folder, 'bin');
    mkdirSync(folder);
    // The command line that the script would run.
    const requested = join(folder, 'asked');
    const text = `#!/bin/sh\necho "$@" >> ${requested}\nprintf 'Night pager\\tof the team\\nNight shift\\n'\n`;
    writeFileSync(join(folder, 'svc'), text, { mode: 0o755 });
    const program = `${script}
COMP_WORDS=(svc "$@"); COMP_CWORD=$#; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const words = ['alerts', 'save', '--destination', 'Night\\ p'];
    const printed = execFileSync('bash', ['--norc', '-c', program, 'bash', ...words], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
    });
    t.equal(printed, 'Night pager\nNight shift\n');
    t.equal(readFileSync(requested, 'utf8'), '__complete -- alerts save --destination Night\\ p\n');
  });
  await t.test('every script asks svc, and an unknown shell is rejected', async (t) => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      t.match(await world.svc(['completion', shell]), { code: 0, stdout: /__complete -- / });
    }
    t.match(await world.svc(['completion', 'tcsh']), { code: 2, stderr: /bash, zsh, fish/ });
  });
}

test('hints follow the metadata of a refusal, not only its reason', async (t) => {
  const hintOf = (reason: RefusalReason, metadata = {}, hints = {}) =>
    refusalOf(toConnectError(new Refusal(reason, 'x', metadata)), hints)?.hint;
  const denied = hintOf('EXCHANGE_DENIED', { correlation: 'c-1' });
  t.match(denied, /svc audit list --correlation c-1$/);
  t.match(hintOf('MISSING_CAPABILITY', { role: 'VIEWER' }), /another role: svc members role$/);
  const capability = hintOf('MISSING_CAPABILITY', { capability: 'monitoring.write' });
  t.match(capability, /Missing here: monitoring\.write/);
  t.match(hintOf('CREDENTIAL_REVOKED'), /the successor of the key/);
  const ofTheAction = { CREDENTIAL_REVOKED: 'Ask for another link' };
  t.equal(hintOf('CREDENTIAL_REVOKED', {}, ofTheAction), 'Ask for another link');
  t.match(
    hintOf('NOT_FOUND'),
    /has no resource with that name/,
    'otherwise the explanation of the catalogue',
  );
});
