/**
 * `npm run simulate -- [--seeds N] [--from S] [--minutes M] [--members N] [--planted NAME]
 * [--verbose]`: runs seeds one after another and judges each. A violation is printed with the
 * surrounding events and the command that replays it. The exit status is 1 for a violation and 2
 * for a wrong argument. A simulation that finds nothing proves nothing: `--planted all` plants each
 * bug on purpose, and fails when a bug is not found within a few seeds, by the invariant that it
 * breaks.
 */
import { parseArgs } from 'node:util';
import { PLANTED, type Planted } from './planted.ts';
import { runSeed, type SeedResult } from './run.ts';

const USAGE = `npm run simulate -- [options]
  --seeds N       so many seeds (default 100)
  --from S        the first one (default 1)
  --minutes M     as many seeds as begin within M minutes
  --members N     with N members in each seed (default: 1 to 4, as the seed has it)
  --planted NAME  with a bug planted on purpose, until it is found: ${Object.keys(PLANTED).join(', ')};
                  all: each in turn, which must be found
  --verbose       everything that happens in each seed`;

interface Options {
  readonly from: number;
  readonly seeds: number;
  readonly minutes: number;
  readonly members: number | undefined;
  readonly name: string | undefined;
  readonly planted: Planted | undefined;
  readonly isVerbose: boolean;
}

/** Throws if the arguments are invalid. */
function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: 'string', default: '1' },
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      members: { type: 'string' },
      planted: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const minutes = numberOf('minutes', values.minutes ?? 'Infinity');
  const seeds = numberOf('seeds', values.seeds ?? (values.minutes ? 'Infinity' : '100'));
  const name = values.planted;
  const planted = name === undefined ? undefined : PLANTED[name];
  if (name !== undefined && !planted) throw new Error(`Unknown planted bug: ${name}`);
  return {
    minutes,
    seeds,
    members: membersOf(values.members) ?? (planted ? (planted.members ?? 1) : undefined),
    name,
    planted,
    from: numberOf('from', values.from),
    isVerbose: values.verbose,
  };
}

function membersOf(text: string | undefined): number | undefined {
  const members = text === undefined ? undefined : numberOf('members', text);
  if (members === undefined || (Number.isInteger(members) && members > 0)) return members;
  throw new Error(`--members is ${text}. It must be a whole number, 1 or more.`);
}

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== '' && number >= 0) return number;
  throw new Error(`--${name} is ${JSON.stringify(text)}. It must be a number, 0 or more.`);
}

/** Results of all seeds. */
interface Totals {
  readonly beganMs: number;
  seeds: number;
  virtualMs: number;
  readonly faults: Map<string, number>;
  readonly counts: Map<string, number>;
}

/**
 * Maximum number of seeds that find a planted bug: faults are drawn per seed, and some seeds have
 * none.
 */
const PLANTED_SEEDS_MAX = 200;

/** @returns the exit status: 1 when a planted bug was not found */
async function findPlanted(): Promise<number> {
  let missed = 0;
  for (const [name, planted] of Object.entries(PLANTED)) {
    const seed = await firstSeedThatFinds(planted);
    if (seed === undefined) missed++;
    const outcome = seed === undefined ? 'NOT FOUND' : `found by seed ${seed}`;
    process.stdout.write(`${outcome.padEnd(18)} ${name}: ${planted.sentence}\n`);
  }
  return missed === 0 ? 0 : 1;
}

async function firstSeedThatFinds(planted: Planted): Promise<number | undefined> {
  for (let seed = 1; seed <= PLANTED_SEEDS_MAX; seed++) {
    const { problems } = await runSeed(seed, { planted, members: planted.members ?? 1 });
    if (problems.some(({ invariant }) => planted.breaks.includes(invariant))) return seed;
  }
  return undefined;
}

/** @returns the exit status */
async function simulate(options: Options): Promise<number> {
  const { from, seeds, minutes, members, planted, isVerbose } = options;
  const beganMs = performance.now();
  const totals: Totals = { beganMs, seeds: 0, virtualMs: 0, faults: new Map(), counts: new Map() };
  let reportedMs = beganMs;
  for (let seed = from; seed < from + seeds; seed++) {
    if (performance.now() - beganMs >= minutes * 60_000) break;
    const result = await runSeed(seed, { members, planted, isTraced: isVerbose });
    add(totals, result);
    if (isVerbose) printLines(result.lines);
    if (result.problems.length > 0) {
      await explain(result, options);
      return 1;
    }
    if (performance.now() - reportedMs < 10_000) continue;
    reportedMs = performance.now();
    process.stdout.write(`seed ${seed}: ${speedOf(totals)}\n`);
  }
  process.stdout.write(summaryOf(totals));
  return 0;
}

function add(totals: Totals, { virtualMs, faults, counts }: SeedResult): void {
  totals.seeds++;
  totals.virtualMs += virtualMs;
  for (const [kind, count] of faults)
    totals.faults.set(kind, (totals.faults.get(kind) ?? 0) + count);
  for (const [kind, count] of Object.entries(counts)) {
    totals.counts.set(kind, (totals.counts.get(kind) ?? 0) + count);
  }
}

function speedOf({ beganMs, seeds, virtualMs }: Totals): string {
  const seconds = (performance.now() - beganMs) / 1000;
  const perMinute = Math.round((60 * seeds) / seconds);
  const hours = (virtualMs / 3_600_000 / seconds).toFixed(1);
  return `${seeds} seeds, ${perMinute} seeds/minute, ${hours} virtual hours/second`;
}

function summaryOf(totals: Totals): string {
  const list = (counts: ReadonlyMap<string, number>): string =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([kind, count]) => `  ${String(count).padStart(9)} ${kind}\n`)
      .join('');
  return (
    `no violation in ${speedOf(totals)}\n` +
    `judged:\n${list(totals.counts)}faults injected:\n${list(totals.faults)}`
  );
}

/** Period shown before and after a violation, ms of the world. */
const BEFORE_MS = 60_000;
const AFTER_MS = 5_000;
const LINES_MAX = 120;

/** Runs the seed again with a full trace, and prints the lines around each violation. */
async function explain({ seed, members, problems }: SeedResult, options: Options): Promise<void> {
  const { lines } = await runSeed(seed, { ...options, isTraced: true });
  const [first] = problems;
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  print(
    `\nseed ${seed}, with ${members === 1 ? 'one member' : `${members} members`}, breaks ${problems.length === 1 ? 'an invariant' : 'invariants'}:`,
  );
  for (const { invariant, text, atMs } of problems.slice(0, 10)) {
    print(`  ${invariant}, at ${Math.round(atMs)} ms: ${text}`);
  }
  if (problems.length > 10) print(`  and ${problems.length - 10} more`);
  const atMs = first?.atMs ?? 0;
  print(`\nevents before the first violation:`);
  const around = lines.filter(
    ({ elapsedMs }) => elapsedMs >= atMs - BEFORE_MS && elapsedMs <= atMs + AFTER_MS,
  );
  printLines(around.slice(-LINES_MAX));
  const planted = options.name === undefined ? '' : ` --planted ${options.name}`;
  print(
    `\nto replay it: npm run simulate -- --seeds 1 --from ${seed} --members ${members}${planted} --verbose`,
  );
}

function printLines(lines: SeedResult['lines']): void {
  for (const { elapsedMs, text } of lines) {
    process.stdout.write(`${String(Math.round(elapsedMs)).padStart(10)}  ${text}\n`);
  }
}

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (args.join(' ') === '--planted all') return findPlanted();
  let options: Options;
  try {
    options = optionsOf(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}\n`);
    return 2;
  }
  return simulate(options);
}

process.exitCode = await main(process.argv.slice(2));
