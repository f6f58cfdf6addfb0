/**
 * The nine steps of docs/ci.md, followed literally: its blocks of code are run as they stand there,
 * by bash, against the program as a user starts it. A local issuer plays the CI platform, a script
 * in the PATH plays GitHub's `gh`, and a stand-in of the runner runs the workflow that was pushed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { startCiIssuer } from '../support/ci-issuer.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { dataFolder, type Program, startProgram, until } from '../support/program.ts';
import { runWorkflow } from '../support/workflow-runner.ts';

const project = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const WORKFLOW = '.github/workflows/deploy.yml';
const PASTE_HERE = '      # the step goes here\n';

/** GitHub's command, as far as the guide uses it: it keeps what it is given in files. */
const GH = `#!/bin/bash
set -eu
mkdir -p "$GH_STATE/secrets" "$GH_STATE/variables"
case "$1 $2" in
  'secret set') cat > "$GH_STATE/secrets/$3" ;;
  'secret delete') rm "$GH_STATE/secrets/$3" ;;
  'variable set') [ "$3" = --env-file ]
    while IFS='=' read -r name value; do printf %s "$value" > "$GH_STATE/variables/$name"; done < "$4" ;;
  *) echo "gh $*: not known here" >&2; exit 1 ;;
esac
`;

t.test(
  'the nine steps of docs/ci.md, run as they stand there, end in a job that reads',
  async (t) => {
    const world = await startWorld(t);
    const { platform, follow, push, program } = world;

    const signedIn = await follow(1, { whileRunning: world.playBrowser });
    t.match(signedIn.stdout, /^Signed in at http:\S+ as people\//m);
    t.match(signedIn.stdout, /^project +projects\/acme \(OWNER\)$/m);
    t.match((await follow(2)).stdout, /^may do +monitoring\.read$/m);

    const started = await follow(3);
    const code = /^code +(svc_pair_\S+)$/m.exec(started.stderr)?.[1] ?? '';
    const setupId = /^setup id +(\S+)$/m.exec(started.stderr)?.[1] ?? '';
    t.match(code, /^svc_pair_/, 'the code is shown, this once');
    t.notMatch(started.stdout, code);
    await follow(4, { input: code });
    await follow(5);
    const pasted = readFileSync(join(world.checkout, WORKFLOW), 'utf8');
    t.notMatch(pasted, code, 'the code is not in the repository');
    await follow(6);
    const proof = await push();
    t.ok(proof.ok, proof.log);
    t.match(proof.log, 'Observed, and waiting for review. Nothing is granted yet.');

    const approved = await follow(7, {
      terminal: [/Setup id.*: /, setupId, /Type "yes": /, 'yes'],
    });
    t.match(approved.stdout, /repository_id +74 +yes/, 'each claim is shown');
    await follow(8);
    t.strictSame(readdirSync(join(world.state, 'secrets')), [], 'the temporary secret is gone');
    const present = readFileSync(join(world.checkout, WORKFLOW), 'utf8');
    t.equal(present, codeBlock('ci.md', `# ${WORKFLOW}`), 'and so is the step');
    const use = codeBlock('ci.md', '# In place of "the step goes here"').split('\n').slice(1);
    writeFileSync(join(world.checkout, WORKFLOW), present.replace(PASTE_HERE, use.join('\n')));
    await follow(9);
    const job = await push();
    t.ok(job.ok, job.log);
    t.match(
      job.log,
      'There are no VMs in this project',
      'the job reads the project it is trusted in',
    );

    await t.test('the official client gets a token for the same trust', async (t) => {
      const file = join(
        t.testdir({ 'exchange.mjs': codeBlock('ci.md', '// exchange.mjs') }),
        'exchange.mjs',
      );
      const environment = { ...world.variables(), ...platform.jobEnvironment };
      const { code, stdout, stderr } = await world.run([process.execPath, file], { environment });
      t.equal(code, 0, stderr);
      t.match(stdout, /^0 VMs$/m);
      t.match(stdout, /^::add-mask::/m);
    });

    await t.test('a run from another branch is refused, and shown what differs', async (t) => {
      platform.job.claims = { ref: 'refs/heads/topic' };
      const refused = await push();
      t.notOk(refused.ok);
      t.match(refused.log, /^ref +refs\/heads\/topic +DIFFERENT: expected refs\/heads\/main$/m);
      const correlation = /correlation: (\S+)/.exec(refused.log)?.[1] ?? '';
      t.match(correlation, /^\w{26}$/);
      t.match(refused.summary, `correlation: \`${correlation}\``);
      t.match(
        refused.summary,
        '| `ref` | `refs/heads/topic` | **`DIFFERENT: expected refs/heads/main`** |',
      );
      for (const token of refused.masked) t.notMatch(refused.summary + refused.log, token);
      platform.job.claims = {};
    });

    await t.test('a disabled trust stops the next run', async (t) => {
      const trust = world.variables().SVC_TRUST ?? '';
      t.equal((await world.run(['svc', 'trusts', 'disable', trust])).code, 0);
      const refused = await push();
      t.notOk(refused.ok);
      t.match(refused.log, /EXCHANGE_DENIED: .* is disabled/);
    });

    const secrets = [code, world.session(), ...proof.masked, ...job.masked];
    t.ok(secrets.length >= 5 && secrets.every((secret) => secret.length > 40));
    await program.stop();
    for (const secret of secrets) {
      t.notOk(program.log().includes(secret), 'no secret is in the log of the service');
      t.notOk(
        world.filesWith(secret).length > 0,
        'nor in a file of the checkout, the home or the data',
      );
    }
  },
);

interface Followed {
  readonly stdout: string;
  readonly stderr: string;
}

interface FollowOptions {
  readonly input?: string;
  /** Told standard error as it grows, until the step ends. */
  readonly whileRunning?: (stderr: () => string) => Promise<void>;
  /** Prompts and what a person types at each: the step then runs on a terminal. */
  readonly terminal?: readonly (RegExp | string)[];
}

/** The program, a person's machine with a checkout, and the platform. */
async function startWorld(t: Test) {
  const folder = dataFolder(t);
  const at = (name: string): string => join(folder, name);
  const [home, tools, state, checkout] = [at('home'), at('tools'), at('state'), at('checkout')];
  for (const path of [home, tools, at('data')]) mkdirSync(path);
  const platform = await startCiIssuer();
  t.teardown(() => platform.close());
  const settings = { SVC_CI_ISSUERS: platform.setting, SVC_COLLECT: 'none' };
  const program: Program = await startProgram(t, at('data'), settings);
  const endpoint = program.demo.baseUrl;
  writeTool(tools, 'svc', `#!/bin/sh\nexec node '${project}/bin/svc.js' "$@"\n`);
  writeTool(tools, 'gh', GH);
  const PATH = `${tools}:${project}/node_modules/.bin:${process.env.PATH}`;
  const machine = { PATH, HOME: home, GH_STATE: state, GIT_CONFIG_GLOBAL: at('gitconfig') };
  prepareRepository(machine, { folder, checkout });

  // The one thing that every reader changes.
  const before = codeBlock('ci.md', '# Before: your service, your project').replace(
    'https://monitoring.example.com',
    endpoint,
  );
  const shared = at('shell-state');

  /** One step's block, in a shell that keeps the variables of the steps before it. */
  async function follow(step: number, options: FollowOptions = {}): Promise<Followed> {
    const kept = 'declare -p ACCOUNT SETUP_ID 2>/dev/null';
    const script = [
      `set -euo pipefail; cd '${checkout}'`,
      existsSync(shared) ? readFileSync(shared, 'utf8') : '',
      ...[before, codeBlock('ci.md', `# Step ${step}`), `{ ${kept} || true; } > '${shared}'`],
    ].join('\n');
    const file = at(`step-${step}.sh`);
    writeFileSync(file, script);
    const command = options.terminal
      ? ['script', '-qefc', `bash --norc '${file}'`, '/dev/null']
      : ['bash', '--norc', file];
    const ended = await run(command, options);
    if (ended.code !== 0) throw new Error(`Step ${step}: ${ended.stdout}${ended.stderr}`);
    return ended;
  }

  interface Run extends FollowOptions {
    readonly environment?: Readonly<Record<string, string>>;
  }

  async function run([file = '', ...args]: readonly string[], options: Run = {}) {
    const { input, environment = {}, terminal = [], whileRunning } = options;
    const child = spawn(file, args, {
      env: { ...machine, SVC_ENDPOINT: endpoint, SVC_PROJECT: 'acme', ...environment },
      ...{ timeout: 60_000, killSignal: 'SIGKILL' as const },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk) => (stdout += chunk));
    child.stderr.on('data', (chunk) => (stderr += chunk));
    const closed = once(child, 'close') as Promise<[number | null]>;
    await type(child, () => stdout, terminal);
    child.stdin.end(input ?? '');
    await whileRunning?.(() => stderr);
    const [code] = await closed;
    return { code, stdout: stdout.replaceAll('\r', ''), stderr };
  }

  const owner = 'owner@example.test';
  const admin = { environment: { SVC_DATA: at('data') } };
  const made = await run(['svc', 'admin', 'project', 'create', 'acme', '--owner', owner], admin);
  if (made.code !== 0) throw new Error(made.stderr);

  const variables = () => filesOf(join(state, 'variables'));
  return {
    ...{ platform, program, checkout, state, follow, run, variables },
    session: () =>
      readFileSync(join(home, '.config/svc/session.json'), 'utf8').match(/svc_session_\w+/)?.[0] ??
      '',
    /** The browser of the person: signed in by a link of the operator, it confirms what is asked. */
    async playBrowser(stderr: () => string) {
      const link = await run(['svc', 'admin', 'login-link', owner, '--json'], admin);
      const token = /svc_link_\w+/.exec(link.stdout)?.[0] ?? '';
      const url = await until(
        'the address is told',
        () => /http\S+auth\/cli\S+/.exec(stderr())?.[0],
      );
      await confirmInBrowser(endpoint, token, new URL(url));
    },
    /** What the platform does after a push: the job of the workflow that is on main now. */
    push: () =>
      runWorkflow(git(machine, at('origin.git'), 'show', `main:${WORKFLOW}`), {
        secrets: filesOf(join(state, 'secrets')),
        variables: variables(),
        tokenEnvironment: platform.jobEnvironment,
        PATH,
        actions: { 'your-org/vm-monitoring': project },
      }),
    filesWith: (secret: string) =>
      [checkout, at('data'), state, at('origin.git')]
        .flatMap(everyFile)
        .filter((path) => readFileSync(path).includes(secret)),
  };
}

/** Types each answer once its prompt is on the screen. */
async function type(
  child: ChildProcess,
  screen: () => string,
  dialogue: readonly (RegExp | string)[],
): Promise<void> {
  let seen = 0;
  for (const part of dialogue) {
    if (typeof part === 'string') {
      seen = screen().length;
      child.stdin?.write(`${part}\n`);
    } else {
      const isThere = () => part.test(screen().slice(seen)) || undefined;
      await until(`the prompt ${part}`, isThere, 20);
    }
  }
}

/** Cookies, a page and its form: what a person's browser does on the way to `svc login`. */
async function confirmInBrowser(endpoint: string, token: string, url: URL): Promise<void> {
  const post = (path: string, form: Record<string, string>, headers = {}) =>
    fetch(endpoint + path, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(form) },
      headers: { origin: endpoint, 'sec-fetch-site': 'same-origin', ...headers },
    });
  const signedIn = await post('/auth/link', { token });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const page = await fetch(url, { headers: { cookie } });
  if (!(await page.text()).includes('svc login')) throw new Error('The page does not ask');
  const confirmed = await post('/auth/cli', Object.fromEntries(url.searchParams), { cookie });
  const back = await fetch(confirmed.headers.get('location') ?? '');
  if (!(await back.text()).includes('Signed in')) throw new Error('The browser was not told');
}

type Environment = Readonly<Record<string, string>>;

function git(env: Environment, folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8', stdio: 'pipe' });
}

/** A checkout whose workflow has no steps yet, and where it is pushed to. */
function prepareRepository(env: Environment, at: { folder: string; checkout: string }): void {
  git(env, at.folder, 'init', '--bare', '--initial-branch=main', 'origin.git');
  git(env, at.folder, 'init', '--initial-branch=main', at.checkout);
  git(env, at.checkout, 'config', 'user.name', 'Somebody');
  git(env, at.checkout, 'config', 'user.email', 'somebody@example.test');
  git(env, at.checkout, 'remote', 'add', 'origin', join(at.folder, 'origin.git'));
  mkdirSync(join(at.checkout, '.github/workflows'), { recursive: true });
  writeFileSync(join(at.checkout, WORKFLOW), codeBlock('ci.md', `# ${WORKFLOW}`));
  git(env, at.checkout, 'add', '.');
  git(env, at.checkout, 'commit', '-m', 'A workflow');
  git(env, at.checkout, 'push', '--set-upstream', 'origin', 'main');
}

function writeTool(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
}

function filesOf(folder: string): Record<string, string> {
  if (!existsSync(folder)) return {};
  const names = readdirSync(folder);
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

function everyFile(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path) && statSync(path).isFile());
}
