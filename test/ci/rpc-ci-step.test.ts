/**
 * The step to paste, run by bash as a runner runs it: against the real service over a socket, with
 * a local platform that issues identity tokens.
 */
import { execFile } from 'node:child_process';
import { type Test, test } from 'tap';
import { type StepOptions, workflowStep } from '../../src/ci/api/ci-step.ts';
import { startCiRpcWorld } from '../support/ci-api.ts';

/** The options of a runner's bash, and stricter ones. */
const RUNNER = ['--noprofile', '--norc', '-eo', 'pipefail'];
const DEADLINE_MS = 600_000;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Commands of the step's `run` block, without its indentation. */
function commandsOf(step: string): string {
  const [, block = ''] = step.split(/^ {2}run: \|\n/m);
  return block.replace(/^ {4}/gm, '');
}

function bash(
  script: string,
  environment: Readonly<Record<string, string>>,
  flags: readonly string[] = RUNNER,
): Promise<Ended> {
  const env = { PATH: process.env.PATH ?? '', ...environment };
  return new Promise((resolve) => {
    const options = { env, timeout: DEADLINE_MS };
    execFile('bash', [...flags, '-c', script], options, (error, stdout, stderr) => {
      const code = error ? Number(error.code ?? -1) : 0;
      resolve({ code, stdout, stderr });
    });
  });
}

async function startStepWorld(t: Test) {
  const world = await startCiRpcWorld(t);
  const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const { setupId, pairingCode, verification, workflowStep: stepText } = (await world.start()).body;
  const about: StepOptions = { platform: 'github', origin, setupId, audience: world.audience };
  const environment: Readonly<Record<string, string>> = {
    ...world.platform.jobEnvironment,
    SVC_SETUP_CODE: pairingCode,
  };
  const state = async () => (await world.ci('GetCiVerification', { name: verification.name })).body;
  const script = commandsOf(workflowStep(about));
  return { world, setupId, pairingCode, stepText, about, environment, script, state };
}

test('AUTH-12, CI-17: the pasted step proves the job’s identity and prints no secret', async (t) => {
  const traced = [...RUNNER, '-xu'];
  for (const flags of [RUNNER, traced]) {
    const { script, environment, state, world, pairingCode } = await startStepWorld(t);
    const { code, stdout, stderr } = await bash(script, environment, flags);
    t.equal(code, 0, stdout + stderr);
    t.match(stdout, /^Observed, and waiting for review/m);
    t.match(stdout, /^ {2}repository: /m, 'each claim is a line');
    t.match(stdout, /^ {2}event_name: push$/m);
    const [mask = '', ...rest] = stdout.split('\n');
    const [, token = ''] = /^::add-mask::(eyJ\S+)$/.exec(mask) ?? [];
    t.ok(token, 'the token is masked before anything else is printed');
    t.notMatch(rest.join('\n') + stderr, token, 'it is not printed again, even with tracing');
    t.notMatch(stdout + stderr, pairingCode);
    t.notMatch(stdout + stderr, environment.ACTIONS_ID_TOKEN_REQUEST_TOKEN ?? 'none');
    const { state: reached, claims } = await state();
    t.equal(reached, 'OBSERVED');
    t.ok(claims.length > 10);
    t.same(new Set(world.platform.tokens.audiences), new Set([world.audience]), 'as displayed');
  }
});

test('The step explains missing inputs', async (t) => {
  const { script, environment, state } = await startStepWorld(t);
  const run = async (change: Readonly<Record<string, string>>) => {
    const { code, stdout } = await bash(script, { ...environment, ...change }, [...RUNNER, '-u']);
    t.equal(code, 1);
    return stdout.replace(/^::add-mask::.*\n/, '');
  };
  t.match(await run({ ACTIONS_ID_TOKEN_REQUEST_URL: '' }), /^::error .*'id-token: write'/);
  t.match(await run({ SVC_SETUP_CODE: '' }), /^::error .*SVC_SETUP_CODE is empty/);
  t.match(await run({ SVC_SETUP_CODE: 'a"b' }), /^::error .*not a pairing code/);
  t.match(await run({ SVC_SETUP_CODE: 'wrong' }), /HTTP 401: The setup id and the pairing code/);
  t.match(await run({ ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'x' }), /gave no identity token/);
  t.match(await state(), { state: 'AWAITING_PROOF', wrongCodes: 1 });
});

test('A pairing code stored with white space works', async (t) => {
  const { script, environment, state } = await startStepWorld(t);
  const change = { SVC_SETUP_CODE: ` ${environment.SVC_SETUP_CODE}\n` };
  t.equal((await bash(script, { ...environment, ...change })).code, 0);
  t.equal((await state()).state, 'OBSERVED');
});

test('The step has origin, setup id and audience; the code comes from a secret', async (t) => {
  const { stepText, world, setupId, pairingCode } = await startStepWorld(t);
  t.match(stepText, `setup_id='${setupId}'`);
  t.match(stepText, "origin='http://127.0.0.1:8080'");
  t.match(stepText, encodeURIComponent(world.audience));
  t.match(stepText, /SVC_SETUP_CODE: \$\{\{ secrets\.SVC_SETUP_CODE \}\}/);
  t.notMatch(stepText, pairingCode);
  t.notMatch(stepText, /set -[a-z]*x|GITHUB_ENV|GITHUB_OUTPUT/);
});

test('Each other platform has its own step, in valid shell', async (t) => {
  const { about, environment, world } = await startStepWorld(t);
  const platforms = ['gitlab', 'buildkite', 'circleci', undefined];
  const opened = await Promise.all(
    platforms.map(async (platform) => {
      const { setupId, pairingCode } = (await world.start()).body;
      return { pairingCode, step: workflowStep({ ...about, setupId, platform }) };
    }),
  );
  const steps = opened.map(({ step }) => step);
  t.equal(new Set(steps).size, 4);
  for (const step of steps) t.match(step, world.audience);
  const [gitlab = '', buildkite = '', circleci = '', any = ''] = steps;
  const scripts = [
    gitlab.split('    - |\n')[1]?.replace(/^ {6}/gm, ''),
    // The result of the platform's upload.
    buildkite.split('  command: |\n')[1]?.replace(/^ {4}/gm, '').replaceAll('$$', '$'),
    circleci.split('    command: |\n')[1]?.replace(/^ {6}/gm, ''),
    any,
  ];
  const tools = `buildkite-agent() { printf %s "$TOKEN"; }; circleci() { printf %s "$TOKEN"; }\n`;
  for (const [i, script = ''] of scripts.entries()) {
    const token = await world.mint();
    const given = {
      ...environment,
      TOKEN: token,
      SVC_SETUP_CODE: opened[i]?.pairingCode ?? '',
      ...(i !== 1 && i !== 2 && { SVC_ASSERTION: token }),
    };
    const { code, stdout, stderr } = await bash(tools + script, given);
    t.equal(code, 0, stdout + stderr);
    t.match(stdout, /^Observed/m);
    t.notMatch(stdout, token);
  }
});
