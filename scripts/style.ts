/**
 * The style test: rules that the linter does not have. Each ban names its replacement; the limits
 * on length may only get stricter. It reads text line by line without parsing; a rule that needs
 * more than a line at a time belongs in the linter.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE_LINES_MAX = 600;
/**
 * A literal takes a line for each of its properties, so a function that builds one is long but
 * simple.
 */
const FUNCTION_LINES_MAX = 90;

interface Ban {
  readonly pattern: RegExp;
  readonly message: string;
  /** Files to which it applies; absent: all. */
  readonly within?: RegExp;
  /** Files that are exempt: the port that owns it. */
  readonly except?: RegExp;
}

/** Code that runs in the browser. */
const BROWSER = /^src\/dashboard\/(?!serving\/)/;

const bans: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(|new Date\(\)|performance\.now\(/,
    message: 'reads a clock: use a Clock (streams/platform/clock.ts)',
    except:
      /^(streams\/platform\/clock\.ts|src\/dashboard\/data\/clock\.ts|test\/|bench\/|scripts\/)/,
  },
  {
    pattern: /\bMath\.random\(|\brandomBytes\(|\brandomUUID\(/,
    message: 'makes randomness: use a Random (streams/platform/random.ts)',
    except:
      /^(streams\/platform\/random\.ts|src\/dashboard\/data\/new-id\.ts|test\/|bench\/|scripts\/)/,
  },
  {
    pattern: /\bsetTimeout\(|\bsetInterval\(/,
    message: 'starts a timer: use a Clock (streams/platform/clock.ts)',
    except:
      /^(streams\/platform\/clock\.ts|src\/dashboard\/data\/clock\.ts|test\/|bench\/|scripts\/)/,
  },
  {
    pattern: /\bconsole\.(log|error|warn|info|debug)\(/,
    message: 'writes to the console: use the Log, or process.stdout in a command',
    except: /^(bench\/|scripts\/)/,
  },
  {
    pattern: /@ts-(ignore|expect-error|nocheck)|biome-ignore(?!.*: )/,
    message: 'silences a check without a reason',
    except: /^scripts\/style\.ts$/,
  },
  {
    pattern: /\.\.\.\{ /,
    message: 'packs properties into a spread to save lines: write each property',
  },
  {
    pattern: /\b(TODO|FIXME|XXX)\b/,
    message: 'leaves work behind: do it, or record it in docs/decisions/',
    except: /^scripts\/style\.ts$/,
  },
  {
    pattern: /\.skip\(|\bskip: true\b/,
    message: 'skips a test: declare its requirements',
    except: /^scripts\/style\.ts$/,
  },
  {
    // In running text, a space, a comma or the end of the sentence follows; in a longer address,
    // something else does.
    pattern:
      /[a-z] (at |by |to )?\$\{(?!redactedUrl\()[\w.]*([uU]rl|[uU]ri|URL|servers)\}([ ,;:`']|$)/,
    message:
      'shows an address that may contain a login: use redactedUrl (streams/platform/redacted-url.ts)',
    except: /^(test\/|bench\/|scripts\/)/,
  },
  {
    pattern: /BadSetting\(`.*JSON\.stringify/,
    message:
      'quotes a value that may contain a password: use quote (src/platform/settings/setting-kinds.ts)',
    except: /^scripts\/style\.ts$/,
  },
  {
    pattern: /(\?\?|\|\|)=? 0\b/,
    message: 'turns an absent value into a zero: show that there is no reading',
    within: BROWSER,
  },
  {
    pattern: /\b(innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML)\b/,
    message: 'builds markup from text: return elements',
    within: BROWSER,
  },
];

const badNames = /(^|\/)(utils?|helpers?|common|misc|manager)(\.|\/)/;

/** All findings of the checkout in `folder`, as `file:line message`; empty if it is clean. */
export function styleFindings(folder: string): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: folder,
    encoding: 'utf8',
  });
  const files = listed
    .split('\n')
    .filter((file) => /\.tsx?$/.test(file) && !/(^|\/)gen\//.test(file));
  return files
    .filter((file) => existsSync(join(folder, file)))
    .flatMap((file) => fileFindings(file, readFileSync(join(folder, file), 'utf8')));
}

function fileFindings(file: string, text: string): string[] {
  const lines = text.split('\n');
  const findings: string[] = [];
  const find = (line: number, message: string): void =>
    void findings.push(`${file}:${line} ${message}`);
  if (badNames.test(file)) find(1, 'has a name without meaning: name its content');
  if (!/^(#!.*\n)?\s*\/(\*\*|\/)/.test(text)) find(1, 'has no header: state what it is and why');
  if (lines.length > FILE_LINES_MAX)
    find(1, `has ${lines.length} lines, more than ${FILE_LINES_MAX}`);
  for (const [i, line] of lines.entries()) {
    if (/^\s*(\/\/|\*|\/\*)/.test(line) && !/@ts-|biome-ignore|TODO|FIXME/.test(line)) continue;
    for (const ban of bans) {
      const concerns = ban.within?.test(file) !== false && ban.except?.test(file) !== true;
      if (concerns && ban.pattern.test(line)) find(i + 1, ban.message);
    }
  }
  for (const { line, length } of longFunctions(lines)) {
    find(line, `is a function of ${length} lines, more than ${FUNCTION_LINES_MAX}`);
  }
  return findings;
}

/**
 * Functions and methods, found by indentation: from the line that opens one to its closing brace.
 */
function longFunctions(lines: readonly string[]): { line: number; length: number }[] {
  const opening =
    /^(\s*)(export )?(async )?(function\b|(static |async |get |\*|#)*[\w#]+\(.*\).*\{$)/;
  return lines.flatMap((text, i) => {
    const match = opening.exec(text);
    if (!match || /^\s*(if|for|while|switch|catch|return|t\.test|test)\b/.test(text)) return [];
    const end = lines.findIndex((line, j) => j > i && line.startsWith(`${match[1]}}`));
    const length = end - i + 1;
    return length > FUNCTION_LINES_MAX ? [{ line: i + 1, length }] : [];
  });
}
