/**
 * Sets up client commands against a whole service on a port of 127.0.0.1 with a CI platform: the
 * service that the files of this process share, or one of the test's own. `svc` runs in this
 * process, command by command, as a person with a home folder, an environment and perhaps a
 * terminal.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { processPorts } from '../../src/cli/client/ports.ts';
import type { ChildCommand, ClientPorts, Surroundings } from '../../src/cli/command.ts';
import { runProgram } from '../../src/cli/program.ts';
import { createLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { type CiIssuer, startCiIssuer } from './ci-issuer.ts';
import { type Demo, dataFolder, until } from './program.ts';
import {
  createProject,
  type SharedService,
  separateService,
  sharedService,
} from './shared-service.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as one JSON document. */
  // Documents are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly json: any;
  /** Command that was passed to the child, if one ran. */
  readonly child: ChildCommand | undefined;
}

export interface RunOptions {
  /** Variables on top of SVC_ENDPOINT and the person's home folder. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Person whose home folder is used. Default: `owner`. */
  readonly as?: string;
  /** Standard input. */
  readonly input?: string;
  /** Width of the terminal on standard output; absent: a pipe. */
  readonly columns?: number;
  /** Answers on a terminal; absent: there is no terminal. */
  readonly answers?: string[];
  readonly client?: Partial<ClientPorts>;
}

/** A service, and people with home folders who run `svc` against it. */
export interface CliWorld {
  readonly endpoint: string;
  /** Folder of the test. If the test starts the service, the data folder is `data` in it. */
  readonly folder: string;
  /** The CI platform that the service knows. */
  readonly platform: CiIssuer;
  /** Lines of the service's log since the test began. */
  readonly lines: readonly string[];
  /** Output of every command. */
  readonly printed: readonly string[];
  svc(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Signs a person in with a one-time link of the operator. The owner of `demo` comes first. */
  signIn(person?: string): Promise<void>;
  homeOf(person: string): string;
  emailOf(person: string): string;
}

/** A world with a project and its keys. */
export type DemoWorld = CliWorld & { readonly demo: Demo };

/**
 * Starts a world with a service of its own, which ends with the test, and the project `demo`.
 * `settings` are on top of those of a quiet service. People have addresses at `example.test`.
 */
export async function startCliWorld(
  t: Test,
  settings: Readonly<Record<string, string>> = {},
): Promise<DemoWorld> {
  const folder = dataFolder(t);
  const platform = await startCiIssuer();
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
    level: 'debug',
    readable: false,
    clock: systemClock,
    write: (line) => void lines.push(line),
  });
  // Loaded only if needed: a world that joins a service has none in its own thread.
  const { createService } = await import('../../src/service/service.ts');
  const service = await createService({ settings: config.settings, log });
  t.teardown(async () => {
    await service.stop();
    await platform.close();
  });
  const endpoint = service.address;
  const demo = JSON.parse(readFileSync(service.demoFile ?? '', 'utf8')) as Demo;
  const data = join(folder, 'data');
  const commands = commandsOn({ folder, data, endpoint, domain: 'example.test' });
  return { endpoint, folder, platform, lines, demo, ...commands };
}

/**
 * Joins the service that all files of this process share. The test creates its projects, with names
 * that no other file uses. Their owners are at `${name}.test`, so they own no other projects.
 */
export async function joinCliWorld(t: Test, name: string): Promise<CliWorld> {
  return worldOn(t, name, await sharedService());
}

/**
 * Like `joinCliWorld`, with a service that no other file joins, because sign-in is limited per
 * address.
 */
export async function startSeparateCliWorld(t: Test, name: string): Promise<CliWorld> {
  return worldOn(t, name, await separateService(t));
}

function worldOn(t: Test, name: string, service: SharedService): CliWorld {
  const { endpoint, platform } = service;
  const folder = dataFolder(t);
  const from = service.lines().length;
  const commands = commandsOn({
    folder,
    endpoint,
    data: service.dataFolder,
    domain: `${name}.test`,
  });
  return {
    endpoint,
    folder,
    platform,
    get lines() {
      return service.lines().slice(from);
    },
    ...commands,
  };
}

/**
 * Like `joinCliWorld`, with a project of this name, its keys, and its data center `DC-${project}`.
 */
export async function joinDemoWorld(t: Test, project: string): Promise<DemoWorld> {
  const demo = await createProject(await sharedService(), project);
  return Object.assign(await joinCliWorld(t, project), { demo });
}

interface Place {
  readonly folder: string;
  /** Data folder of the service. */
  readonly data: string;
  readonly endpoint: string;
  /** Domain of people's mail addresses. */
  readonly domain: string;
}

function commandsOn({
  folder,
  data,
  endpoint,
  domain,
}: Place): Pick<CliWorld, 'printed' | 'svc' | 'signIn' | 'homeOf' | 'emailOf'> {
  const printed: string[] = [];
  const homeOf = (person: string): string => join(folder, 'home', person);
  const emailOf = (person: string): string => `${person}@${domain}`;

  async function svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    const home = homeOf(options.as ?? 'owner');
    mkdirSync(home, { recursive: true });
    const base = { PATH: process.env.PATH, SVC_ENDPOINT: endpoint, SVC_DATA: data };
    const stage = new Stage({ ...base, ...options.env }, home, options);
    const code = await runProgram(args, stage.surroundings);
    printed.push(stage.stdout, stage.stderr);
    const { stdout, stderr, child } = stage;
    return {
      code,
      stdout,
      stderr,
      child,
      get json() {
        return JSON.parse(stdout);
      },
    };
  }

  async function signIn(person = 'owner'): Promise<void> {
    const made = await svc(['admin', 'login-link', emailOf(person), '--json']);
    if (made.code !== 0) throw new Error(made.stderr);
    const login = await svc(['login', '--link', '-'], { as: person, input: made.json.link });
    if (login.code !== 0) throw new Error(login.stderr);
  }
  return { printed, svc, signIn, homeOf, emailOf };
}

/** View of the world for one command, and the effects of the command. */
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

/** One reading; `at` in Unix seconds, `memory` in bytes. */
export interface Reading {
  readonly at: number;
  readonly memory: number;
  readonly index: number;
  /** Default `vm-1`, displayed as `One`; others are displayed by their id. */
  readonly vm?: string;
}

/**
 * Writes readings with the project's collector key. Resolves once the inventory has their VMs.
 */
export async function writeReadings(
  { endpoint, demo, svc }: DemoWorld,
  readings: readonly Reading[],
): Promise<void> {
  const rows = readings.map(({ at, memory, index, vm = 'vm-1' }) => ({
    vmName: vm,
    displayName: vm === 'vm-1' ? 'One' : vm,
    observedUnixMs: String(at * 1000),
    sequence: index + 1,
    bootId: 'boot',
    vcpus: 2,
    state: 'RUNNING',
    values: [{ series: 'svc_vm_memory_used_bytes', value: memory }],
  }));
  const answer = await fetch(`${endpoint}/svc.ingest.v1.IngestService/WriteSamples`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.collectorKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ projectName: demo.projectName, rows }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const env = { SVC_API_KEY: demo.apiKey, SVC_PROJECT: demo.projectName };
  const names = new Set(rows.map(({ displayName }) => displayName));
  await until('the VMs are there', async () => {
    const { stdout } = await svc(['monitoring', 'vms'], { as: 'nobody', env });
    return [...names].every((name) => stdout.includes(name)) || undefined;
  });
}
