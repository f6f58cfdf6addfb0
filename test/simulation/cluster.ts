/**
 * The life of the service's process: started, killed, asked to stop, frozen, and started again, as
 * the seed has it. Whoever wants something of the service asks here, and gets an answer, a refusal,
 * or nothing.
 */
import { HistoryMismatch } from '../../streams/platform/commit/chain.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import type { Wire } from './connection.ts';
import type { Dice } from './dice.ts';
import type { Outside } from './endpoints.ts';
import { type FaultRates, NO_FAULTS } from './faults.ts';
import { Machine } from './machine.ts';
import type { Mailbox } from './mailbox.ts';
import type { Planted } from './planted.ts';
import { type Doors, isInjected, Process } from './process.ts';
import type { World } from './world.ts';

export type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Nobody knows whether it was done. */
  | { readonly kind: 'silence' };

export interface ClusterOptions {
  readonly world: World;
  readonly wire: Wire;
  readonly outside: Outside;
  readonly mailbox: Mailbox;
  readonly planted: Planted | undefined;
  readonly onBug: (what: string, error: unknown) => void;
}

export class Cluster {
  readonly machine: Machine;
  readonly #options: ClusterOptions;
  readonly #dice: Dice;
  #process: Process | undefined;
  readonly #started: Process[] = [];
  #isWell = false;

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.machine = new Machine(options.wire);
    this.#dice = options.world.dice.fork('cluster');
  }

  /** Undefined while it is down or on its way up. */
  get doors(): Doors | undefined {
    return this.#process?.isAlive ? this.#process.doors : undefined;
  }

  /** Starts the process, and keeps it running until `shutDown`; begins the faults. */
  start(faults: FaultRates): void {
    this.#watch();
    this.#often(faults.killEveryMs, () => this.#kill());
    this.#often(faults.restartEveryMs, () => this.#restart());
    this.#often(faults.outageEveryMs, () => this.#outage());
    this.#often(faults.clockJumpEveryMs, () => this.#jump());
    this.#often(faults.freezeEveryMs, () => this.#freeze());
    this.#often(faults.endpointEveryMs, () => this.#options.outside.change());
  }

  /** No faults from now on. */
  heal(): void {
    const { wire, outside } = this.#options;
    this.#isWell = true;
    wire.faults = NO_FAULTS;
    wire.outageUntilMs = 0;
    this.machine.skew.ms = 0;
    outside.heal();
    if (this.#process) this.#process.frozenUntilMs = 0;
  }

  /** Ends it in good order. */
  async shutDown(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await process?.stop();
  }

  /** Asks the process that is up now; `silence` when there is none, or no answer in time. */
  async ask<T>(request: (doors: Doors) => Promise<T>, patienceMs: number): Promise<Answer<T>> {
    const { world } = this.#options;
    const { doors } = this;
    if (!doors) return { kind: 'silence' };
    const answer = request(doors).then(
      (value): Answer<T> => ({ kind: 'answered', value }),
      (error: unknown): Answer<T> => this.#refusal(error),
    );
    const silence = world.wait(patienceMs).then((): Answer<T> => ({ kind: 'silence' }));
    return Promise.race([answer, silence]);
  }

  /** Forgets every process, once all is judged. */
  async discard(): Promise<void> {
    for (const process of this.#started) {
      process.kill();
      process.discard();
    }
    for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
    this.machine.close();
  }

  #refusal<T>(error: unknown): Answer<T> {
    if (error instanceof Refusal) {
      const comesBack = error.reason === 'NOT_READY' || error.reason === 'TOO_MANY_REQUESTS';
      return comesBack ? { kind: 'silence' } : { kind: 'refused', refusal: error };
    }
    if (!(error instanceof StreamUnavailable) && !isInjected(error)) {
      this.#options.onBug('a request', error);
    }
    return { kind: 'silence' };
  }

  /** Starts a process whenever there is none. */
  #watch(): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) this.#startProcess();
    const health = this.doors?.host.health();
    if (health?.state === 'stopped') {
      this.#options.onBug('the host has stopped for good', new Error(health.reason));
    }
    world.in(this.#isWell ? 200 : this.#dice.between(200, 20_000), () => this.#watch());
  }

  #startProcess(): void {
    const { world } = this.#options;
    const process = new Process({
      ...this.#options,
      machine: this.machine,
      number: this.#started.length + 1,
    });
    this.#process = process;
    this.#started.push(process);
    const { length: number } = this.#started;
    world.trace(() => `process ${number} starts`);
    process.start().then(
      () => world.trace(() => `process ${number} is up`),
      (error: unknown) => {
        if (error instanceof HistoryMismatch || !isInjected(error)) {
          this.#options.onBug('the start', error);
        }
        process.kill();
      },
    );
  }

  #kill(): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) return;
    world.count('killed');
    world.trace(() => 'the process is killed');
    this.#process.kill();
  }

  #restart(): void {
    const process = this.#process;
    if (!process?.isAlive || !process.doors) return;
    this.#options.world.count('restarted');
    this.#options.world.trace(() => 'the process is asked to stop');
    process.stop().catch((error: unknown) => {
      if (!isInjected(error)) this.#options.onBug('the stop', error);
      process.kill();
    });
    // One that does not come to an end is killed, as the service manager does.
    this.#options.world.in(40_000, () => process.kill());
  }

  #outage(): void {
    const { world, wire } = this.#options;
    world.count('stream out of reach');
    wire.outageUntilMs = world.elapsedMs + this.#dice.between(1_000, 150_000);
    world.trace(() => `the stream is out of reach until ${Math.round(wire.outageUntilMs)}`);
  }

  #jump(): void {
    const { world } = this.#options;
    const { skew } = this.machine;
    world.count('clock jump');
    skew.ms = Math.round(this.#dice.between(-300_000, 300_000));
    world.trace(() => `the machine's clock is ${skew.ms} ms ahead`);
    world.in(this.#dice.between(1_000, 240_000), () => {
      skew.ms = 0;
      world.trace(() => "the machine's clock is set right");
    });
  }

  #freeze(): void {
    const { world } = this.#options;
    if (!this.#process?.isAlive) return;
    world.count('frozen');
    const ms = this.#dice.between(1_000, 120_000);
    world.trace(() => `the process stands still for ${Math.round(ms)} ms`);
    this.#process.frozenUntilMs = world.elapsedMs + ms;
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
