/**
 * The node of a replay: the real host, its machines and their timers, on a stream and a store in
 * memory, under a clock that only moves on request. Notifications pass the real recheck and the
 * real attempt. Only the endpoint is simulated: it accepts at once.
 */
import { createHash } from 'node:crypto';
import { decideEdge, submitInParts } from '../../actors/alerting/incident.ts';
import { retireInstances } from '../../actors/alerting/rule-instances.ts';
import type { AttemptDeps } from '../../actors/delivery/attempt.ts';
import { expandAlerting } from '../../actors/delivery/audience.ts';
import type { RenderedBody } from '../../actors/delivery/bodies.ts';
import { openAttempt } from '../../actors/delivery/opening.ts';
import { recordOutcomes } from '../../actors/delivery/outcome.ts';
import { nextAttemptOf, outstandingDeliveries } from '../../actors/delivery/queues.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import type { Draft } from '../../actors/platform/host/host-port.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { type Clock, VirtualClock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import type { Edge } from '../../streams/telemetry/entry.ts';
import { limitsOf } from '../delivery/notify/kinds.ts';

const replayActor: Actor = { kind: 'service', name: 'replay' };
/** Maximum edges decided by one commit; halved if they are too large together. */
const EDGES_MAX = 50;
const TIMERS_MAX = 500;
/** The body if bodies are not displayed. */
export const EMPTY: RenderedBody = {
  bytes: new Uint8Array(),
  digest: createHash('sha256').digest('hex'),
  isKept: true,
};
const NO_BODIES: AttemptDeps['bodies'] = { of: () => Promise.resolve(EMPTY), hold: () => {} };

export class ReplayNode {
  readonly host: RunningHost;
  readonly #project: string;
  readonly #clock: VirtualClock;
  readonly #attempts: AttemptDeps;
  readonly #close: () => Promise<void>;

  private constructor(parts: {
    host: RunningHost;
    project: string;
    clock: VirtualClock;
    attempts: AttemptDeps;
    close: () => Promise<void>;
  }) {
    this.host = parts.host;
    this.#project = parts.project;
    this.#clock = parts.clock;
    this.#attempts = parts.attempts;
    this.#close = parts.close;
  }

  /**
   * A node with a clock at `startMs`, Unix ms.
   * @param bodiesAt renders the messages, by the node's clock; default: empty bodies
   */
  static async open(
    project: string,
    startMs: number,
    bodiesAt: (clock: Clock) => AttemptDeps['bodies'] = () => NO_BODIES,
  ): Promise<ReplayNode> {
    const clock = new VirtualClock(startMs);
    const random = seededRandom(1);
    const database = openDatabase({ path: ':memory:', synchronous: 'NORMAL', migrations: [] });
    const stream = openEmbeddedStream({ storage: database, clock, random });
    const store = openInstanceStore(database);
    const host = createHost({
      stream,
      store,
      clock,
      random,
      node: 'replay',
      machines: machineDefinitions,
      expand: expandAlerting,
    });
    await host.start();
    return new ReplayNode({
      host,
      project,
      clock,
      attempts: {
        host,
        clock,
        random,
        notifier: {
          sendsTo: () => true,
          limitsOf,
          attempt: () => Promise.resolve({ kind: 'accepted', httpStatus: 200 }),
          close: () => Promise.resolve(),
        },
        contents: { target: async () => ({ kind: 'webhook', url: '', secrets: [] }) },
        bodies: bodiesAt(clock),
        excerpts: { add: () => {} },
        onFault: (_, error) => {
          throw error;
        },
      },
      async close() {
        await host.stop();
        await stream.close();
        database.close();
      },
    });
  }

  submit<T>(decide: (draft: Draft) => T, project = this.#project): Promise<{ readonly answer: T }> {
    return this.host.submit({ project, by: replayActor, decide });
  }

  /** Moves the clock to `atMs`, and fires what becomes due on the way, above all reminders. */
  async moveTo(atMs: number): Promise<void> {
    for (;;) {
      const dueMs = this.host.nextTimerDueMs();
      if (dueMs === undefined || dueMs > atMs) break;
      await this.#advanceTo(dueMs);
      const due = this.host.dueTimers(this.#clock.now(), TIMERS_MAX);
      for (const timer of due) await this.host.fireTimer(timer, replayActor);
      await this.#deliver();
    }
    await this.#advanceTo(atMs);
  }

  /** Decides edges like the running evaluator, and sends the deliveries that become due. */
  async decide(edges: readonly Edge[]): Promise<void> {
    for (let start = 0; start < edges.length; start += EDGES_MAX) {
      await submitInParts(edges.slice(start, start + EDGES_MAX), (part) =>
        this.submit((draft) => {
          for (const edge of part) decideEdge(draft, edge);
        }),
      );
    }
    if (edges.length > 0) await this.#deliver();
  }

  /** Retires the instances of retired VMs. */
  async retireInstances(): Promise<void> {
    await retireInstances(this.host, this.#project);
    await this.#deliver();
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #advanceTo(atMs: number): Promise<void> {
    const now = this.#clock.now();
    if (atMs > now) await this.#clock.advance(atMs - now);
  }

  async #deliver(): Promise<void> {
    const { due } = await outstandingDeliveries(this.host);
    for (const row of due) {
      const { project, instance: delivery } = row;
      const attempt = nextAttemptOf(row) ?? 1;
      const opened = await openAttempt(this.#attempts, { project, delivery, attempt });
      if (opened.kind !== 'open') continue;
      const outcome = { kind: 'accepted', httpStatus: 200 } as const;
      const ended = { ...opened.attempt, outcome, durationMs: 0 };
      await recordOutcomes(this.#attempts, project, [ended]);
    }
  }
}
