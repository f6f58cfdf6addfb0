/**
 * `svc admin`: what the operator of a service does beside its API, over the socket in its data
 * folder: projects and their first owners, people, sessions, and keys in an emergency. A further
 * act is one row of `acts`.
 */
import { userInfo } from 'node:os';
import { AdminFault, askService, NoAnswer, NoService } from '../admin/admin-client.ts';
import { closestName } from '../platform/closest-name.ts';
import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import type { AdminAct } from './admin-acts.ts';
import { auditActs, collectorActs, limitActs, restoredActs } from './admin-acts.ts';
import { identityActs } from './admin-identity.ts';
import { requestIdOption } from './client/action.ts';
import { type Input, type Option, parseInput } from './client/arguments.ts';
import { printable, UsageError } from './client/faults.ts';
import { newUuid } from './client/names.ts';
import { json } from './client/output.ts';
import { processPorts } from './client/ports.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';

const acts: readonly AdminAct[] = [
  ...identityActs,
  ...collectorActs,
  ...auditActs,
  ...limitActs,
  ...restoredActs,
];

const sharedOptions: readonly Option[] = [
  {
    name: 'data',
    takes: 'FOLDER',
    help: 'Data folder of the service, as for "svc serve"; else SVC_DATA, or ./data',
  },
  { name: 'json', help: 'The result as one JSON document, for programs' },
];

export const adminCommand: Command = {
  name: 'admin',
  summary: 'Create projects, invite their owners, lock people out, revoke keys',
  help: () => overview(),
  helpOf: (action) => {
    const found = acts.filter(({ name }) => name === action || name.startsWith(`${action} `));
    return found.length === 0 ? undefined : found.map(actHelp).join('\n');
  },
  async run(args, surroundings) {
    const found = findAct(args);
    if (typeof found === 'string') {
      surroundings.stderr(`svc admin: ${found}\n`);
      return EXIT_USAGE;
    }
    try {
      return await perform(found.act, found.rest, surroundings);
    } catch (error) {
      return reportFault(found.act, error, surroundings);
    }
  },
};

/** The act whose words the line begins with, or what is wrong with the line. */
function findAct(
  args: readonly string[],
): { readonly act: AdminAct; readonly rest: readonly string[] } | string {
  for (const act of acts) {
    const words = act.name.split(' ');
    if (words.every((word, place) => args[place] === word)) {
      return { act, rest: args.slice(words.length) };
    }
  }
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
  const given = words.join(' ');
  const family = acts.filter(({ name }) => name.startsWith(`${words[0]} `));
  const names = acts.map(({ name }) => name);
  if (given === '') return `say what: ${names.join(', ')}`;
  if (family.length > 0) return `say one of: ${family.map(({ name }) => name).join(', ')}`;
  const closest = closestName(given, names);
  const hint = closest ? `did you mean "svc admin ${closest}"?` : '"svc help admin" lists them';
  return `${JSON.stringify(given)} is unknown: ${hint}`;
}

async function perform(
  act: AdminAct,
  args: readonly string[],
  { environment, stdout, stderr, client = processPorts() }: Surroundings,
): Promise<number> {
  const options = optionsOf(act);
  const input = parseInput(args, { options, positionals: act.positionals ?? [] });
  const requestId = act.isChange ? (input.text('request-id') ?? newUuid(client.random)) : '';
  const text = act.readsInput ? await client.readInput() : '';
  const body = {
    ...act.ask(input, text),
    ...(act.isChange && { requestId }),
    operator: operatorName(environment),
  };
  const folder = dataFolder(input, environment);
  const answer = await ask(folder, act.path, body);
  const isLost = (answer as { readonly secretAvailable?: boolean }).secretAvailable === false;
  if (input.isOn('json')) stdout(json(answer));
  else if (!isLost) stdout(act.render(answer));
  if (!isLost) return EXIT_OK;
  const hint = act.ifLost?.(answer) ?? '';
  stderr(`The secret was in an earlier answer and cannot be shown again.\n${hint}\n`);
  return EXIT_FAULT;
}

function optionsOf({ options = [], isChange }: AdminAct): Option[] {
  return [...options, ...(isChange ? [requestIdOption] : []), ...sharedOptions];
}

function dataFolder(input: Input, environment: Surroundings['environment']): string {
  const data = input.text('data');
  try {
    return loadConfig(data === undefined ? [] : ['--data', data], environment).settings.data;
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.problems.join('\n'));
    throw error;
  }
}

async function ask(folder: string, path: string, body: Record<string, string>): Promise<unknown> {
  try {
    return await askService(folder, path, undefined, body);
  } catch (error) {
    if (error instanceof NoAnswer && body.requestId) {
      throw new AdminFault(
        `${error.message}: whether it was done is not known. Run the same command with ` +
          `--request-id ${body.requestId}: one request id is never acted on twice`,
      );
    }
    if (!(error instanceof NoService)) throw error;
    throw new AdminFault(
      `no service runs on ${folder}: start "svc serve" on this folder, or pass --data`,
    );
  }
}

/** Who is named in the audit; under sudo, who called it. */
function operatorName(environment: Surroundings['environment']): string {
  try {
    return environment.SUDO_USER || userInfo().username;
  } catch {
    // A user id without an entry in the password file, as in some containers.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

function reportFault(act: AdminAct, error: unknown, { stderr }: Surroundings): number {
  const isKnown = error instanceof UsageError || error instanceof AdminFault;
  if (!isKnown) {
    const code = (error as NodeJS.ErrnoException | null)?.code;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    stderr(`svc admin ${act.name}: only the user that the service runs as, or root, may do this\n`);
    return EXIT_FAULT;
  }
  stderr(`svc admin ${act.name}: ${printable(error.message)}\n`);
  if (error instanceof UsageError) {
    stderr(`${error.hint === undefined ? '' : `  ${error.hint}\n`}\n${actHelp(act)}`);
    return EXIT_USAGE;
  }
  return EXIT_FAULT;
}

function usageOf({ name, positionals = [], options = [] }: AdminAct): string {
  const places = positionals.map((place) => (place.optional ? `[${place.name}]` : place.name));
  const flags = options.map(
    (option) => `--${option.name}${option.takes ? ` ${option.takes}` : ''}`,
  );
  return ['svc admin', name, ...places, ...flags].join(' ');
}

function overview(): string {
  const lines = acts.map((act) => `  ${usageOf(act)}\n      ${act.summary}`);
  const shared = sharedOptions.map(
    ({ name, takes = '', help }) => `  ${`--${name} ${takes}`.padEnd(14)} ${help}`,
  );
  return [
    'Usage: svc admin <act> [--data FOLDER] [--json]',
    ...['', ...lines, '', ...shared, ''],
    'Commands that change something also take --request-id: the same command with the same id is answered',
    'as before, and nothing is done twice.',
    'It asks the service that runs on the folder, as the user that the service runs as.',
    'Exit codes: 0 done, 1 refused or no service runs, 2 invalid command line.',
    '',
  ].join('\n');
}

function actHelp(act: AdminAct): string {
  const options = optionsOf(act);
  const heads = options.map(({ name, takes }) => `--${name}${takes ? ` ${takes}` : ''}`);
  const width = Math.max(...heads.map((head) => head.length));
  const lines = options.map(
    ({ help }, place) => `  ${(heads[place] ?? '').padEnd(width)}  ${help}`,
  );
  return `Usage: ${usageOf(act)}\n\n${act.summary}.\n\n${lines.join('\n')}\n`;
}
