/**
 * Faults of a run and their frequency. A seed does not turn up everything at once: each kind is
 * off, rare or frequent independently, because bugs hide in combinations that averages never show.
 */
import type { Dice } from './dice.ts';

/** Probability per occasion, or mean interval in ms (`...EveryMs`). */
export interface FaultRates {
  /** An append is rejected and nothing is stored. */
  readonly refuse: number;
  /** An append is lost on its way: nothing is stored or answered. */
  readonly loseRequest: number;
  /** An append is stored, but its answer is lost. */
  readonly loseAnswer: number;
  /** An append is not answered, and is stored some time later. */
  readonly late: number;
  /** An append is stored twice. */
  readonly double: number;
  /** A read breaks off at a message. */
  readonly breakRead: number;
  /** An acknowledgement to a work queue is lost. */
  readonly loseAck: number;
  /** A message of a work queue is delivered twice. */
  readonly redeliver: number;
  /** A write to the local disk fails. */
  readonly diskError: number;
  /** The process dies at a write to the local disk: before it, or right after. */
  readonly dieAtWrite: number;
  /** A member is killed. */
  readonly killEveryMs: number;
  /** A member is asked to stop, then started again. */
  readonly restartEveryMs: number;
  /** A member is cut off from the streams for a while. */
  readonly outageEveryMs: number;
  /** A machine's wall clock jumps, and is corrected later. */
  readonly clockJumpEveryMs: number;
  /** A member freezes for a while. */
  readonly freezeEveryMs: number;
  /** A member is killed, and restarts with an empty disk. */
  readonly diskLostEveryMs: number;
  /** The leader of a stream, or of all, is lost. */
  readonly leaderEveryMs: number;
  /** An endpoint starts to misbehave. */
  readonly endpointEveryMs: number;
  /** A machine's disk has no room for rows of history for a while. */
  readonly diskFullEveryMs: number;
  /** A tick is written under an expired lease. */
  readonly staleTickEveryMs: number;
  readonly outageMsMax: number;
  readonly clockJumpMsMax: number;
  readonly clockJumpLastsMsMax: number;
  readonly freezeMsMax: number;
  readonly diskFullMsMax: number;
}

const NEVER = Number.POSITIVE_INFINITY;

export const NO_FAULTS: FaultRates = {
  refuse: 0,
  loseRequest: 0,
  loseAnswer: 0,
  late: 0,
  double: 0,
  breakRead: 0,
  loseAck: 0,
  redeliver: 0,
  diskError: 0,
  dieAtWrite: 0,
  killEveryMs: NEVER,
  restartEveryMs: NEVER,
  outageEveryMs: NEVER,
  clockJumpEveryMs: NEVER,
  freezeEveryMs: NEVER,
  endpointEveryMs: NEVER,
  leaderEveryMs: NEVER,
  diskLostEveryMs: NEVER,
  staleTickEveryMs: NEVER,
  diskFullEveryMs: NEVER,
  outageMsMax: 0,
  clockJumpMsMax: 0,
  diskFullMsMax: 0,
  clockJumpLastsMsMax: 0,
  freezeMsMax: 0,
};

/** The faults of a seed. Some seeds have none, to catch bugs that need no fault. */
export function faultsOf(dice: Dice, members: number): FaultRates {
  if (dice.chance(0.05)) return NO_FAULTS;
  const rate = (often: number): number => dice.pick([0, 0, often / 8, often]);
  const every = (ms: number): number => dice.pick([NEVER, NEVER, ms * 4, ms]);
  return {
    refuse: rate(0.06),
    loseRequest: rate(0.06),
    loseAnswer: rate(0.08),
    late: rate(0.05),
    double: rate(0.05),
    breakRead: rate(0.004),
    loseAck: rate(0.1),
    redeliver: rate(0.1),
    diskError: rate(0.02),
    dieAtWrite: rate(0.01),
    endpointEveryMs: every(300_000),
    diskFullEveryMs: every(600_000),
    diskFullMsMax: 2_400_000,
    ...(members === 1 ? alone(every) : together(every)),
  };
}

type Every = (ms: number) => number;

/** For a process that no other takes over from: faults that last hours. */
function alone(every: Every) {
  return {
    killEveryMs: every(240_000),
    restartEveryMs: every(600_000),
    outageEveryMs: every(600_000),
    clockJumpEveryMs: every(900_000),
    freezeEveryMs: every(600_000),
    leaderEveryMs: NEVER,
    diskLostEveryMs: NEVER,
    staleTickEveryMs: NEVER,
    outageMsMax: 150_000,
    freezeMsMax: 120_000,
    clockJumpMsMax: 300_000,
    clockJumpLastsMsMax: 240_000,
  };
}

/** For each member: faults that last minutes, about as long as the others take to act. */
function together(every: Every) {
  return {
    killEveryMs: every(100_000),
    restartEveryMs: every(200_000),
    outageEveryMs: every(150_000),
    clockJumpEveryMs: every(200_000),
    freezeEveryMs: every(150_000),
    leaderEveryMs: every(150_000),
    staleTickEveryMs: every(20_000),
    diskLostEveryMs: every(250_000),
    outageMsMax: 40_000,
    freezeMsMax: 40_000,
    clockJumpMsMax: 60_000,
    clockJumpLastsMsMax: 60_000,
  };
}

/** Error that the simulated disk throws. */
export class DiskError extends Error {
  constructor() {
    super('disk I/O error (simulated)');
    this.name = 'DiskError';
  }
}

/** Error in a process that dies during a write, so that none of its work continues. */
export class ProcessDied extends Error {
  constructor() {
    super('The process died (simulated)');
    this.name = 'ProcessDied';
  }
}
