/**
 * Declaration of a client command: an action with its options, run in a context that opens the API
 * as the appropriate caller. A command of `svc` is one action (`svc login`) or a family of actions
 * (`svc keys create`). Help, completion and fault handling are the same for all.
 */
import { closestName } from '../../../actors/platform/closest-name.ts';
import {
  beforeDashes,
  type ClientPorts,
  type Command,
  EXIT_USAGE,
  type Screen,
  type Surroundings,
} from '../command.ts';
import { type Access, type Caller, openAccess } from './access.ts';
import { Api } from './api.ts';
import { type Input, type Option, type Positional, parseInput } from './arguments.ts';
import { describeFault, type Hints, UsageError } from './faults.ts';
import { flagHint } from './field-flags.ts';
import { processPorts } from './ports.ts';

export interface Action {
  /** Second word of the command line; for a single-action command, the first. */
  readonly name: string;
  readonly summary: string;
  readonly positionals?: readonly Positional[];
  readonly options?: readonly Option[];
  /** True if `-- command args…` may follow. */
  readonly takesCommand?: boolean;
  /** Additional lines of the help text. */
  readonly notes?: string;
  /** Advice on refusals, if the action knows more than the reason says. */
  readonly hints?: Hints;
  /** Resolves to the exit code. Throws `Fault` and what `Api.call` throws. */
  readonly run: (context: ActionContext) => Promise<number>;
}

/** Context in which an action runs. */
export interface ActionContext {
  readonly input: Input;
  readonly environment: Surroundings['environment'];
  readonly surroundings: Surroundings;
  readonly ports: ClientPorts;
  /** True for one JSON document on standard output, for programs. */
  readonly json: boolean;
  readonly timeoutMs: number;
  /** The terminal of standard output; undefined if absent. */
  readonly screen: Screen | undefined;
  readonly print: (text: string) => void;
  /** Prints a line for people to standard error, in addition to the result. */
  readonly report: (line: string) => void;
  readonly access: (caller: Caller) => Access;
  readonly api: (caller: Caller) => Api;
}

/** A command that is a client of the API: what the program runs, and the source of completion. */
export interface ClientCommand extends Command {
  readonly actions: readonly Action[];
  /** True if its only action has no name of its own. */
  readonly isSingle: boolean;
}

/** Whether a command is a client of the API. */
export function isClientCommand(command: Command): command is ClientCommand {
  return 'actions' in command;
}

/** Options of every action. */
export const sharedOptions: readonly Option[] = [
  { name: 'endpoint', takes: 'URL', help: 'Address of the service; default: SVC_ENDPOINT' },
  { name: 'timeout', takes: 'DURATION', help: 'Maximum wait for one response; default 30s' },
  { name: 'json', help: 'Print one JSON document, for programs' },
];

export const projectOption: Option = {
  name: 'project',
  takes: 'PROJECT',
  help: 'Project, by id or name; default: SVC_PROJECT, or the only one you are a member of',
};

export const requestIdOption: Option = {
  name: 'request-id',
  takes: 'UUID',
  help: 'Request id of an earlier attempt without a response: the change is not made twice',
};

const TIMEOUT_SECONDS_DEFAULT = 30;

/** A command with several actions, `svc <name> <action>`. */
export function family(
  name: string,
  summary: string,
  actions: readonly Action[],
  notes = '',
): ClientCommand {
  const help = (): string => familyHelp(name, actions, notes);
  return {
    name,
    summary,
    actions,
    help,
    isSingle: false,
    async run([given, ...rest], surroundings) {
      const action = actions.find((candidate) => candidate.name === given);
      if (action) return runAction(`${name} ${action.name}`, action, rest, surroundings);
      surroundings.stderr(unknownAction(name, given, actions));
      return EXIT_USAGE;
    },
    helpOf: (given) => {
      const action = actions.find((candidate) => candidate.name === given);
      return action && actionHelp(`${name} ${action.name}`, action);
    },
    misnamed: (given) =>
      actions.some((action) => action.name === given)
        ? undefined
        : unknownAction(name, given, actions),
  };
}

/** A command with a single action, `svc <name>`. */
export function single(action: Action): ClientCommand {
  const { name, summary } = action;
  return {
    name,
    summary,
    actions: [action],
    isSingle: true,
    help: () => actionHelp(name, action),
    run: (args, surroundings) => runAction(name, action, args, surroundings),
  };
}

async function runAction(
  command: string,
  action: Action,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  // Determined before the line is parsed: even for an invalid command line, a program reads the
  // output as JSON.
  const json = beforeDashes(args).includes('--json');
  const options = [...(action.options ?? []), ...sharedOptions];
  let input: Input | undefined;
  try {
    const ports = surroundings.client ?? processPorts();
    const report = (line: string): void => surroundings.stderr(`${line}\n`);
    input = parseInput(args, { ...action, options }, ports.clock.now(), report);
    return await action.run(contextOf(input, surroundings, ports));
  } catch (error) {
    const fieldHint = (field: string) => input && flagHint(field, options, input);
    const fault = describeFault(error, { command, json, hints: action.hints, fieldHint });
    if (!fault) throw error;
    surroundings.stderr(fault.text);
    const isUsage = error instanceof UsageError && !json;
    if (isUsage) surroundings.stderr(`  See "svc help ${command}"\n`);
    return fault.exitCode;
  }
}

function contextOf(input: Input, surroundings: Surroundings, ports: ClientPorts): ActionContext {
  const { environment, stdout, stderr } = surroundings;
  const timeoutMs = (input.seconds('timeout') ?? TIMEOUT_SECONDS_DEFAULT) * 1000;
  if (timeoutMs === 0) throw new UsageError('--timeout must be at least 1s');
  const report = (line: string): void => stderr(`${line}\n`);
  const access = (caller: Caller): Access =>
    openAccess({ endpoint: input.text('endpoint'), caller, environment, ports });
  const api = (caller: Caller): Api =>
    new Api({ access: access(caller), clock: ports.clock, timeoutMs, onAgain: report });
  const json = input.isOn('json');
  return {
    input,
    environment,
    surroundings,
    ports,
    json,
    timeoutMs,
    screen: screenOf(surroundings, ports),
    print: stdout,
    report,
    access,
    api,
  };
}

const COLUMNS_DEFAULT = 80;

function screenOf(surroundings: Surroundings, { clock }: ClientPorts): Screen | undefined {
  const { environment, isStdoutTerminal, stdoutColumns } = surroundings;
  if (!isStdoutTerminal) return undefined;
  return {
    columns: stdoutColumns || COLUMNS_DEFAULT,
    // https://no-color.org
    hasColour: !environment.NO_COLOR && environment.TERM !== 'dumb',
    nowMs: clock.now(),
  };
}

function unknownAction(
  name: string,
  given: string | undefined,
  actions: readonly Action[],
): string {
  const names = actions.map((action) => action.name);
  if (given === undefined) return `svc ${name}: specify an action: ${names.join(', ')}\n`;
  const closest = closestName(given, names);
  const hint = closest
    ? `did you mean "svc ${name} ${closest}"?`
    : `available: ${names.join(', ')}`;
  return `svc ${name}: ${JSON.stringify(given)} is not an action: ${hint}\n`;
}

function familyHelp(name: string, actions: readonly Action[], notes: string): string {
  const usages = actions.map((action) => usageOf(`${name} ${action.name}`, action));
  const width = Math.max(...usages.map((usage) => usage.length));
  const lines = actions.map(({ summary }, i) => `  ${(usages[i] ?? '').padEnd(width)}  ${summary}`);
  const more = notes === '' ? '' : `\n${notes.trim()}\n`;
  return `Usage:\n${lines.join('\n')}\n${more}\n"svc help ${name} <action>" lists its options.\n`;
}

/** One line: `svc keys rotate KEY`. */
export function usageOf(
  command: string,
  { positionals = [], takesCommand = false }: Action,
): string {
  const places = positionals.map(({ name, optional, multiple }) => {
    const displayed = multiple ? `${name}...` : name;
    return optional ? `[${displayed}]` : displayed;
  });
  return ['svc', command, ...places, ...(takesCommand ? ['[-- command…]'] : [])].join(' ');
}

function actionHelp(command: string, action: Action): string {
  const options = [...(action.options ?? []), ...sharedOptions];
  const heads = options.map(({ name, takes }) => `--${name}${takes ? ` ${takes}` : ''}`);
  const width = Math.max(...heads.map((head) => head.length));
  const lines = options.map(({ help, choices, multiple }, i) => {
    const facts = [help, choices && `one of ${choices.join(', ')}`, multiple && 'may be repeated'];
    return `  ${(heads[i] ?? '').padEnd(width)}  ${facts.filter(Boolean).join('; ')}`;
  });
  const notes = action.notes ? `\n${action.notes.trim()}\n` : '';
  const usage = `Usage: ${usageOf(command, action)} [flags]`;
  return `${usage}\n\n${action.summary}.\n\n${lines.join('\n')}\n${notes}`;
}
