/**
 * The command line of client commands. Options and positionals are declared as a table from which
 * the parser, the help text and the shell completion are derived. `node:util` splits the line;
 * errors are reported here, with the name that was probably meant.
 */
import { parseArgs } from 'node:util';
import { closestName } from '../../../actors/platform/closest-name.ts';
import { readTime, withOffset } from '../../platform/time-text.ts';
import { UsageError } from './faults.ts';

export interface Option {
  /** Long name, without dashes. */
  readonly name: string;
  /** Placeholder of the value, in capitals; absent for a flag. */
  readonly takes?: string;
  readonly multiple?: true;
  readonly choices?: readonly string[];
  /** Aliases of choices, such as `>`. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly help: string;
}

export interface Positional {
  readonly name: string;
  readonly optional?: true;
  /** True if the last one may be repeated. */
  readonly multiple?: true;
}

export interface Shape {
  readonly positionals?: readonly Positional[];
  readonly options: readonly Option[];
  /** True if a separate command follows `--`. */
  readonly takesCommand?: boolean;
}

/** Options that might be used for a secret; every process can read a command line. */
const SECRET_OPTIONS = ['key', 'api-key', 'apikey', 'token', 'secret', 'password', 'setup-code'];

/**
 * Parses the command line and validates it against its shape. Throws `UsageError`.
 * @param nowMs for times of day
 * @param report receives how a time was understood whose zone or day was not given
 */
export function parseInput(
  args: readonly string[],
  shape: Shape,
  nowMs: number,
  report: (line: string) => void = () => {},
): Input {
  const split = shape.takesCommand ? args.indexOf('--') : -1;
  const own = split < 0 ? args : args.slice(0, split);
  const { tokens } = parseArgs({
    args: [...own],
    options: Object.fromEntries(
      shape.options.map(({ name, takes }) => [name, { type: takes ? 'string' : 'boolean' }]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const option = optionNamed(token.name, token.rawName, shape.options);
    const values = given.get(option.name) ?? [];
    if (values.length > 0 && !option.multiple) {
      throw new UsageError(`--${option.name} is given twice`);
    }
    given.set(option.name, [...values, checkedValue(option, token)]);
  }
  checkPositionals(positionals, shape.positionals ?? []);
  return new Input({
    given,
    positionals,
    nowMs,
    report,
    command: split < 0 ? [] : args.slice(split + 1),
  });
}

function optionNamed(name: string, raw: string, options: readonly Option[]): Option {
  const option = options.find((candidate) => candidate.name === name);
  if (option) return option;
  if (SECRET_OPTIONS.includes(name)) {
    throw new UsageError(
      `${raw} is rejected: every process on this machine can read a command line, and shells store it`,
      'Set the environment variable SVC_API_KEY to the key, or sign in with "svc login"',
    );
  }
  const closest = closestName(
    name,
    options.map((candidate) => candidate.name),
  );
  throw new UsageError(`${raw} is unknown${closest ? `. Did you mean --${closest}?` : ''}`);
}

function checkedValue(
  option: Option,
  token: { readonly value: string | undefined; readonly inlineValue: boolean | undefined },
): string {
  const { name, takes, choices, aliases = {} } = option;
  const { value, inlineValue = false } = token;
  if (!takes) {
    if (value !== undefined) throw new UsageError(`--${name} takes no value`);
    return '';
  }
  // An empty quoted value is valid; another option in its place means that the value is missing.
  if (value === undefined || (!inlineValue && value.startsWith('--'))) {
    throw new UsageError(`--${name} requires a value: ${takes}`);
  }
  const meant = aliases[value] ?? value;
  if (choices && !choices.includes(meant)) {
    throw new UsageError(`--${name} must be one of ${choices.join(', ')}, not ${quoted(value)}`);
  }
  return meant;
}

function checkPositionals(given: readonly string[], declared: readonly Positional[]): void {
  const missing = declared.find(({ optional }, place) => !optional && given[place] === undefined);
  if (missing) throw new UsageError(`${missing.name} is missing`);
  const extra = given[declared.length];
  if (extra !== undefined && !declared.at(-1)?.multiple)
    throw new UsageError(`Unexpected argument ${quoted(extra)}`);
}

interface Given {
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
  readonly command: readonly string[];
  /** Unix ms. */
  readonly nowMs: number;
  readonly report: (line: string) => void;
}

/** The given values. Names must be part of the shape: unknown ones are never found. */
export class Input {
  readonly #given: Given['given'];
  readonly #nowMs: number;
  readonly #report: (line: string) => void;
  /** Options whose time was reported. */
  readonly #reported = new Set<string>();
  /** All positionals, in order. */
  readonly positionals: readonly string[];
  /** The command after `--`. */
  readonly command: readonly string[];

  constructor({ given, positionals, command, nowMs, report }: Given) {
    this.#report = report;
    this.#given = given;
    this.#nowMs = nowMs;
    this.positionals = positionals;
    this.command = command;
  }

  isOn(name: string): boolean {
    return this.#given.has(name);
  }

  text(name: string): string | undefined {
    return this.#given.get(name)?.[0];
  }

  /** Throws `UsageError` if it is missing. */
  required(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === '') throw new UsageError(`--${name} is missing`);
    return value;
  }

  list(name: string): readonly string[] {
    return this.#given.get(name) ?? [];
  }

  /** Numeric values of an enum; the option's choices are their names. */
  members<E extends number>(name: string, members: Readonly<Record<string, E>>): E[] {
    return this.list(name).flatMap((text) => members[text] ?? []);
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const number = Number(value);
    if (value.trim() === '' || !Number.isFinite(number)) {
      throw new UsageError(`--${name} must be a number, not ${quoted(value)}`);
    }
    return number;
  }

  /** Whole seconds of `90`, `30s`, `15m`, `24h` or `90d`. */
  seconds(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : parseDuration(`--${name}`, value);
  }

  /** Unix seconds of an ISO time, a number, the most recent time of day (`08:00`), or `1h` ago. */
  time(name: string): number | undefined {
    const value = this.text(name);
    if (value !== undefined && LENGTH_OF_TIME.test(value)) {
      return Math.max(0, Math.floor(this.#nowMs / 1000) - parseDuration(`--${name}`, value));
    }
    return this.#moment(name, { unixMs: this.#nowMs, side: 'before' });
  }

  /** The same for a future time: the next time of day. @param afterUnix default: now */
  timeToCome(name: string, afterUnix = 0): number | undefined {
    return this.#moment(name, { unixMs: Math.max(this.#nowMs, afterUnix * 1000), side: 'after' });
  }

  #moment(name: string, near: { unixMs: number; side: 'after' | 'before' }): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const read = readTime(value, { zone: 'local', near });
    if (read.kind === 'refused') {
      throw new UsageError(`--${name} ${quoted(value)} is not a time: ${read.problem}`);
    }
    if (read.kind === 'otherForm') {
      throw new UsageError(
        `--${name} must be a time such as 08:00, 2026-11-21T12:00:00Z or Unix seconds, not ${quoted(value)}`,
      );
    }
    if (read.isInferred && !this.#reported.has(name)) {
      this.#reported.add(name);
      this.#report(`--${name} ${value} is ${withOffset(read.unixMs)}`);
    }
    return Math.floor(read.unixMs / 1000);
  }

  /** The positional at an index; '' if an optional one is absent. */
  positional(place: number): string {
    return this.positionals[place] ?? '';
  }
}

/** Requires a unit, because a number alone is a time. */
const LENGTH_OF_TIME = /^\d{1,9}[smhd]$/;

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  '': 1,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
};

function parseDuration(what: string, value: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(value);
  const unit = UNIT_SECONDS[match?.[2] ?? ''];
  if (!match || unit === undefined) {
    throw new UsageError(
      `${what} must be a duration such as 90s, 15m, 24h or 90d, not ${quoted(value)}`,
    );
  }
  return Number(match[1]) * unit;
}

/** The typed text for a message; a secret of ours that was passed by mistake is not repeated. */
export function quoted(value: string): string {
  return JSON.stringify(value.replaceAll(/(svc_[a-z]{2,7}_)\w{20,}/g, '$1…'));
}
