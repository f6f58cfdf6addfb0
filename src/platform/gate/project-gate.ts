/**
 * The one gate of every authenticated call (LIMIT-08: concurrency is limited per project). Each
 * tenant may run a few calls per class. More of them wait: up to 5 s and bounded by their number,
 * or, for reads that threads answer, up to 10 s and bounded by their memory (LIMIT-22). Others are
 * refused with 429 and `Retry-After`. Admitted calls take turns on the main thread, round robin by
 * tenant. A call passes the gate once: query threads and exports behind it have no gate of their
 * own.
 *
 *     body arriving -> slot of its tenant and class -> fair turn -> handler -> slot released
 */
import type { Host } from '../../../actors/platform/host/host-port.ts';
import {
  DEFAULT_LIMITS,
  type ProjectLimits,
  ProjectLimitsReader,
} from '../../../actors/platform/project-limits.ts';
import { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { callingOnAbort } from '../../../streams/platform/deadline.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Principal } from '../access/principal.ts';
import { BODY_BYTES_MAX } from '../http-limits.ts';
import type { Metrics } from '../metrics.ts';
import { CALL_CLASSES, type CallClass, classRules, type Slots } from './call-classes.ts';
import { CallQueue, FairTurns } from './fair-queue.ts';
import { type WaitingRequest, WaitingRequests } from './waiting-requests.ts';

/** Maximum memory of all tenants' requests that wait for a slot, bytes. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Memory of a waiting call besides its request, bytes: its connection, its timer and its objects in
 * the framework.
 */
export const WAITING_CALL_BYTES = 16 * 1024;

/** Owner of the slots that a call takes. */
export interface GateCaller {
  /** Its calls share slots: `projects/<id>`, or a person or collector whose calls have no project. */
  readonly tenant: string;
  /** Resource name of the caller. */
  readonly name: string;
}

/** Owner of a call's slots as far as its credentials tell; with `project` once it is known. */
export function gateCallerOf(principal: Principal, project?: string): GateCaller {
  const { name } = principal;
  if (project !== undefined) return { tenant: `projects/${project}`, name };
  // A collector for all projects is its own tenant, like a person.
  const isOfProject = principal.kind !== 'human' && principal.project !== SYSTEM_PROJECT;
  return { tenant: isOfProject ? `projects/${principal.project}` : name, name };
}

/** A slot that a call holds. */
export interface Pass {
  /** Releases the slot; harmless on a second call. */
  readonly release: () => void;
}

export interface ProjectGate {
  /**
   * Resolves when the call may run. Throws a `Refusal` TOO_MANY_REQUESTS, or the reason of `signal`
   * if the client disconnects.
   *
   * @param requestBytes memory of the request while the call waits; default 0
   */
  enter(
    caller: GateCaller,
    kind: CallClass,
    signal: AbortSignal,
    requestBytes?: number,
  ): Promise<Pass>;
  /**
   * Call it before reading a body of at most `bytes`; release the pass when the body has arrived or
   * failed. Throws a `Refusal` TOO_MANY_REQUESTS.
   */
  takeBody(caller: GateCaller, kind: CallClass, bytes: number): Pass;
  /** Resolves at the tenant's next turn on the main thread: for work that is done in slices. */
  turn(tenant: string): Promise<void>;
  /** Number of the tenant's running calls of a class. */
  running(tenant: string, kind: CallClass): number;
  /** Counts over all tenants. */
  counts(): Readonly<Record<CallClass, { readonly running: number; readonly waiting: number }>>;
}

export interface ProjectGateOptions {
  readonly clock: Clock;
  readonly limits: (tenant: string) => ProjectLimits;
  /** Called on each refusal. */
  readonly onRefusal?: (limit: string, kind: CallClass) => void;
}

export function createProjectGate(options: ProjectGateOptions): ProjectGate {
  return new Gate(options);
}

class Gate implements ProjectGate {
  readonly #options: ProjectGateOptions;
  readonly #turns: FairTurns;
  readonly #bodies = new BodiesUnderWay();
  readonly #waiting = new WaitingRequests(WAITING_BYTES_MAX);
  readonly #queues = new Map<CallClass, Map<string, CallQueue>>(
    CALL_CLASSES.map((kind) => [kind, new Map()]),
  );

  constructor(options: ProjectGateOptions) {
    this.#options = options;
    this.#turns = new FairTurns(options.clock);
  }

  async enter(
    caller: GateCaller,
    kind: CallClass,
    signal: AbortSignal,
    requestBytes = 0,
  ): Promise<Pass> {
    signal.throwIfAborted();
    const pass = await this.#slot(caller, { kind, signal, requestBytes });
    try {
      if (classRules[kind].takesTurn) await this.#turns.take(caller.tenant);
      signal.throwIfAborted();
      return pass;
    } catch (error) {
      pass.release();
      throw error;
    }
  }

  takeBody(caller: GateCaller, kind: CallClass, bytes: number): Pass {
    const { concurrency } = this.#options.limits(caller.tenant);
    const release = this.#bodies.tryTake(caller, bytes, concurrency);
    if (release) return { release };
    throw this.#refused(kind, 'Too many request bodies are being received: send fewer at once');
  }

  turn(tenant: string): Promise<void> {
    return this.#turns.take(tenant);
  }

  running(tenant: string, kind: CallClass): number {
    return this.#queues.get(kind)?.get(tenant)?.running ?? 0;
  }

  counts(): ReturnType<ProjectGate['counts']> {
    const entries = [...this.#queues].map(([kind, queues]) => {
      const counts = { running: 0, waiting: 0 };
      for (const { running, waiting } of queues.values()) {
        counts.running += running;
        counts.waiting += waiting;
      }
      return [kind, counts] as const;
    });
    // Each class has its queues from the start.
    return Object.fromEntries(entries) as ReturnType<ProjectGate['counts']>;
  }

  async #slot(caller: GateCaller, call: ArrivingCall): Promise<Pass> {
    const { tenant, name } = caller;
    const { kind } = call;
    const queue = this.#queue(kind, tenant);
    if (!queue.tryRun(name, this.#slots(kind, tenant))) {
      try {
        await this.#wait(queue, caller, call);
      } finally {
        this.#forget(queue, kind, tenant);
      }
    }
    let isHeld = true;
    const release = () => {
      if (!isHeld) return;
      isHeld = false;
      queue.end(name, this.#slots(kind, tenant));
      this.#forget(queue, kind, tenant);
    };
    return { release };
  }

  /** Current slots: the operator may change the limits while calls wait. */
  #slots(kind: CallClass, tenant: string): Slots {
    return classRules[kind].slots(this.#options.limits(tenant));
  }

  /** Resolves once a slot is taken. */
  async #wait(
    queue: CallQueue,
    { tenant, name }: GateCaller,
    { kind, signal, requestBytes }: ArrivingCall,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const bytes = WAITING_CALL_BYTES + requestBytes;
    const slots = this.#slots(kind, tenant);
    const start = () => {
      this.#waiting.remove(request);
      resolve();
    };
    const call = { caller: name, bytes, start };
    const leave = (why: () => unknown) => {
      // A call that is no longer in the queue already has a slot.
      if (!queue.leave(call)) return;
      this.#waiting.remove(request);
      reject(why());
    };
    const request: WaitingRequest = { tenant, bytes, refuse: () => leave(() => this.#full(kind)) };
    const outcome = queue.tryWait(call, slots);
    if (outcome !== 'waits') {
      const isCallers = outcome === 'callerHasItsShare' || queue.hasItsShare(name, slots);
      throw this.#refusal(kind, slots, isCallers ? 'caller' : 'project');
    }
    if (!this.#waiting.tryAdd(request)) {
      queue.leave(call);
      throw this.#full(kind);
    }
    const cancel = this.#options.clock.wakeAfter(classRules[kind].waitMsMax, () =>
      leave(() => this.#refusal(kind, slots, 'project')),
    );
    await callingOnAbort(signal, () => leave(() => signal.reason), promise).finally(cancel);
  }

  #queue(kind: CallClass, tenant: string): CallQueue {
    const queues = this.#queues.get(kind);
    const queue = queues?.get(tenant) ?? new CallQueue();
    queues?.set(tenant, queue);
    return queue;
  }

  /** Drops an empty queue. */
  #forget(queue: CallQueue, kind: CallClass, tenant: string): void {
    if (queue.isEmpty) this.#queues.get(kind)?.delete(tenant);
  }

  #refusal(kind: CallClass, slots: Slots, whose: 'project' | 'caller'): Refusal {
    const running = whose === 'caller' ? slots.ofCaller : slots.running;
    const waiting = whose === 'caller' ? slots.waitingOfCaller : slots.waiting;
    if (kind === 'stream') {
      const message = `${running} streams of the ${whose} are open: close one, or ask the operator for more`;
      return this.#refused(kind, message);
    }
    const seconds = classRules[kind].waitMsMax / 1000;
    const most = slots.unit === 'bytes' ? `${waiting} bytes of requests` : `${waiting}`;
    const message = `${running} calls of the ${whose} may run and ${most} may wait, each for ${seconds} s: retry later, with fewer at once`;
    return this.#refused(kind, message);
  }

  #full(kind: CallClass): Refusal {
    const message = `Waiting requests of all projects take ${WAITING_BYTES_MAX} bytes, and those of this one take the most: retry later, with fewer at once`;
    return this.#refused(kind, message);
  }

  #refused(kind: CallClass, message: string): Refusal {
    const { limit, retryAfterSeconds } = classRules[kind];
    this.#options.onRefusal?.(limit, kind);
    const metadata = { limit, class: kind, retryAfterSeconds: String(retryAfterSeconds) };
    return new Refusal('TOO_MANY_REQUESTS', message, metadata);
  }
}

/** A call that requests a slot. */
interface ArrivingCall {
  readonly kind: CallClass;
  readonly signal: AbortSignal;
  readonly requestBytes: number;
}

/** Bytes per call that may run: with the default of 8, 32 MiB and 256 bodies of a project. */
const BYTES_FOR_EACH = 4 * BODY_BYTES_MAX;
const BODIES_FOR_EACH = 32;

interface UnderWay {
  readonly bytes: number;
  readonly bodies: number;
}

const NOTHING: UnderWay = { bytes: 0, bodies: 0 };

class BodiesUnderWay {
  readonly #ofTenants = new Map<string, UnderWay>();
  readonly #ofCallers = new Map<string, UnderWay>();

  /**
   * Counts a body of at most `bytes`; a caller has half of its tenant's bound.
   *
   * @returns a function that reverts the count, harmless on a second call; undefined if there is no
   * room
   */
  tryTake(
    caller: { readonly tenant: string; readonly name: string },
    bytes: number,
    concurrency: number,
  ): (() => void) | undefined {
    const { tenant } = caller;
    const name = `${tenant} ${caller.name}`;
    const change = { bytes, bodies: 1 };
    const ofTenant = sum(this.#ofTenants.get(tenant), change);
    const ofCaller = sum(this.#ofCallers.get(name), change);
    if (!isWithin(ofTenant, concurrency) || !isWithin(ofCaller, concurrency / 2)) return undefined;
    this.#ofTenants.set(tenant, ofTenant);
    this.#ofCallers.set(name, ofCaller);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      subtract(this.#ofTenants, tenant, bytes);
      subtract(this.#ofCallers, name, bytes);
    };
  }
}

function isWithin({ bytes, bodies }: UnderWay, concurrency: number): boolean {
  return bytes <= concurrency * BYTES_FOR_EACH && bodies <= concurrency * BODIES_FOR_EACH;
}

function sum({ bytes, bodies } = NOTHING, more: UnderWay): UnderWay {
  return { bytes: bytes + more.bytes, bodies: bodies + more.bodies };
}

function subtract(counts: Map<string, UnderWay>, key: string, bytes: number): void {
  const left = sum(counts.get(key), { bytes: -bytes, bodies: -1 });
  if (left.bodies > 0) counts.set(key, left);
  else counts.delete(key);
}

/** Bounds on the calls of a project. */
export interface ProjectBounds {
  readonly gate: ProjectGate;
  readonly ingestRates: IngestRates;
  /** Counts a call refused because of a limit of its project. */
  readonly recordRefusal: (limit: string, kind: CallClass) => void;
}

/** The gate and the rates of ingest, over the current limits of each project, with metrics. */
export function openProjectBounds(options: {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
}): ProjectBounds {
  const { host, clock, metrics } = options;
  const limits = new ProjectLimitsReader(host);
  const refusals = metrics.counter(
    'svc_limit_refusals_total',
    'Calls refused because a project had reached a limit',
    ['limit', 'class'],
  );
  const recordRefusal = (limit: string, kind: CallClass): void => {
    refusals.inc({ limit, class: kind });
  };
  const gate = createProjectGate({
    clock,
    limits: (tenant) => limitsOfTenant(limits, tenant),
    onRefusal: recordRefusal,
  });
  metrics.gauge(
    'svc_gate_calls',
    'Calls that are running, or waiting for a slot of their project',
    ['class', 'state'],
    (gauge) => {
      for (const [kind, { running, waiting }] of Object.entries(gate.counts())) {
        gauge.set({ class: kind, state: 'running' }, running);
        gauge.set({ class: kind, state: 'waiting' }, waiting);
      }
    },
  );
  const ingestRates = new IngestRates({
    clock,
    limits: (project) => limits.of(project),
    onRefusal: (limit) => recordRefusal(limit, 'write'),
  });
  return { gate, ingestRates, recordRefusal };
}

const PROJECT_TENANT = /^projects\/([^/]+)$/;

/** A person, or a collector for all projects, has the default limits of a project. */
function limitsOfTenant(limits: ProjectLimitsReader, tenant: string): ProjectLimits {
  const project = PROJECT_TENANT.exec(tenant)?.[1];
  return project === undefined ? DEFAULT_LIMITS : limits.of(project);
}
