/**
 * Runs classes of attack, one after another. All but one run against a program with very high rate
 * limits, so that the limits hide nothing; abuse runs against the default limits.
 */
import { Dice } from '../simulation/dice.ts';
import { attackByAbuse } from './abuse.ts';
import { attackAddresses } from './addresses.ts';
import { type Arena, forbiddenTo } from './arena.ts';
import { attackBoundKeys } from './bound-keys.ts';
import { attackByChanges } from './changes.ts';
import { attackCi } from './ci.ts';
import { attackCredentials } from './credentials.ts';
import { attackEgress, egressSettings } from './egress.ts';
import { attackByFuzzing } from './fuzz.ts';
import { attackOldSignIns } from './old-sign-ins.ts';
import { type ClassResult, Tally } from './tally.ts';
import { startTarget, Undo } from './target.ts';
import { attackTenancy } from './tenancy.ts';
import { createTenant } from './tenants.ts';
import { attackThreads } from './threads.ts';

type Attack = (arena: Arena, options: RunOptions) => Promise<void>;

/** In the order of a run; fuzzing gets the remaining time. */
export const ATTACKS = {
  tenancy: attackTenancy,
  credentials: attackCredentials,
  'old-sign-ins': attackOldSignIns,
  ci: attackCi,
  addresses: attackAddresses,
  bound: attackBoundKeys,
  egress: attackEgress,
  abuse: attackByAbuse,
  threads: attackThreads,
  changes: attackByChanges,
  fuzz: attackByFuzzing,
} as const satisfies Readonly<Record<string, Attack>>;

/** Minimum time of classes bounded only by time, however long the others took, ms. */
const LEAST_MS = 60_000;

type ClassName = keyof typeof ATTACKS;

export interface RunOptions {
  readonly only: readonly ClassName[];
  readonly seed: number;
  /** Maximum number of mutated requests. */
  readonly requests: number;
  /** Minutes for the whole run. */
  readonly minutes: number;
  /** False: delays are reported without a verdict, since other programs share the machine. */
  readonly judgesDelays: boolean;
  readonly progress: (line: string) => void;
}

/** Rates that an attacker on one machine does not reach. */
const WIDE_LIMITS: Readonly<Record<string, string>> = {};

/** Classes that attack one program together, sharing its tenants. */
const PROGRAMS: readonly {
  readonly classes: readonly ClassName[];
  readonly limits: Readonly<Record<string, string>>;
  /** Starts what the program needs beside it, and resolves with the settings for that. */
  readonly prepare?: (undo: Undo) => Promise<Readonly<Record<string, string>>>;
}[] = [
  {
    classes: ['tenancy', 'credentials', 'old-sign-ins', 'ci', 'addresses', 'bound'],
    limits: WIDE_LIMITS,
  },
  { classes: ['egress'], limits: WIDE_LIMITS, prepare: egressSettings },
  { classes: ['abuse'], limits: {} },
  { classes: ['threads'], limits: {} },
  // The number of committed decisions is read there.
  { classes: ['changes'], limits: { SVC_METRICS_ON_API: 'on' } },
  { classes: ['fuzz'], limits: WIDE_LIMITS },
];

export async function runAttacks(options: RunOptions): Promise<ClassResult[]> {
  const endMs = performance.now() + options.minutes * 60_000;
  const results: ClassResult[] = [];
  for (const program of PROGRAMS) {
    const classes = program.classes.filter((name) => options.only.includes(name));
    if (classes.length === 0) continue;
    results.push(...(await attackProgram({ ...program, classes }, { ...options, endMs })));
  }
  return results;
}

/** Starts a program, runs the classes against it, and checks how it stops. */
async function attackProgram(
  { classes, limits, prepare = async () => ({}) }: (typeof PROGRAMS)[number],
  options: RunOptions & { readonly endMs: number },
): Promise<ClassResult[]> {
  const { seed, progress, endMs } = options;
  const undo = new Undo();
  const tallies: Tally[] = [];
  try {
    const target = await startTarget(undo, { ...limits, ...(await prepare(undo)) });
    const attacker = await createTenant(target, 'acme');
    const victim = await createTenant(target, 'umbra');
    const forbidden = forbiddenTo(target, [victim]);
    for (const name of classes) {
      const tally = new Tally(name);
      tallies.push(tally);
      const startMs = performance.now();
      const isOver = () => performance.now() > Math.max(endMs, startMs + LEAST_MS);
      const dice = new Dice(seed).fork(name);
      const attack: Attack = ATTACKS[name];
      await attack({ target, attacker, victim, tally, forbidden, isOver, dice }, options);
      const { tries, held } = tally.result();
      const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
      progress(`${name}: ${tries} tries, ${held} held, in ${seconds} s`);
    }
    const code = await target.stop();
    const why = code === 0 ? undefined : `it exited with ${code}`;
    tallies.at(-1)?.record({
      name: 'the program stops gracefully',
      why,
      answer: target.program.log().slice(-600),
    });
  } finally {
    await undo.all();
  }
  return tallies.map((tally) => tally.result());
}
