/**
 * The page `docs/cli.md`: every command with its options, from the table that parses the
 * commands, so that it cannot be out of date.
 */
import { actions, optionsOf, usageOf as usageOfAction } from '../../src/cli/admin.ts';
import type { AdminAction } from '../../src/cli/admin-actions.ts';
import {
  type Action,
  type ClientCommand,
  isClientCommand,
  sharedOptions,
  usageOf,
} from '../../src/cli/client/action.ts';
import type { Option } from '../../src/cli/client/arguments.ts';
import type { Command } from '../../src/cli/command.ts';

const INTRODUCTION = `# The command line

Generated from the commands by \`npm run generate\`; \`svc help COMMAND\` prints the same. In a checkout,
\`export PATH=$PWD/node_modules/.bin:$PATH\` provides \`svc\`.

Most commands are clients of a service, on this machine or another. \`serve\`, \`install\`, \`history\`, \`backup\`, \`restore\`,
\`record\`, \`audit verify\` and \`admin\` work on the service's own machine, as its user or root, through its data folder.

## Address and identity

The address of the service comes from \`--endpoint\`, \`SVC_ENDPOINT\`, or the session, in this order. A key comes from \`SVC_API_KEY\`, never from a flag, because
every process of a machine can read a command line. People sign in with \`svc login\`; the session is kept in
\`$XDG_CONFIG_HOME/svc/session.json\` (or \`~/.config\`), which is not used when others may read it. Commands that only people may use
take the session even if \`SVC_API_KEY\` is set. Plain http is accepted only for this machine.

The project is \`--project\`, \`SVC_PROJECT\`, or the person's only project. A resource is named by its name, as lists show it, by its
id, or by its full name as in the API: \`One\`, \`vm-1\` or \`projects/demo/vms/vm-1\`. Names are display names, of members and
invitations the mail address, of a firing incident its rule, its VM, or both (\`'CPU is busy on web-1'\`), in any case. An id comes
before a name, and a name of several is refused with the ids of all. Durations are \`90s\`, \`15m\`, \`24h\`, \`30d\`; times are ISO
8601, Unix seconds, or a time of day (\`08:00\`): the next one for a snooze or a maintenance window, else the last one. They are shown
in local time with its offset.

## Output

Results go to standard output, everything else to standard error. A secret is printed once, alone on standard output. \`--json\`
prints the answer of the API as one document, and a fault as \`{"error": {reason, message, metadata, hint}}\` on standard error. In
tables "-" means "not observed"; it is never a zero.

On a terminal a list fits its width: minor columns, such as ids, are left out, long names are cut, times are relative (\`5m ago\`) and
states have colours, unless \`NO_COLOR\` is set. The beginning of an id that is shown may be typed for all of it. In a pipe or a file a list has
every column in full: \`svc alerts list | cat\`.

| exit code | |
| --- | --- |
| 0 | done |
| 1 | refused, or a fault |
| 2 | the command line or the environment is invalid |
| 3 | not signed in, or not allowed |
| 4 | not found |
| 5 | no answer: it is unknown whether a change was made |

\`svc auth ci -- command\` ends with the command's own code, with 126 if it cannot be run, and with 127 if it does not exist.

## Retries

A read, and a change that carries a request id, are retried when the service is busy (after \`Retry-After\`, up to 30 s) or no answer
arrives. A change is sent again unchanged, under the same id. After four tries the command ends with code 5 and prints the id: run the
same command with \`--request-id\` to continue. A secret is only in the first answer. If that answer was lost, the command names what
was created, and what to do: revoke it, then create or rotate again.
`;

/** The whole page. @param commands all commands of the program, in order */
export function cliPage(commands: readonly Command[]): string {
  const sections = commands.map((command) => {
    if (command.name === 'admin') return adminSection(command);
    return isClientCommand(command) ? clientSection(command) : operatorSection(command);
  });
  const shared = ['## Options of every command', '', ...optionRows(sharedOptions), ''];
  return [INTRODUCTION, ...shared, ...sections].join('\n');
}

function clientSection(command: ClientCommand): string {
  const { name, summary, actions, isSingle } = command;
  const lines = [`## svc ${name}`, '', ...(isSingle ? [] : [`${summary}.`, ''])];
  for (const action of actions) {
    const words = isSingle ? name : `${name} ${action.name}`;
    lines.push(...actionLines(words, action));
  }
  // Its other half works on the data folder, and has a help text of its own.
  if (name === 'audit') lines.push(...block(command.help()));
  return lines.join('\n');
}

function actionLines(command: string, action: Action): string[] {
  const { summary, options = [], notes } = action;
  return [
    ...block(usageOf(command, action)),
    `${summary}.`,
    '',
    ...(options.length > 0 ? [...optionRows(options), ''] : []),
    ...(notes ? noteLines(notes) : []),
  ];
}

/** Paragraphs on one line each; indented lines become a block to copy. */
function noteLines(notes: string): string[] {
  return notes
    .trim()
    .split(/\n{2,}/)
    .flatMap((paragraph) =>
      paragraph.startsWith('  ')
        ? block(paragraph.replaceAll(/^ {2}/gm, ''))
        : [paragraph.replaceAll(/\s*\n\s*/g, ' '), ''],
    );
}

function adminSection({ summary, name }: Command): string {
  const lines = [
    `## svc ${name}`,
    '',
    `${summary}. The service must be running: each act asks it over the socket in its data folder.`,
    'Changes also take `--request-id`: the same command with the same id is executed once.',
    'Exit codes: 0 done, 1 refused or no service runs, 2 invalid command line.',
    '',
  ];
  return [...lines, ...actions.flatMap(actLines)].join('\n');
}

function actLines(act: AdminAction): string[] {
  const usage = usageOfAction({ ...act, options: [] });
  return [...block(usage), `${act.summary}.`, '', ...optionRows(optionsOf(act)), ''];
}

/** A command of the service's own machine, with its help; the settings have a page. */
function operatorSection({ name, summary, help }: Command): string {
  const text =
    name === 'serve'
      ? ['Its flags are the settings: [configuration.md](configuration.md).', '']
      : block(help());
  return [`## svc ${name}`, '', `${summary}.`, '', ...text].join('\n');
}

function block(text: string): string[] {
  return ['```text', text.trimEnd(), '```', ''];
}

function optionRows(options: readonly Option[]): string[] {
  return [
    '| option | |',
    '| --- | --- |',
    ...options.map(({ name, takes, help, choices, multiple }) => {
      const facts = [
        help,
        choices && `one of ${choices.join(', ')}`,
        multiple && 'may be repeated',
      ];
      const text = facts.filter(Boolean).join('; ').replaceAll('|', '\\|');
      return `| \`--${name}${takes ? ` ${takes}` : ''}\` | ${text} |`;
    }),
  ];
}
