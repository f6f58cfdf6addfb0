/**
 * The command `svc`: the table of commands, and the choice among them. `help` lives here because it
 * describes the table itself; a further command is one file and one line in `commands`.
 */
import { withoutLogins } from '../../streams/platform/shown-url.ts';
import { closestName } from '../platform/closest-name.ts';
import { programVersion } from '../platform/version.ts';
import { adminCommand } from './admin.ts';
import { agentCommand } from './agent.ts';
import { auditCommand } from './audit.ts';
import { backupCommand, restoreCommand } from './backup.ts';
import { authCommand } from './ci/auth.ts';
import { beforeDashes } from './client/action.ts';
import { collectCommand } from './collect.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { createCompletionCommand } from './completion.ts';
import { historyCommand } from './history.ts';
import { credentialsCommand } from './identity/credentials.ts';
import { keysCommand } from './identity/keys.ts';
import { membersCommand } from './identity/members.ts';
import { limitsCommand, projectsCommand } from './identity/projects.ts';
import { serviceAccountsCommand } from './identity/service-accounts.ts';
import { trustsCommand } from './identity/trusts.ts';
import { installCommand } from './install.ts';
import { alertsCommand } from './monitoring/alerts.ts';
import { deliveriesCommand } from './monitoring/deliveries.ts';
import { destinationsCommand } from './monitoring/destinations.ts';
import { incidentsCommand } from './monitoring/incidents.ts';
import { maintenanceCommand } from './monitoring/maintenance.ts';
import { monitoringCommand } from './monitoring/monitoring.ts';
import { noticesCommand } from './monitoring/notices.ts';
import { overviewCommand } from './monitoring/overview.ts';
import { recordCommand } from './record.ts';
import { replayCommand } from './replay.ts';
import { samplesCommand } from './samples.ts';
import { serveCommand } from './serve.ts';
import { loginCommand } from './session/login.ts';
import { infoCommand } from './session/service-info.ts';
import { logoutCommand, sessionsCommand, whoamiCommand } from './session/sessions.ts';
import { vmsCommand } from './vms.ts';

const helpCommand: Command = {
  name: 'help',
  summary: 'Show help for the commands, or for one of them',
  help: () => 'Usage: svc help [command [action]]\n',
  run: async ([name, action], { stdout, stderr }) => {
    const command = name === undefined ? undefined : find(name);
    if (name !== undefined && !command) return unknown(name, stderr);
    stdout(command ? helpText(command, action) : overview());
    return EXIT_OK;
  },
};

/** `svc version`: this program's version and what it runs on, one line, for bug reports. */
const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of the program and of Node',
  help: () => 'Usage: svc version\n',
  run: async (_args, { stdout }) => {
    stdout(`svc ${programVersion} (node ${process.versions.node}, ${process.platform})\n`);
    return EXIT_OK;
  },
};

/** All of them, in the order of the list. */
export const commands: readonly Command[] = [
  serveCommand,
  installCommand,
  agentCommand,
  collectCommand,
  historyCommand,
  auditCommand,
  backupCommand,
  restoreCommand,
  adminCommand,
  loginCommand,
  logoutCommand,
  whoamiCommand,
  infoCommand,
  sessionsCommand,
  projectsCommand,
  membersCommand,
  keysCommand,
  credentialsCommand,
  serviceAccountsCommand,
  trustsCommand,
  vmsCommand,
  samplesCommand,
  monitoringCommand,
  limitsCommand,
  overviewCommand,
  noticesCommand,
  alertsCommand,
  incidentsCommand,
  destinationsCommand,
  deliveriesCommand,
  maintenanceCommand,
  replayCommand,
  recordCommand,
  authCommand,
  createCompletionCommand(() => commands),
  versionCommand,
  helpCommand,
];

function helpText(command: Command, action: string | undefined): string {
  return (action !== undefined && command.helpOf?.(action)) || command.help();
}

/**
 * Runs `svc` with `argv` (without node and script). Resolves to the exit code: 0 done, 1 a fault
 * while running, 2 invalid arguments or settings. Never rejects: what a command did not
 * expect is reported on standard error.
 */
export async function runProgram(
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const [name = 'help', ...args] = argv.map(withoutDashes);
  const command = find(name);
  if (!command) return unknown(name, surroundings.stderr);
  return runCommand(command, args, surroundings);
}

/** Runs one command, `--help` and unexpected faults included. */
export async function runCommand(
  command: Command,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  // What follows `--` is a command of its own, whose help is not ours to give.
  if (beforeDashes(args).some((arg) => arg === '--help' || arg === '-h')) {
    surroundings.stdout(helpText(command, args[0]));
    return EXIT_OK;
  }
  try {
    return await command.run(args, surroundings);
  } catch (error) {
    const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
    surroundings.stderr(`svc ${command.name} failed unexpectedly: ${withoutLogins(cause)}\n`);
    return EXIT_FAULT;
  }
}

/** `svc --help` and `svc --version` mean the commands of that name. */
function withoutDashes(argument: string, place: number): string {
  const asCommand: Record<string, string> = {
    '--help': 'help',
    '-h': 'help',
    '--version': 'version',
  };
  return place === 0 ? (asCommand[argument] ?? argument) : argument;
}

function find(name: string): Command | undefined {
  return commands.find((command) => command.name === name);
}

function unknown(name: string, stderr: (text: string) => void): number {
  const closest = closestName(
    name,
    commands.map((command) => command.name),
  );
  const hint = closest ? `did you mean "svc ${closest}"?` : '"svc help" lists the commands';
  stderr(`${JSON.stringify(name)} is not a command: ${hint}\n`);
  return EXIT_USAGE;
}

function overview(): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(16)} ${summary}`);
  return `Usage: svc <command> [flags]\n\n${lines.join('\n')}\n\n"svc help <command>" describes one.\n`;
}
