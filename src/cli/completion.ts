/**
 * `svc completion`: a script for bash, zsh or fish, generated from the table with which commands
 * are parsed. Commands, options and choices are part of the script. Names of resources are
 * requested from the service by `svc completion names`, which prints nothing unless the service
 * responds at once.
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
import type { Option } from './client/arguments.ts';
import {
  type Candidate,
  candidatesOf,
  type NamedCollection,
  PROJECTS,
} from './client/candidates.ts';
import { UsageError } from './client/faults.ts';
import { projectName } from './client/names.ts';
import { shortName } from './client/output.ts';
import { type Command, EXIT_FAULT, EXIT_OK } from './command.ts';
import { keyCandidates } from './identity/keys.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** @param commands all commands of the program; called when the script is generated */
export function createCompletionCommand(
  commands: () => Promise<readonly Command[]>,
): ClientCommand {
  return single({
    name: 'completion',
    summary: 'Print the completion script for a shell',
    positionals: [
      { name: 'bash|zsh|fish' },
      { name: 'KIND', optional: true },
      { name: 'PREFIX', optional: true },
    ],
    options: [projectOption],
    notes: `Add the line of your shell to its start file:

  source <(svc completion bash)     # bash
  source <(svc completion zsh)      # zsh
  svc completion fish | source      # fish

The script runs "svc completion names KIND PREFIX" to complete names of rules, VMs, destinations and others.`,
    async run(context) {
      const { input, print } = context;
      if (input.positional(0) === 'names') return printNames(context);
      if (input.positional(1) !== '') throw new UsageError('A shell takes no further arguments');
      const shell = SHELLS.find((known) => known === input.positional(0));
      if (!shell) throw new UsageError(`Scripts exist for ${SHELLS.join(', ')}`);
      const all = await commands();
      const words = wordsOf(all);
      const places = namedPlaces(all);
      const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
      print(scripts[shell](words, places));
      return EXIT_OK;
    },
  });
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

const KINDS: ReadonlySet<string> = new Set(Object.values(NAMED));
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

/**
 * One name per line; ids where a name is ambiguous. Silent about faults, because the user is
 * typing.
 */
async function printNames(context: ActionContext): Promise<number> {
  const [, kind = '', prefix = ''] = context.input.positionals;
  if (!KINDS.has(kind)) return EXIT_FAULT;
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

/** Words that may follow a part of the command line: `''`, `keys`, `keys create`. */
type Words = ReadonlyMap<string, readonly Word[]>;

interface Word {
  readonly text: string;
  readonly help: string;
  /** Choices that replace all other words. */
  readonly choices?: readonly string[];
}

function wordsOf(commands: readonly Command[]): Words {
  const words = new Map<string, Word[]>();
  words.set(
    '',
    commands.map(({ name, summary }) => ({ text: name, help: summary })),
  );
  words.set('help', words.get('') ?? []);
  for (const command of commands) {
    if (!isClientCommand(command)) continue;
    const { name, actions, isSingle } = command;
    if (!isSingle) {
      words.set(
        name,
        actions.map(({ name: action, summary }) => ({ text: action, help: summary })),
      );
    }
    for (const action of actions) {
      words.set(isSingle ? name : `${name} ${action.name}`, optionWords(action));
    }
  }
  return words;
}

/** Positions on the command line that name a resource, by kind. */
function namedPlaces(commands: readonly Command[]): ReadonlyMap<Kind, readonly string[]> {
  const places = new Map<Kind, string[]>();
  for (const command of commands) {
    if (!isClientCommand(command)) continue;
    for (const { name, positionals = [] } of command.actions) {
      const kind = NAMED[positionals[0]?.name ?? ''];
      if (!kind) continue;
      const place = command.isSingle ? command.name : `${command.name} ${name}`;
      places.set(kind, [...(places.get(kind) ?? []), place]);
    }
  }
  return places;
}

/** Options whose value names a resource, by kind. */
function namedOptions(): ReadonlyMap<Kind, readonly string[]> {
  const options = new Map<Kind, string[]>();
  for (const [word, kind] of Object.entries(NAMED)) {
    if (word.startsWith('--')) options.set(kind, [...(options.get(kind) ?? []), word]);
  }
  return options;
}

function kindCases(kinds: ReadonlyMap<Kind, readonly string[]>): string {
  return [...kinds]
    .map(([kind, words]) => {
      const patterns = words.map((word) => `'${word}'`).join('|');
      return `      ${patterns}) kind=${kind} ;;`;
    })
    .join('\n');
}

function optionWords({ options = [] }: Action): Word[] {
  return [...options, ...sharedOptions].map(({ name, help, choices }: Option) => ({
    text: `--${name}`,
    help,
    ...(choices && { choices }),
  }));
}

type Places = ReturnType<typeof namedPlaces>;

function bashScript(words: Words, places: Places): string {
  return `# bash completion of svc
_svc() {
  local word=\${COMP_WORDS[COMP_CWORD]} place='' follow='' i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case \${COMP_WORDS[i]} in -*) break ;; *) place="\${place:+$place }\${COMP_WORDS[i]}" ;; esac
  done
  local before=\${COMP_WORDS[COMP_CWORD-1]} kind='' project=''
  case $before in
${kindCases(namedOptions())}
    -*) ;;
    *) [[ $word == -* ]] || case $place in
${kindCases(places)}
    esac ;;
  esac
  if [ -n "$kind" ]; then
    for ((i = 1; i < COMP_CWORD - 1; i++)); do
      [ "\${COMP_WORDS[i]}" = --project ] && project=\${COMP_WORDS[i+1]}
    done
    word=\${word#\\'} word=\${word#\\"} word=\${word//\\\\/}
    mapfile -t COMPREPLY < <("\${COMP_WORDS[0]}" completion names "$kind" "$word" \
      \${project:+--project "$project"} --timeout 3s 2>/dev/null)
    # Names with blanks are quoted as those of files are.
    compopt -o filenames 2>/dev/null
    return
  fi
  case $before in
${choiceCases(words)}
  esac
  if [ -z "$follow" ]; then
    for place in "$place" "\${place%% *}"; do
      case $place in
${placeCases(words)}
      esac
      [ -n "$follow" ] && break
    done
  fi
  mapfile -t COMPREPLY < <(compgen -W "$follow" -- "$word")
}
complete -F _svc svc
`;
}

function zshScript(words: Words, places: Places): string {
  return `#compdef svc
# zsh completion of svc
_svc() {
  local place='' follow='' i
  for ((i = 2; i < CURRENT && i < 4; i++)); do
    [[ \${words[i]} == -* ]] && break
    place="\${place:+$place }\${words[i]}"
  done
  local kind='' project=''
  case \${words[CURRENT-1]} in
${kindCases(namedOptions())}
    -*) ;;
    *) [[ \${words[CURRENT]} == -* ]] || case $place in
${kindCases(places)}
    esac ;;
  esac
  if [[ -n $kind ]]; then
    for ((i = 2; i < CURRENT - 1; i++)); do
      [[ \${words[i]} == --project ]] && project=\${words[i+1]}
    done
    local -a names
    names=(\${(f)"$(\${words[1]} completion names $kind "\${(Q)words[CURRENT]}" \
      \${project:+--project} $project --timeout 3s 2>/dev/null)"})
    compadd -- "\${names[@]}"
    return
  fi
  case \${words[CURRENT-1]} in
${choiceCases(words)}
  esac
  if [[ -z $follow ]]; then
    for place in "$place" "\${place%% *}"; do
      case $place in
${placeCases(words)}
      esac
      [[ -n $follow ]] && break
    done
  fi
  compadd -- \${=follow}
}
compdef _svc svc
`;
}

function placeCases(words: Words): string {
  const lines = [...words].map(([place, follow]) => {
    const texts = follow.map(({ text }) => text).join(' ');
    return `        '${place}') follow='${texts}' ;;`;
  });
  return lines.join('\n');
}

/** Options of the same name have the same choices everywhere. */
function choiceCases(words: Words): string {
  const choices = new Map<string, readonly string[]>();
  for (const follow of words.values()) {
    for (const word of follow) if (word.choices) choices.set(word.text, word.choices);
  }
  const lines = [...choices].map(([option, values]) => {
    return `    ${option}) follow='${values.join(' ')}' ;;`;
  });
  return lines.join('\n');
}

/** `exactly`: the words so far equal these; `within`: they start with these. */
const FISH_PLACE = `function __svc_place
    set -l words
    for word in (commandline -opc)[2..-1]
        string match -q -- '-*' $word; and break
        set -a words $word
    end
    set -l wanted $argv[2..-1]
    if test $argv[1] = exactly
        test "$words" = "$wanted"
    else
        string match -q -- "$wanted *" "$words "
    end
end`;

/** Names of a kind's resources, for the word being typed. */
function fishNames(kind: Kind): string {
  return `(svc completion names ${kind} (commandline -ct) --timeout 3s 2>/dev/null)`;
}

function fishScript(words: Words, named: Places): string {
  const lines = ['# fish completion of svc', FISH_PLACE, 'complete -c svc -f'];
  for (const [kind, places] of named) {
    for (const place of places) {
      lines.push(`complete -c svc -n '__svc_place within ${place}' -a '${fishNames(kind)}'`);
    }
  }
  for (const [place, follow] of words) {
    const isOptions = follow.some(({ text }) => text.startsWith('--'));
    const condition = `__svc_place ${isOptions ? 'within' : 'exactly'} ${place}`.trimEnd();
    for (const word of follow) lines.push(fishLine(condition, word));
  }
  return `${lines.join('\n')}\n`;
}

function fishLine(condition: string, { text, help, choices }: Word): string {
  const described = `-d '${help.replaceAll("'", "\\'")}'`;
  const what = text.startsWith('--') ? `-l ${text.slice(2)}` : `-a ${text}`;
  const kind = NAMED[text];
  const offered = choices?.join(' ') ?? (kind && fishNames(kind));
  const values = offered ? ` -x -a '${offered}'` : '';
  return `complete -c svc -n '${condition}' ${what}${values} ${described}`;
}
