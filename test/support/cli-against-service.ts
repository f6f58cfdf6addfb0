/**
 * Sets up client commands against a service: the whole service on a port of 127.0.0.1 with a data
 * folder of its own and a CI platform beside it, and `svc` run in this process, command by command,
 * as somebody with a home folder, an environment and perhaps a terminal.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { processPorts } from '../../src/cli/client/ports.ts';
import type { ChildCommand, ClientPorts, Surroundings } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import { createLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { type CiIssuer, startCiIssuer } from './ci-issuer.ts';
import { type Demo, dataFolder, until } from './program.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON document. */
  // Documents are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly json: any;
  /** What was given to the child, where one was run. */
  readonly child: ChildCommand | undefined;
}

export interface RunOptions {
  /** On top of SVC_ENDPOINT and the home folder of the person. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Whose home folder; default `owner`. */
  readonly as?: string;
  /** Standard input. */
  readonly input?: string;
  /** Width of the terminal of standard output; absent: it is a pipe. */
  readonly columns?: number;
  /** Answers on a terminal; absent: there is none. */
  readonly answers?: string[];
  readonly client?: Partial<ClientPorts>;
}

export type CliWorld = Awaited<ReturnType<typeof startCliWorld>>;

/** Started; ends with the test. `settings` on top of those of a quiet service. */
export async function startCliWorld(t: Test, settings: Readonly<Record<string, string>> = {}) {
  const folder = dataFolder(t);
  const platform: CiIssuer = await startCiIssuer();
  const lines: string[] = [];
  const config = loadConfig([], {
    SVC_DATA: join(folder, 'data'),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
    SVC_CI_ISSUERS: platform.setting,
    ...settings,
  });
  const log = createLog({
    ...{ level: 'debug', readable: false, clock: systemClock },
    write: (line) => void lines.push(line),
  });
  const service = await createService({ settings: config.settings, log });
  t.teardown(async () => {
    await service.stop();
    await platform.close();
  });
  const endpoint = service.address;
  const demo = JSON.parse(readFileSync(service.demoFile ?? '', 'utf8')) as Demo;

  /** Everything that any command printed. */
  const printed: string[] = [];
  const homeOf = (person: string): string => join(folder, 'home', person);

  async function svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const home = homeOf(options.as ?? 'owner');
    mkdirSync(home, { recursive: true });
    const base = { PATH: process.env.PATH, SVC_ENDPOINT: endpoint, SVC_DATA: join(folder, 'data') };
    const stage = new Stage({ ...base, ...options.env }, home, options);
    const code = await runProgram(args, stage.surroundings);
    printed.push(stage.stdout, stage.stderr);
    const { stdout, stderr, child } = stage;
    return {
      ...{ code, stdout, stderr, child },
      get json() {
        return JSON.parse(stdout);
      },
    };
  }

  /** A person, signed in by a one-time link of the operator; the owner of `demo` comes first. */
  async function signIn(person = 'owner'): Promise<void> {
    const made = await svc(['admin', 'login-link', `${person}@example.test`, '--json']);
    if (made.code !== 0) throw new Error(made.stderr);
    const login = await svc(['login', '--link', '-'], { as: person, input: made.json.link });
    if (login.code !== 0) throw new Error(login.stderr);
  }
  return { endpoint, demo, folder, lines, platform, printed, svc, signIn, homeOf };
}

/** What one command sees of the world, and what it leaves there. */
class Stage {
  stdout = '';
  stderr = '';
  child: ChildCommand | undefined;
  readonly surroundings: Surroundings;

  constructor(environment: Surroundings['environment'], home: string, options: RunOptions) {
    this.surroundings = {
      environment,
      stdout: (text) => {
        this.stdout += text;
      },
      stderr: (text) => {
        this.stderr += text;
      },
      log: () => {},
      isTerminal: options.answers !== undefined,
      isStdoutTerminal: options.columns !== undefined,
      stdoutColumns: options.columns,
      onSignal: () => () => {},
      exitNow: (code) => {
        throw new Error(`The command ended the process with ${code}`);
      },
      client: this.#ports(home, options),
    };
  }

  #ports(home: string, { answers, input = '', client = {} }: RunOptions): ClientPorts {
    return {
      ...processPorts(),
      homeFolder: home,
      isInteractive: answers !== undefined,
      readInput: async () => input,
      ask: async (prompt) => {
        this.stderr += prompt;
        return answers?.shift() ?? '';
      },
      openBrowser: async () => false,
      runChild: async (given) => {
        this.child = given;
        return { exitCode: 0 };
      },
      ...client,
    };
  }
}

/** One reading of `vm-1`; `at` in Unix seconds, `memory` in bytes. */
export interface Reading {
  readonly at: number;
  readonly memory: number;
  readonly index: number;
}

/** Readings of `vm-1` in `demo`, by its collector; the VM is in the inventory when it resolves. */
export async function writeReadings(
  { endpoint, demo, svc }: CliWorld,
  readings: readonly Reading[],
): Promise<void> {
  const rows = readings.map(({ at, memory, index }) => ({
    ...{
      vmName: 'vm-1',
      displayName: 'One',
      observedUnixMs: String(at * 1000),
      sequence: index + 1,
    },
    ...{ bootId: 'boot', vcpus: 2, state: 'RUNNING' },
    values: [{ series: 'svc_vm_memory_used_bytes', value: memory }],
  }));
  const answer = await fetch(`${endpoint}/svc.ingest.v1.IngestService/WriteSamples`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.collectorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectName: 'projects/demo', rows }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const env = { SVC_API_KEY: demo.apiKey, SVC_PROJECT: 'demo' };
  await until('the VM is there', async () => {
    const { stdout } = await svc(['monitoring', 'vms'], { as: 'nobody', env });
    return stdout.includes('vm-1') || undefined;
  });
}
