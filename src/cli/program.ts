/**
 * The command `svc`: the table of commands, and the selection among them. `help` is defined here
 * because it describes the table itself. A new command is one file and one line in `COMMANDS`.
 */

import { closestName } from '../../actors/platform/closest-name.ts';
import { withoutLogins } from '../../streams/platform/redacted-url.ts';
import { programVersion } from '../platform/version.ts';
import {
  beforeDashes,
  type Command,
  EXIT_FAULT,
  EXIT_OK,
  EXIT_USAGE,
  type Surroundings,
} from './command.ts';

const helpCommand: Command = {
  name: 'help',
  summary: 'Show help for all commands, or for one of them',
  help: () => 'Usage: svc help [command [action]]\n',
  run: async ([name, action], { stdout, stderr }) => {
    const command = name === undefined ? undefined : await find(name);
    if (name !== undefined && !command) return unknown(name, stderr);
    const misnamed = action === undefined ? undefined : command?.misnamed?.(action);
    if (misnamed !== undefined) {
      stderr(misnamed);
      return EXIT_USAGE;
    }
    stdout(command ? helpText(command, action) : overview(await allCommands()));
    return EXIT_OK;
  },
};

/** `svc version`: the versions of the program and its platform on one line, for bug reports. */
const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of the program and of Node',
  help: () => 'Usage: svc version\n',
  run: async (_args, { stdout }) => {
    stdout(`svc ${programVersion} (node ${process.versions.node}, ${process.platform})\n`);
    return EXIT_OK;
  },
};

/**
 * By name, in list order. A command's file is loaded on use, because most commands need little of
 * the program.
 */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  install: async () => (await import('./install.ts')).installCommand,
  agent: async () => (await import('./agent.ts')).agentCommand,
  collect: async () => (await import('./collect.ts')).collectCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  audit: async () => (await import('./audit.ts')).auditCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./backup.ts')).restoreCommand,
  admin: async () => (await import('./admin.ts')).adminCommand,
  login: async () => (await import('./session/login.ts')).loginCommand,
  logout: async () => (await import('./session/sessions.ts')).logoutCommand,
  whoami: async () => (await import('./session/sessions.ts')).whoamiCommand,
  info: async () => (await import('./session/service-info.ts')).infoCommand,
  sessions: async () => (await import('./session/sessions.ts')).sessionsCommand,
  projects: async () => (await import('./identity/projects.ts')).projectsCommand,
  members: async () => (await import('./identity/members.ts')).membersCommand,
  keys: async () => (await import('./identity/keys.ts')).keysCommand,
  credentials: async () => (await import('./identity/credentials.ts')).credentialsCommand,
  'service-accounts': async () =>
    (await import('./identity/service-accounts.ts')).serviceAccountsCommand,
  trusts: async () => (await import('./identity/trusts.ts')).trustsCommand,
  vms: async () => (await import('./vms.ts')).vmsCommand,
  samples: async () => (await import('./samples.ts')).samplesCommand,
  monitoring: async () => (await import('./monitoring/monitoring.ts')).monitoringCommand,
  limits: async () => (await import('./identity/projects.ts')).limitsCommand,
  overview: async () => (await import('./monitoring/overview.ts')).overviewCommand,
  notices: async () => (await import('./monitoring/notices.ts')).noticesCommand,
  alerts: async () => (await import('./monitoring/alerts.ts')).alertsCommand,
  incidents: async () => (await import('./monitoring/incidents.ts')).incidentsCommand,
  destinations: async () => (await import('./monitoring/destinations.ts')).destinationsCommand,
  deliveries: async () => (await import('./monitoring/deliveries.ts')).deliveriesCommand,
  maintenance: async () => (await import('./monitoring/maintenance.ts')).maintenanceCommand,
  replay: async () => (await import('./replay.ts')).replayCommand,
  record: async () => (await import('./record.ts')).recordCommand,
  auth: async () => (await import('./ci/auth.ts')).authCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
  version: async () => versionCommand,
  help: async () => helpCommand,
};

/** All commands, in list order. */
export async function allCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}

function helpText(command: Command, action: string | undefined): string {
  return (action !== undefined && command.helpOf?.(action)) || command.help();
}

/**
 * Runs `svc` with `argv` (without node and script). Resolves to the exit code: 0 success, 1 a fault
 * while running, 2 invalid arguments or settings. Never rejects: unexpected errors of a command are
 * reported on standard error.
 */
export async function runProgram(
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const [name = 'help', ...args] = argv.map(withoutDashes);
  const command = await find(name);
  if (!command) return unknown(name, surroundings.stderr);
  return runCommand(command, args, surroundings);
}

/** Runs one command, including `--help` and the handling of unexpected faults. */
export async function runCommand(
  command: Command,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  let exitCode: number = EXIT_OK;
  if (!command.outlivesReader) {
    surroundings.onReaderGone?.(() => surroundings.exitNow(exitCode));
  }
  // Arguments after `--` belong to another command with its own help.
  if (beforeDashes(args).some((arg) => arg === '--help' || arg === '-h')) {
    surroundings.stdout(helpText(command, args[0]));
    return EXIT_OK;
  }
  try {
    exitCode = await command.run(args, surroundings);
  } catch (error) {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    surroundings.stderr(`svc ${command.name} failed unexpectedly: ${withoutLogins(cause)}\n`);
    exitCode = EXIT_FAULT;
  }
  return exitCode;
}

/** `svc --help` and `svc --version` run the commands of that name. */
function withoutDashes(argument: string, place: number): string {
  const asCommand: Record<string, string> = {
    '--help': 'help',
    '-h': 'help',
    '--version': 'version',
  };
  return place === 0 ? (asCommand[argument] ?? argument) : argument;
}

async function find(name: string): Promise<Command | undefined> {
  // Hidden: only the scripts of `svc completion` call it.
  if (name === '__complete') {
    return (await import('./completion.ts')).createCompleteCommand(async (only) => {
      const command = only === undefined ? undefined : await find(only);
      return command ? [command] : allCommands();
    });
  }
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.() : undefined;
}

function unknown(name: string, stderr: (text: string) => void): number {
  const closest = closestName(name, Object.keys(COMMANDS));
  const hint = closest ? `did you mean "svc ${closest}"?` : '"svc help" lists the commands';
  stderr(`${JSON.stringify(name)} is not a command: ${hint}\n`);
  return EXIT_USAGE;
}

function overview(commands: readonly Command[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(16)} ${summary}`);
  return `Usage: svc <command> [flags]\n\n${lines.join('\n')}\n\nSee "svc help <command>" for details.\n`;
}
