/**
 * `svc completion`: a short script for bash, zsh or fish that asks `svc __complete` at each Tab.
 * That command answers from the table with which commands are parsed; names of resources come from
 * the service. It prints nothing unless the service responds at once.
 */
import {
  type Action,
  type ActionContext,
  type ClientCommand,
  isClientCommand,
  projectOption,
  sharedOptions,
  single,
} from './client/action.ts';
import {
  type Candidate,
  candidatesOf,
  type NamedCollection,
  PROJECTS,
} from './client/candidates.ts';
import { UsageError } from './client/faults.ts';
import { projectName } from './client/names.ts';
import { shortName } from './client/texts.ts';
import { type Command, EXIT_FAULT, EXIT_OK } from './command.ts';
import { keyCandidates } from './identity/keys.ts';

/** One candidate per line, with its description behind a tab, which only fish shows. */
const SCRIPTS = {
  bash: `# bash completion of svc
_svc() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    line=\${line%%$'\\t'*}
    # Names with other characters are quoted as those of files are.
    [[ $line == *[![:alnum:]_.:@-]* ]] && compopt -o filenames 2>/dev/null
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _svc svc
`,
  zsh: `#compdef svc
# zsh completion of svc
_svc() {
  local -a lines
  lines=("\${(@f)$(\${words[1]} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- "\${(@)lines%%$'\\t'*}"
}
compdef _svc svc
`,
  fish: `# fish completion of svc
complete -c svc -f -a '(svc __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
};

export const completionCommand: ClientCommand = single({
  name: 'completion',
  summary: 'Print the completion script for a shell',
  positionals: [{ name: 'bash|zsh|fish' }],
  notes: `Add the line of your shell to its start file:

  source <(svc completion bash)     # bash
  source <(svc completion zsh)      # zsh
  svc completion fish | source      # fish

The script asks svc at each Tab, also for names of rules, VMs, destinations and others.`,
  async run({ input, print }) {
    const shell = input.positional(0);
    if (!isShell(shell)) {
      throw new UsageError(`Scripts exist for ${Object.keys(SCRIPTS).join(', ')}`);
    }
    print(SCRIPTS[shell]);
    return EXIT_OK;
  },
});

function isShell(name: string): name is keyof typeof SCRIPTS {
  return Object.hasOwn(SCRIPTS, name);
}

/**
 * The hidden `svc __complete -- WORD…`: candidates for the last word, which may be ''.
 * @param commands the command of a name, or all commands of the program; loading all takes longer
 */
export function createCompleteCommand(
  commands: (name: string | undefined) => Promise<readonly Command[]>,
): Command {
  return {
    name: '__complete',
    summary: 'Print candidates for the last word of a command line',
    help: () => 'Usage: svc __complete -- WORD…\n',
    async run([, ...typed], surroundings) {
      const words = typed.map(unquoted);
      const last = words.at(-1) ?? '';
      const [first = ''] = words;
      const all = await commands(words.length > 1 && first !== 'help' ? first : undefined);
      const kind = kindAt(all, words);
      if (kind !== undefined) {
        const args = ['project', 'endpoint'].flatMap((name) => givenOption(words, `--${name}`));
        return namesCommand.run([kind, last, ...args, '--timeout', '3s'], surroundings);
      }
      const fitting = wordsAt(all, words).filter(({ text }) => text.startsWith(last));
      surroundings.stdout(fitting.map(({ text, help }) => `${text}\t${help}\n`).join(''));
      return EXIT_OK;
    },
  };
}

/** Without the quotes and backslashes of a shell. */
function unquoted(word: string): string {
  return word
    .replace(/^['"]/, '')
    .replace(/(?<=.)['"]$/, '')
    .replaceAll('\\', '');
}

/** An option of the line with its value; empty if it is absent. */
function givenOption(words: readonly string[], option: string): string[] {
  const place = words.slice(0, -2).indexOf(option);
  return place < 0 ? [] : [option, words[place + 1] ?? ''];
}

/** Kind of resource that an argument names, by the name of its option or positional. */
const NAMED: Readonly<Record<string, Kind>> = {
  RULE: 'alertRules',
  '--rule': 'alertRules',
  '--id': 'alertRules',
  VM: 'vms',
  '--vm': 'vms',
  '--only': 'vms',
  '--trace': 'vms',
  DESTINATION: 'destinations',
  '--destination': 'destinations',
  INCIDENT: 'incidents',
  '--incident': 'incidents',
  ACCOUNT: 'serviceAccounts',
  '--service-account': 'serviceAccounts',
  MEMBER: 'members',
  '--member': 'members',
  INVITATION: 'invitations',
  TRUST: 'ciConnections',
  'SETUP-ID': 'ciVerifications',
  KEY: 'keys',
  WINDOW: 'maintenanceWindows',
  '--project': 'projects',
};

type Kind = NamedCollection | 'keys' | 'projects';

/** Kinds that are available only to signed-in people. */
const OF_PERSON: ReadonlySet<string> = new Set([
  'keys',
  'serviceAccounts',
  'members',
  'invitations',
  'ciConnections',
  'ciVerifications',
  'maintenanceWindows',
  'projects',
]);
/** Maximum number of names: more do not help to choose. */
const NAMES_MAX = 200;

/** Prints the names of a kind of resource that begin with a text. */
const namesCommand = single({
  name: '__complete',
  summary: 'Print names',
  positionals: [{ name: 'KIND' }, { name: 'PREFIX', optional: true }],
  options: [projectOption],
  run: printNames,
});

/**
 * One name per line; ids where a name is ambiguous. Silent about faults, because the user is
 * typing.
 */
async function printNames(context: ActionContext): Promise<number> {
  const [kind = '', prefix = ''] = context.input.positionals;
  try {
    const found = await namesOf(context, kind as Kind, prefix);
    const counts = new Map<string, number>();
    const nameOf = ({ labels }: Candidate) => labels.find(Boolean) ?? '';
    for (const one of found) counts.set(nameOf(one), (counts.get(nameOf(one)) ?? 0) + 1);
    const displayed = found.map((one) => {
      const name = nameOf(one);
      // A shell would treat a name with a line break as several words.
      const isPlain = counts.get(name) === 1 && name !== '' && !/\p{Cc}/u.test(name);
      return isPlain ? name : shortName(one.name);
    });
    const fitting = displayed.filter((name) => name.startsWith(prefix)).slice(0, NAMES_MAX);
    context.print(fitting.map((name) => `${name}\n`).join(''));
    return EXIT_OK;
  } catch {
    return EXIT_FAULT;
  }
}

async function namesOf(context: ActionContext, kind: Kind, prefix: string): Promise<Candidate[]> {
  const api = context.api(OF_PERSON.has(kind) ? 'person' : 'any');
  // Ids, which every command accepts, including those of the operator.
  if (kind === 'projects')
    return (await PROJECTS.find(api)).map(({ name }) => ({ name, labels: [] }));
  if (kind === 'keys') return keyCandidates(context, api);
  return candidatesOf(api, await projectName(context, api), kind, kind === 'vms' ? prefix : '');
}

interface Word {
  readonly text: string;
  readonly help: string;
}

/** Kind of resource that the last word names; undefined for other words. */
function kindAt(commands: readonly Command[], words: readonly string[]): Kind | undefined {
  const before = words.at(-2) ?? '';
  if (before.startsWith('-')) return NAMED[before];
  if (words.at(-1)?.startsWith('-')) return undefined;
  return NAMED[actionAt(commands, words)?.positionals?.[0]?.name ?? ''];
}

/** The action that the words before the last one name. */
function actionAt(commands: readonly Command[], words: readonly string[]): Action | undefined {
  const [name = '', action = ''] = words.slice(0, -1);
  const command = commands.find((one) => one.name === name);
  if (!command || !isClientCommand(command)) return undefined;
  return command.isSingle ? command.actions[0] : command.actions.find((one) => one.name === action);
}

/** Commands, actions of a family, options of an action, or choices of an option. */
function wordsAt(commands: readonly Command[], words: readonly string[]): Word[] {
  const action = actionAt(commands, words);
  if (action) {
    const options = [...(action.options ?? []), ...sharedOptions];
    const choices = options.find(({ name }) => `--${name}` === words.at(-2))?.choices;
    if (choices) return choices.map((text) => ({ text, help: '' }));
    return options.map(({ name, help }) => ({ text: `--${name}`, help }));
  }
  const family = commands.find(({ name }) => name === words[0]);
  if (words.length === 2 && family && isClientCommand(family)) return family.actions.map(wordOf);
  const isFirst = words.length < 2 || (words.length === 2 && words[0] === 'help');
  return isFirst ? commands.map(wordOf) : [];
}

function wordOf({ name, summary }: { readonly name: string; readonly summary: string }): Word {
  return { text: name, help: summary };
}
