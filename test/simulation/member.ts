/**
 * One member: a machine and the life of its process, which is started, killed, stopped, frozen, cut
 * off from the streams, and restarted, as drawn from the seed.
 */
import { HistoryMismatch } from '../../streams/platform/commit/chain.ts';
import type { Wire } from './connection.ts';
import type { Dice } from './dice.ts';
import type { Outside } from './endpoints.ts';
import { type FaultRates, NO_FAULTS } from './faults.ts';
import { Machine, type Vault } from './machine.ts';
import type { Mailbox } from './mailbox.ts';
import type { Planted } from './planted.ts';
import { type Doors, isInjected, Process } from './process.ts';
import { NEWER } from './programs.ts';
import type { World } from './world.ts';

export interface MemberOptions {
  readonly world: World;
  readonly wire: Wire;
  readonly outside: Outside;
  readonly mailbox: Mailbox;
  readonly planted: Planted | undefined;
  readonly vault: Vault;
  /** Number of members. */
  readonly members: number;
  readonly onBug: (what: string, error: unknown) => void;
}

/** A stretch of the world's elapsed time, ms. */
export interface Trouble {
  readonly fromMs: number;
  untilMs: number;
}

/** Offset of a machine's clock from true time from then on, ms. */
export interface Skew {
  readonly fromMs: number;
  readonly ms: number;
}

/** Largest clock error at which a member still acts (docs: 10 s), ms. */
const SKEW_MS_MAX = 10_000;

export class Member {
  readonly name: string;
  readonly machine: Machine;
  /** Periods in which it could not work: down, frozen, cut off, or with a rejected clock. */
  readonly troubles: Trouble[] = [];
  /** Skews of its clock, oldest first. */
  readonly skews: Skew[] = [];
  readonly #options: MemberOptions;
  readonly #dice: Dice;
  readonly #started: Process[] = [];
  #process: Process | undefined;
  #down: Trouble | undefined;
  #isWell = false;
  /** True once it is shut down for good. */
  #isOver = false;

  constructor(options: MemberOptions) {
    const { world, wire } = options;
    this.name = wire.name;
    this.#options = options;
    this.machine = new Machine(wire, options.vault);
    this.#dice = world.dice.fork(`life of ${this.name}`);
    this.#setClock(this.#usualSkewMs());
  }

  /** The process that is up; undefined while there is none or it is still starting. */
  get process(): Process | undefined {
    return this.#process?.isAlive && this.#process.doors ? this.#process : undefined;
  }

  get doors(): Doors | undefined {
    return this.process?.doors;
  }

  /** Starts the process and the faults, and keeps the process running until `shutDown`. */
  start(faults: FaultRates): void {
    this.#watch();
    this.#often(faults.killEveryMs, () => this.#kill());
    this.#often(faults.diskLostEveryMs, () => this.#loseDisk());
    this.#often(faults.diskFullEveryMs, () => this.#fillDisk(faults));
    this.#often(faults.restartEveryMs, () => this.#restart());
    this.#often(faults.outageEveryMs, () => this.#outage(faults));
    this.#often(faults.clockJumpEveryMs, () => this.#jump(faults));
    this.#often(faults.freezeEveryMs, () => this.#freeze(faults));
    if (Math.abs(this.machine.skew.ms) > SKEW_MS_MAX) this.#trouble(Number.POSITIVE_INFINITY);
  }

  /** Stops all faults. */
  heal(): void {
    const { wire, world } = this.#options;
    this.#isWell = true;
    wire.faults = NO_FAULTS;
    wire.outageUntilMs = 0;
    this.machine.history.fullUntilMs = 0;
    this.#setClock(0);
    // A frozen process thaws at its time: events that are due for it are delayed until then.
    const endMs = Math.max(world.elapsedMs, this.#process?.frozenUntilMs ?? 0);
    for (const trouble of this.troubles) {
      if (trouble !== this.#down) trouble.untilMs = Math.min(trouble.untilMs, endMs);
    }
  }

  /** True if it was up, running, connected and with a good clock all the time. */
  isWellIn(fromMs: number, untilMs: number): boolean {
    return this.troubles.every((each) => each.untilMs <= fromMs || each.fromMs >= untilMs);
  }

  /** Stops it gracefully. */
  async shutDown(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    this.#isOver = true;
    await process?.stop();
  }

  /** Discards every process after the run has been judged. */
  discard(): void {
    for (const process of this.#started) {
      process.kill();
      process.discard();
    }
  }

  /** Starts a process whenever there is none. */
  #watch(): void {
    const { world, members } = this.#options;
    // A process beside one that is stopping would share its data folder, which the lock prevents.
    if (this.#isOver) return;
    if (!this.#process?.isAlive) this.#startProcess();
    const health = this.doors?.host.health();
    if (health?.state === 'stopped') {
      this.#options.onBug(
        `the host of ${this.name} has stopped for good`,
        new Error(health.reason),
      );
    }
    const downMsMax = members === 1 ? 20_000 : 40_000;
    world.in(this.#isWell ? 1_000 : this.#dice.between(200, downMsMax), () => this.#watch());
  }

  #startProcess(): void {
    const { world } = this.#options;
    const number = this.#started.length + 1;
    const onEnd = (): void => this.#end();
    const process = new Process({ ...this.#options, machine: this.machine, number, onEnd });
    this.#process = process;
    this.#started.push(process);
    this.#end();
    world.trace(() => `${this.name}: process ${number} starts`);
    process.start().then(
      () => {
        if (this.#down) this.#down.untilMs = world.elapsedMs;
        this.#down = undefined;
        world.trace(() => `${this.name}: process ${number} is up`);
      },
      (error: unknown) => {
        if (error instanceof HistoryMismatch || !isInjected(error)) {
          this.#options.onBug(`the start of ${this.name}`, error);
        }
        process.kill();
      },
    );
  }

  /** Nothing runs until the next process is up. */
  #end(): void {
    this.#down ??= this.#trouble(Number.POSITIVE_INFINITY);
  }

  #kill(): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) return;
    world.count('killed');
    world.trace(() => `${this.name} is killed`);
    this.#process.kill();
  }

  #loseDisk(): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) return;
    world.count('disk lost');
    world.trace(() => `${this.name} is killed, and its disk is lost`);
    this.#process.kill();
    this.machine.loseDisk();
  }

  #fillDisk({ diskFullMsMax }: FaultRates): void {
    const { world } = this.#options;
    world.count('disk full');
    const { history } = this.machine;
    history.fullUntilMs = world.elapsedMs + this.#dice.between(10_000, diskFullMsMax);
    world.trace(() => `the disk of ${this.name} is full until ${Math.round(history.fullUntilMs)}`);
  }

  /** Replaces its process by one of the newer program. */
  upgrade(): void {
    const { world } = this.#options;
    world.count('upgraded');
    world.trace(() => `${this.name} is upgraded`);
    this.machine.program = NEWER;
    if (this.doors) this.#restart();
    else this.#process?.kill();
  }

  #restart(): void {
    const process = this.#process;
    if (!process?.isAlive || !process.doors) return;
    this.#options.world.count('restarted');
    this.#options.world.trace(() => `${this.name} is asked to stop`);
    this.#end();
    process.stop().catch((error: unknown) => {
      if (!isInjected(error)) this.#options.onBug(`the stop of ${this.name}`, error);
      process.kill();
    });
    // A process that does not stop is killed, as a service manager does.
    this.#options.world.in(40_000, () => process.kill());
  }

  #outage({ outageMsMax }: FaultRates): void {
    const { world, wire } = this.#options;
    world.count('stream out of reach');
    wire.outageUntilMs = world.elapsedMs + this.#dice.between(1_000, outageMsMax);
    this.#trouble(wire.outageUntilMs);
    const untilMs = Math.round(wire.outageUntilMs);
    world.trace(() => `${this.name} cannot reach the stream until ${untilMs}`);
  }

  #jump({ clockJumpMsMax, clockJumpLastsMsMax }: FaultRates): void {
    const { world } = this.#options;
    world.count('clock jump');
    const ms = Math.round(this.#dice.between(-clockJumpMsMax, clockJumpMsMax));
    this.#setClock(ms);
    world.trace(() => `the clock of ${this.name} is ${ms} ms ahead`);
    const lastsMs = this.#dice.between(1_000, clockJumpLastsMsMax);
    if (Math.abs(ms) > SKEW_MS_MAX) this.#trouble(world.elapsedMs + lastsMs);
    world.in(lastsMs, () => {
      this.#setClock(this.#usualSkewMs());
      world.trace(() => `the clock of ${this.name} is corrected`);
    });
  }

  #setClock(ms: number): void {
    this.machine.skew.ms = ms;
    this.skews.push({ fromMs: this.#options.world.elapsedMs, ms });
  }

  /**
   * Machines of a cluster never agree, mostly by little. A single machine is as good as its clock.
   */
  #usualSkewMs(): number {
    if (this.#options.members === 1 || this.#isWell) return 0;
    const most = this.#dice.pick([0, 500, 500, 1_500, 6_000, 9_000]);
    return Math.round(this.#dice.between(-most, most));
  }

  #freeze({ freezeMsMax }: FaultRates): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) return;
    world.count('frozen');
    const ms = this.#dice.between(1_000, freezeMsMax);
    world.trace(() => `${this.name} freezes for ${Math.round(ms)} ms`);
    this.#process.frozenUntilMs = world.elapsedMs + ms;
    this.#trouble(world.elapsedMs + ms);
  }

  #trouble(untilMs: number): Trouble {
    const trouble = { fromMs: this.#options.world.elapsedMs, untilMs };
    this.troubles.push(trouble);
    return trouble;
  }

  #often(everyMs: number, happen: () => void): void {
    if (everyMs === Number.POSITIVE_INFINITY) return;
    const again = (): void => {
      if (this.#isWell) return;
      happen();
      this.#options.world.in(2 * everyMs * this.#dice.roll(), again);
    };
    this.#options.world.in(2 * everyMs * this.#dice.roll(), again);
  }
}
