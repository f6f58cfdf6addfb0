/**
 * The one gate of every authenticated call (interface, section 7: concurrency is limited per
 * project). Of each class of calls a party may have a few running and some waiting, for at most 5 s;
 * what is more is refused with 429 and `Retry-After`. Calls that may run then take turns on the main
 * thread, the parties round robin. A call passes it once: what runs behind it (query threads, exports)
 * has no gate of its own.
 *
 *     call -> place of its party and class -> fair turn -> handler -> place given back
 *
 * A call that waits has read no body and holds nothing but its connection, and leaves when its
 * client hangs up.
 */
import type { ProjectLimits } from '../../actors/alerting/limits.ts';
import type { Clock } from '../../streams/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Principal } from '../auth/principal.ts';
import { CALL_CLASSES, type CallClass, classRules, type Places } from './call-classes.ts';
import { FairTurns } from './fair-turns.ts';

const WAIT_MS_MAX = 5_000;

/** Whose places a call takes. */
export interface GateCaller {
  /** `projects/<id>`; of calls that belong to no project, the name of the person or collector. */
  readonly party: string;
  /** Resource name of who calls. */
  readonly name: string;
}

/** Whose places a call takes, as far as its credentials say; `project` once it is known. */
export function gateCallerOf(principal: Principal, project?: string): GateCaller {
  const { name } = principal;
  if (project !== undefined) return { party: `projects/${project}`, name };
  // A collector for all projects, as a person, is a party of its own.
  const isOfProject = principal.kind !== 'human' && principal.project !== SYSTEM_PROJECT;
  return { party: isOfProject ? `projects/${principal.project}` : name, name };
}

/** A place that a call holds. */
export interface Pass {
  /** Gives the place back; harmless on a second call. */
  readonly release: () => void;
}

export interface ProjectGate {
  /**
   * Resolves when the call may run. Throws a `Refusal` TOO_MANY_REQUESTS, or the reason of `signal`:
   * the client has gone.
   */
  enter(caller: GateCaller, kind: CallClass, signal: AbortSignal): Promise<Pass>;
  /** Resolves at the party's next turn on the main thread: for work that goes on in slices. */
  turn(party: string): Promise<void>;
  /** What the party has running of a class now. */
  running(party: string, kind: CallClass): number;
  /** Of all parties. */
  counts(): Readonly<Record<CallClass, { readonly running: number; readonly waiting: number }>>;
}

export interface ProjectGateOptions {
  readonly clock: Clock;
  readonly limits: (party: string) => ProjectLimits;
  /** Told of each refusal. */
  readonly onRefusal?: (limit: string, kind: CallClass) => void;
}

interface Lane {
  running: number;
  /** Oldest first. Each lets one call go. */
  readonly waiting: Set<() => void>;
  /** How many of `running` each caller has; only where a class bounds that. */
  readonly ofCallers: Map<string, number>;
}

export function createProjectGate(options: ProjectGateOptions): ProjectGate {
  return new Gate(options);
}

class Gate implements ProjectGate {
  readonly #options: ProjectGateOptions;
  readonly #turns: FairTurns;
  readonly #lanes = new Map<CallClass, Map<string, Lane>>(
    CALL_CLASSES.map((kind) => [kind, new Map()]),
  );

  constructor(options: ProjectGateOptions) {
    this.#options = options;
    this.#turns = new FairTurns(options.clock);
  }

  async enter(caller: GateCaller, kind: CallClass, signal: AbortSignal): Promise<Pass> {
    signal.throwIfAborted();
    const pass = await this.#place(caller, kind, signal);
    try {
      if (classRules[kind].takesTurn) await this.#turns.take(caller.party);
      signal.throwIfAborted();
      return pass;
    } catch (error) {
      pass.release();
      throw error;
    }
  }

  turn(party: string): Promise<void> {
    return this.#turns.take(party);
  }

  running(party: string, kind: CallClass): number {
    return this.#lanes.get(kind)?.get(party)?.running ?? 0;
  }

  counts(): ReturnType<ProjectGate['counts']> {
    const entries = [...this.#lanes].map(([kind, lanes]) => {
      const counts = { running: 0, waiting: 0 };
      for (const { running, waiting } of lanes.values()) {
        counts.running += running;
        counts.waiting += waiting.size;
      }
      return [kind, counts] as const;
    });
    // Each class has its lanes from the start.
    return Object.fromEntries(entries) as ReturnType<ProjectGate['counts']>;
  }

  async #place({ party, name }: GateCaller, kind: CallClass, signal: AbortSignal): Promise<Pass> {
    const places = classRules[kind].places(this.#options.limits(party));
    const lane = this.#lane(kind, party);
    const ofCaller = lane.ofCallers.get(name) ?? 0;
    if (places.ofCaller !== undefined) {
      if (ofCaller >= places.ofCaller) {
        this.#letGo(lane, kind, party);
        throw this.#refusal(kind, places, 'caller');
      }
      lane.ofCallers.set(name, ofCaller + 1);
    }
    try {
      if (lane.running < places.running) lane.running++;
      else if (lane.waiting.size < places.waiting) await this.#wait(lane, kind, places, signal);
      else throw this.#refusal(kind, places, 'project');
    } catch (error) {
      this.#forget({ lane, kind, party, name });
      throw error;
    }
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = lane.waiting;
      if (next === undefined) lane.running--;
      else next();
      this.#forget({ lane, kind, party, name });
    };
    return { release };
  }

  /** Resolves with a place taken over from a call that ended. */
  async #wait(lane: Lane, kind: CallClass, places: Places, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const enter = () => {
      lane.waiting.delete(enter);
      resolve();
    };
    const leave = (reason: unknown) => {
      // Who is no longer in the queue has been given a place already.
      if (lane.waiting.delete(enter)) reject(reason);
    };
    lane.waiting.add(enter);
    const cancel = this.#options.clock.wakeAfter(WAIT_MS_MAX, () =>
      leave(this.#refusal(kind, places, 'project')),
    );
    const onAbort = () => leave(signal.reason);
    signal.addEventListener('abort', onAbort);
    try {
      await promise;
    } finally {
      cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  #lane(kind: CallClass, party: string): Lane {
    const lanes = this.#lanes.get(kind);
    const lane = lanes?.get(party) ?? { running: 0, waiting: new Set(), ofCallers: new Map() };
    lanes?.set(party, lane);
    return lane;
  }

  /** Takes the caller's own count back. */
  #forget(of: { lane: Lane; kind: CallClass; party: string; name: string }): void {
    const { lane, kind, party, name } = of;
    const count = lane.ofCallers.get(name) ?? 0;
    if (count > 1) lane.ofCallers.set(name, count - 1);
    else lane.ofCallers.delete(name);
    this.#letGo(lane, kind, party);
  }

  /** Forgets a lane in which nothing is left. */
  #letGo(lane: Lane, kind: CallClass, party: string): void {
    if (lane.running === 0 && lane.waiting.size === 0) this.#lanes.get(kind)?.delete(party);
  }

  #refusal(kind: CallClass, places: Places, whose: 'project' | 'caller'): Refusal {
    const { limit, retryAfterSeconds } = classRules[kind];
    this.#options.onRefusal?.(limit, kind);
    const message =
      kind === 'stream'
        ? `${(whose === 'caller' ? places.ofCaller : undefined) ?? places.running} streams of the ${whose} are open: close one, or ask the operator for more`
        : `${places.running} calls of the project run and ${places.waiting} may wait: ask again later, with fewer at once`;
    const metadata = { limit, class: kind, retryAfterSeconds: String(retryAfterSeconds) };
    return new Refusal('TOO_MANY_REQUESTS', message, metadata);
  }
}
