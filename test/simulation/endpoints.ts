/**
 * The receivers of notifications: endpoints that accept, fail, hang, answer late, accept and lose
 * the answer, ask for a retry later, or refuse permanently. It stores each request byte for byte,
 * with the time, to compare it with the service's records.
 */

import { createHash } from 'node:crypto';
import type {
  AttemptOutcome,
  AttemptRequest,
  Notifier,
  Target,
} from '../../actors/delivery/notifier-port.ts';
import { limitsOf } from '../../src/delivery/notify/kinds.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Dice } from './dice.ts';
import type { Owner, World } from './world.ts';

const MODES = [
  'accepts',
  'unreachable',
  'fails',
  'hangs',
  'late',
  'answer lost',
  'busy',
  'gone',
] as const;
type Mode = (typeof MODES)[number];

/** One request that reached an endpoint. */
export interface Received {
  readonly elapsedMs: number;
  readonly address: string;
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly event: string;
  /** SHA-256 of the body. */
  readonly digest: string;
  /** True if it accepted the message permanently, even if its answer got lost. */
  readonly accepted: boolean;
  /** Name of the member that sent it. */
  readonly member: string;
  /** Outcome that the sender observed, and when; absent if the sender died before it. */
  readonly answered: { outcome: AttemptOutcome['kind'] | 'nothing'; elapsedMs: number };
}

/** A process, as receivers see it. */
export interface Sender extends Owner {
  /** Name of its member. */
  readonly member: string;
}

/** All receivers; they outlive every process. */
export class Outside {
  readonly received: Received[] = [];
  /** Number of attempts abandoned before a byte was sent. */
  unsent = 0;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #modes = new Map<string, Mode>();

  constructor(world: World) {
    this.#world = world;
    this.#dice = world.dice.fork('outside');
  }

  /** Changes the behaviour of some endpoint. */
  change(): void {
    const addresses = [...this.#modes.keys()];
    if (addresses.length === 0) return;
    const mode = this.#dice.pick(MODES);
    const address = this.#dice.pick(addresses);
    this.#modes.set(address, mode);
    this.#world.count(`endpoint: ${mode}`);
    this.#world.trace(() => `endpoint ${address} from now on: ${mode}`);
  }

  /** Makes all endpoints accept. */
  heal(): void {
    for (const address of this.#modes.keys()) this.#modes.set(address, 'accepts');
  }

  /** The notifier of a process. */
  notifier(owner: Sender, clock: Clock): Notifier {
    return {
      sendsTo: () => true,
      limitsOf,
      attempt: (request) => this.#attempt(request, owner, clock),
      async close() {},
    };
  }

  async #attempt(request: AttemptRequest, owner: Sender, clock: Clock): Promise<AttemptOutcome> {
    const world = this.#world;
    const dice = this.#dice;
    const address = addressOf(request.target);
    const mode = this.#modes.get(address) ?? 'accepts';
    this.#modes.set(address, mode);
    if (mode === 'unreachable') {
      await world.wait(dice.between(1, 3_000), owner);
      return failed('The connection was refused', false);
    }
    // Connecting takes time; nothing is sent after the deadline.
    await world.wait(dice.between(0, 40), owner);
    const leftMs = request.deadlineElapsedMs - clock.elapsed();
    if (leftMs <= 0) {
      this.unsent++;
      return failed('There was no time left to send it', false);
    }
    const accepted = mode === 'accepts' || mode === 'late' || mode === 'answer lost';
    const received = this.#receive(request, { address, accepted, member: owner.member });
    const answerMs = mode === 'late' ? dice.between(2_000, 14_000) : dice.between(1, 150);
    if (mode === 'hangs' || answerMs > leftMs) {
      await world.wait(leftMs, owner);
      return failed('No answer in time', true);
    }
    await world.wait(answerMs, owner);
    const outcome = this.#answer(mode, request);
    received.answered.outcome = outcome.kind;
    received.answered.elapsedMs = world.elapsedMs;
    return outcome;
  }

  #receive(
    request: AttemptRequest,
    about: Pick<Received, 'address' | 'accepted' | 'member'>,
  ): Received {
    const { deliveryId, attemptId, event, body } = request;
    const digest = createHash('sha256').update(body).digest('hex');
    const { elapsedMs } = this.#world;
    const ids = { elapsedMs, deliveryId, attemptId, event, digest };
    const received: Received = { ...ids, ...about, answered: { outcome: 'nothing', elapsedMs } };
    this.received.push(received);
    const { address, member } = about;
    this.#world.trace(() => {
      return `${address} receives ${event} ${deliveryId} in ${attemptId} from ${member}`;
    });
    return received;
  }

  #answer(mode: Mode, { target }: AttemptRequest): AttemptOutcome {
    const dice = this.#dice;
    switch (mode) {
      case 'fails':
        return { ...failed('HTTP 500', false), httpStatus: 500 };
      case 'busy': {
        const retryAfterMs = dice.between(1_000, 120_000);
        return { ...failed('HTTP 429', false), httpStatus: 429, slows: true, retryAfterMs };
      }
      case 'answer lost':
        return failed('The connection broke off', true);
      case 'gone':
        return target.kind === 'email'
          ? { kind: 'refused', error: '550', pauseDestination: false, bounced: true }
          : { kind: 'refused', httpStatus: 410, error: 'Gone', pauseDestination: dice.chance(0.5) };
      default:
        return { kind: 'accepted', httpStatus: 200 };
    }
  }
}

/** Address of an attempt, as the oracles name it. */
function addressOf(target: Target): string {
  return 'address' in target ? target.address : target.url;
}

function failed(error: string, unknown: boolean) {
  return { kind: 'failed', unknown, error } as const;
}
