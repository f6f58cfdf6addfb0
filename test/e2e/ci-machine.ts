/**
 * The machine of a user who sets up keyless CI: a home folder, a checkout of their repository and
 * its remote, `svc` and `gh` in the PATH, a browser, a program with a project that they are a
 * member of, and the CI platform that runs pushed workflows.
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
import type { Test } from 'tap';
import { type CiIssuer, startCiIssuer } from '../support/ci-issuer.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { pageHostOf, requestAs } from '../support/named-host.ts';
import { dataFolder, type Program, startProgram, until } from '../support/program.ts';
import { type JobRun, runWorkflow } from '../support/workflow-runner.ts';

const project = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const OWNER = 'owner@example.test';

/** The workflow of the guide, in its repository. */
export const WORKFLOW = '.github/workflows/deploy.yml';

/**
 * Stand-in for GitHub's command, as far as the guide uses it. It stores secrets and variables in
 * files.
 */
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

export interface RunOptions {
  /** Standard input. */
  readonly input?: string;
  /** Called with all of standard error each time it grows, until the command ends. */
  readonly whileRunning?: (stderr: () => string) => Promise<void>;
  /**
   * Prompts, and the answer that the user types at each; a function reads it from the screen. With
   * this option the command runs on a terminal.
   */
  readonly terminal?: readonly (RegExp | string | ((screen: string) => string))[];
  readonly environment?: Environment;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Starts a machine that ends with the test. Its user is the owner of the project `acme`.
 * @param issuers the setting `SVC_CI_ISSUERS`; default: the platform of the machine
 */
export async function startCiMachine(t: Test, issuers?: string): Promise<CiMachine> {
  const folder = dataFolder(t);
  for (const name of ['home', 'tools', 'data']) mkdirSync(join(folder, name));
  const platform = await startCiIssuer();
  t.teardown(() => platform.close());
  const settings = { SVC_CI_ISSUERS: issuers ?? platform.setting, SVC_COLLECT: 'none' };
  const program = await startProgram(t, join(folder, 'data'), settings);
  const tools = join(folder, 'tools');
  writeTool(tools, 'svc', `#!/bin/sh\nexec node '${project}/bin/svc.js' "$@"\n`);
  writeTool(tools, 'gh', GH);
  const machine = new CiMachine(folder, program, platform);
  prepareRepository(machine.environment, { folder, checkout: machine.checkout });
  await machine.administer('project', 'create', 'acme', '--owner', OWNER);
  return machine;
}

export class CiMachine {
  readonly program: Program;
  readonly platform: CiIssuer;
  readonly checkout: string;
  /** Folder in which `gh` keeps secrets and variables, one file each. */
  readonly state: string;
  readonly environment: Environment;
  /** Data folder of the service. */
  readonly data: string;
  readonly #folder: string;

  constructor(folder: string, program: Program, platform: CiIssuer) {
    this.#folder = folder;
    this.program = program;
    this.platform = platform;
    this.data = join(folder, 'data');
    this.checkout = join(folder, 'checkout');
    this.state = join(folder, 'state');
    this.environment = {
      PATH: `${join(folder, 'tools')}:${project}/node_modules/.bin:${process.env.PATH}`,
      HOME: join(folder, 'home'),
      GH_STATE: this.state,
      GIT_CONFIG_GLOBAL: join(folder, 'gitconfig'),
    };
  }

  /**
   * Runs one step's block in a shell that keeps the variables of earlier steps. Throws if it fails.
   */
  async follow(step: number, options: RunOptions = {}): Promise<Ran> {
    // The only line that every reader has to change.
    const before = codeBlock('ci.md', '# Before: your service, your project').replace(
      'https://monitoring.example.com',
      this.program.demo.baseUrl,
    );
    const shared = join(this.#folder, 'shell-state');
    const keep = `{ declare -p ACCOUNT SETUP_ID 2>/dev/null || true; } > '${shared}'`;
    const kept = existsSync(shared) ? readFileSync(shared, 'utf8') : '';
    const start = `set -euo pipefail; cd '${this.checkout}'`;
    const script = [start, kept, before, codeBlock('ci.md', `# Step ${step}`), keep].join('\n');
    const file = join(this.#folder, `step-${step}.sh`);
    writeFileSync(file, script);
    const command = options.terminal
      ? ['script', '-qefc', `bash --norc '${file}'`, '/dev/null']
      : ['bash', '--norc', file];
    const ran = await this.run(command, options);
    if (ran.code !== 0) throw new Error(`Step ${step}: ${ran.stdout}${ran.stderr}`);
    return ran;
  }

  /** Runs one command on the machine. A command that takes more than ten minutes is killed. */
  async run([file = '', ...args]: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const { input, environment = {}, terminal = [], whileRunning } = options;
    const own = { SVC_ENDPOINT: this.program.demo.baseUrl, SVC_PROJECT: 'acme' };
    const child = spawn(file, args, {
      env: { ...this.environment, ...own, ...environment },
      timeout: 600_000,
      killSignal: 'SIGKILL' as const,
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

  /** Runs `svc admin` as the operator. Throws if it fails. */
  async administer(...args: string[]): Promise<string> {
    const environment = { SVC_DATA: this.data };
    const ran = await this.run(['svc', 'admin', ...args], { environment });
    if (ran.code !== 0) throw new Error(ran.stderr);
    return ran.stdout;
  }

  /** Plays the user's browser: signs in with a link of the operator and confirms the request. */
  async playBrowser(stderr: () => string): Promise<void> {
    const link = await this.administer('login-link', OWNER, '--json');
    const token = /svc_link_\w+/.exec(link)?.[0] ?? '';
    const address = () => /http\S+auth\/cli\S+/.exec(stderr())?.[0];
    const url = new URL(await until('the address is printed', address));
    await confirmInBrowser(this.program.demo.baseUrl, token, url);
  }

  /** Runs the job of the workflow that is on main, as the platform does after a push. */
  push(): Promise<JobRun> {
    const origin = join(this.#folder, 'origin.git');
    return runWorkflow(git(this.environment, origin, 'show', `main:${WORKFLOW}`), {
      secrets: filesOf(join(this.state, 'secrets')),
      variables: this.variables(),
      tokenEnvironment: this.platform.jobEnvironment,
      PATH: this.environment.PATH ?? '',
      actions: { 'your-org/vm-monitoring': project },
    });
  }

  /** Variables of the repository. */
  variables(): Environment {
    return filesOf(join(this.state, 'variables'));
  }

  /** Secret of the user's session. */
  session(): string {
    const file = join(this.#folder, 'home/.config/svc/session.json');
    return /svc_session_\w+/.exec(readFileSync(file, 'utf8'))?.[0] ?? '';
  }

  /** Files of the checkout, its origin, the service and `gh` that contain a text. */
  filesWith(text: string): string[] {
    return ['checkout', 'origin.git', 'data', 'state']
      .flatMap((name) => everyFile(join(this.#folder, name)))
      .filter((path) => readFileSync(path).includes(text));
  }
}

/** Types each answer once its prompt is on the screen. */
async function type(
  child: ChildProcess,
  screen: () => string,
  dialogue: readonly (RegExp | string | ((screen: string) => string))[],
): Promise<void> {
  let seen = 0;
  for (const part of dialogue) {
    if (!(part instanceof RegExp)) {
      const answer = typeof part === 'string' ? part : part(screen());
      seen = screen().length;
      child.stdin?.write(`${answer}\n`);
    } else {
      const isThere = () => part.test(screen().slice(seen)) || undefined;
      await until(`the prompt ${part}`, isThere);
    }
  }
}

/** Plays the user's browser during `svc login`: cookies, a page and its form. */
async function confirmInBrowser(endpoint: string, token: string, url: URL): Promise<void> {
  const host = await pageHostOf(endpoint);
  const origin = `http://${host}`;
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = (path: string, form: Record<string, string>, headers = {}) =>
    requestAs(host, endpoint + path, {
      method: 'POST',
      body: new URLSearchParams(form).toString(),
      headers: { ...type, origin, 'sec-fetch-site': 'same-origin', ...headers },
    });
  const signedIn = await post('/auth/link', { token });
  const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const path = url.pathname + url.search;
  const page = await requestAs(host, endpoint + path, { method: 'GET', headers: { cookie } });
  if (!page.text.includes('svc login')) throw new Error('The page does not ask');
  const confirmed = await post('/auth/cli', Object.fromEntries(url.searchParams), { cookie });
  const back = await fetch(confirmed.headers.get('location') ?? '');
  if (!(await back.text()).includes('Signed in')) throw new Error('The browser was not signed in');
}

type Environment = Readonly<Record<string, string>>;

function git(env: Environment, folder: string, ...args: string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { env, encoding: 'utf8', stdio: 'pipe' });
}

/** Creates a checkout whose workflow has no steps yet, and its remote. */
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
