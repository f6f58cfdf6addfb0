/**
 * `svc completion`: a script for bash, zsh or fish, made from the same table that the commands are
 * parsed by. Everything is in the script: pressing Tab starts no program and asks no service.
 */
import {
  type Action,
  type ClientCommand,
  isClientCommand,
  sharedOptions,
  single,
} from './client/action.ts';
import type { Option } from './client/arguments.ts';
import { UsageError } from './client/faults.ts';
import { type Command, EXIT_OK } from './command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** @param commands all commands of the program; asked for when the script is made */
export function createCompletionCommand(commands: () => readonly Command[]): ClientCommand {
  return single({
    name: 'completion',
    summary: 'Print the completion script of a shell',
    positionals: [{ name: 'bash|zsh|fish' }],
    notes: `bash: source <(svc completion bash)
zsh:  source <(svc completion zsh)
fish: svc completion fish | source`,
    async run({ input, print }) {
      const shell = SHELLS.find((known) => known === input.positional(0));
      if (!shell) throw new UsageError(`There are scripts for ${SHELLS.join(', ')}`);
      const words = wordsOf(commands());
      print(
        shell === 'fish'
          ? fishScript(words)
          : shell === 'zsh'
            ? zshScript(words)
            : bashScript(words),
      );
      return EXIT_OK;
    },
  });
}

/** What may follow a part of the command line: `''`, `keys`, `keys create`. */
type Words = ReadonlyMap<string, readonly Word[]>;

interface Word {
  readonly text: string;
  readonly help: string;
  /** What may follow it instead of all else. */
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

function optionWords({ options = [] }: Action): Word[] {
  return [...options, ...sharedOptions].map(({ name, help, choices }: Option) => ({
    text: `--${name}`,
    help,
    ...(choices && { choices }),
  }));
}

function bashScript(words: Words): string {
  return `# bash completion of svc
_svc() {
  local word=\${COMP_WORDS[COMP_CWORD]} place='' follow='' i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case \${COMP_WORDS[i]} in -*) break ;; *) place="\${place:+$place }\${COMP_WORDS[i]}" ;; esac
  done
  case \${COMP_WORDS[COMP_CWORD-1]} in
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

function zshScript(words: Words): string {
  return `#compdef svc
# zsh completion of svc
_svc() {
  local place='' follow='' i
  for ((i = 2; i < CURRENT && i < 4; i++)); do
    [[ \${words[i]} == -* ]] && break
    place="\${place:+$place }\${words[i]}"
  done
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

/** Options of the same name have the same choices wherever they are. */
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

/** `exactly`: the words so far are these; `within`: they begin with these. */
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

function fishScript(words: Words): string {
  const lines = ['# fish completion of svc', FISH_PLACE, 'complete -c svc -f'];
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
  const values = choices ? ` -x -a '${choices.join(' ')}'` : '';
  return `complete -c svc -n '${condition}' ${what}${values} ${described}`;
}
