/**
 * A runner of GitHub Actions with the features that the guide uses: steps with bash, composite
 * actions, `${{ … }}` of inputs, variables and secrets, masks, the summary file. A job may request
 * identity tokens only if its permissions say so. The platform that the test runs issues the
 * tokens.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

export interface RunnerOptions {
  /** Secrets of the repository. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly variables: Readonly<Record<string, string>>;
  /** Address and token of the token endpoint, for jobs that may use it. */
  readonly tokenEnvironment: Readonly<Record<string, string>>;
  readonly PATH: string;
  /** Folder of an action, by its name without the version. */
  readonly actions: Readonly<Record<string, string>>;
}

export interface JobRun {
  readonly ok: boolean;
  /** Log as people see it: masked values appear as *** once they are masked. */
  readonly log: string;
  /** Values that the steps masked. */
  readonly masked: readonly string[];
  /** Summary on the run's page. */
  readonly summary: string;
}

interface Step {
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly with?: Readonly<Record<string, string>>;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] | null }>>;
}

interface Action {
  readonly inputs?: Readonly<Record<string, { readonly default?: string }>>;
  readonly runs: { readonly steps: readonly Step[] };
}

/** Values of `${{ … }}` by their full name, such as `inputs.trust`. */
type Values = Readonly<Record<string, string>>;

/** Runs the only job of a workflow, step by step, until one fails. */
export async function runWorkflow(text: string, options: RunnerOptions): Promise<JobRun> {
  const { permissions = {}, jobs } = parse(text) as Workflow;
  const [job] = Object.values(jobs);
  const folder = mkdtempSync(join(tmpdir(), 'svc-job-'));
  const summaryFile = join(folder, 'summary.md');
  writeFileSync(summaryFile, '');
  const base = {
    PATH: options.PATH,
    HOME: folder,
    GITHUB_STEP_SUMMARY: summaryFile,
    CI: 'true',
    GITHUB_ACTIONS: 'true',
    GITHUB_EVENT_NAME: 'push',
    ...(permissions['id-token'] === 'write' ? options.tokenEnvironment : {}),
  };
  const values = {
    ...prefixed('secrets', options.secrets),
    ...prefixed('vars', options.variables),
  };
  const log = new JobLog();
  try {
    let ok = true;
    for (const step of job?.steps ?? []) {
      for (const part of expand(step, values, options)) {
        ok &&= (await runScript(part, { base, folder, log })) === 0;
      }
    }
    return { ok, log: log.text, masked: log.masked, summary: readFileSync(summaryFile, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Script {
  readonly script: string;
  readonly env: Values;
}

/** Expands a step into its scripts. */
function expand(step: Step, values: Values, { actions }: RunnerOptions): Script[] {
  if (step.uses === undefined) {
    const env = Object.entries(step.env ?? {});
    return [
      {
        script: substituted(step.run ?? '', values),
        env: Object.fromEntries(env.map(([name, text]) => [name, substituted(text, values)])),
      },
    ];
  }
  const [name = ''] = step.uses.split('@');
  const folder = actions[name];
  if (folder === undefined) throw new Error(`There is no action ${name}`);
  const { inputs = {}, runs } = parse(readFileSync(join(folder, 'action.yml'), 'utf8')) as Action;
  const given = Object.entries(step.with ?? {});
  const own = {
    ...Object.fromEntries(
      Object.entries(inputs).map(([input, { default: text = '' }]) => [`inputs.${input}`, text]),
    ),
    ...Object.fromEntries(
      given.map(([input, text]) => [`inputs.${input}`, substituted(text, values)]),
    ),
    'github.action_path': folder,
  };
  return runs.steps.flatMap((inner) => expand(inner, own, { actions } as RunnerOptions));
}

function substituted(text: string, values: Values): string {
  return text.replaceAll(/\$\{\{ *([\w.]+) *\}\}/g, (_, name: string) => values[name] ?? '');
}

function prefixed(prefix: string, values: Values): Values {
  return Object.fromEntries(
    Object.entries(values).map(([name, text]) => [`${prefix}.${name}`, text]),
  );
}

async function runScript(
  { script, env }: Script,
  { base, folder, log }: { base: Values; folder: string; log: JobLog },
): Promise<number | null> {
  const file = join(folder, 'step.sh');
  writeFileSync(file, script);
  const child = spawn('bash', ['--noprofile', '--norc', '-eo', 'pipefail', file], {
    cwd: folder,
    env: { ...base, ...env },
    timeout: 600_000,
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (chunk) => log.add(String(chunk)));
  child.stderr.on('data', (chunk) => log.add(String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

/** Lines in order of arrival, without the runner's commands. */
class JobLog {
  text = '';
  readonly masked: string[] = [];

  add(chunk: string): void {
    for (const line of chunk.split(/(?<=\n)/)) {
      const secret = /^\s*::add-mask::(.*)$/.exec(line.trimEnd())?.[1];
      if (secret) this.masked.push(secret);
      else
        this.text += this.masked.reduce(
          (displayed, each) => displayed.replaceAll(each, '***'),
          line,
        );
    }
  }
}
