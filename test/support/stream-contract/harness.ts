/** The environment of an adapter that the stream contract needs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedStream } from '../../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { type Clock, systemClock, VirtualClock } from '../../../streams/platform/clock.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import type { Stream } from '../../../streams/platform/stream.ts';
import type { NatsCluster } from '../nats-cluster.ts';
import type { NatsServer } from '../nats-server.ts';
import { until } from '../program.ts';

export interface StreamContractHarness {
  /** The adapter under test; another object after a crash of an embedded one. */
  readonly stream: Stream;
  readonly clock: Clock;
  /** Result of `promise`, or undefined if it has none after `ms`. */
  within<T>(ms: number, promise: Promise<T>): Promise<T | undefined>;
  /** Lets `ms` pass. */
  pass(ms: number): Promise<void>;
  /** The holder of the messages dies without warning and restarts on the same store. */
  crash(): Promise<void>;
  /** A second adapter on the same store. */
  another(): Promise<Stream>;
}

/** A virtual clock and a folder: time passes on request, and a crash is an open without a close. */
export function embeddedHarness(
  folder: string,
): StreamContractHarness & { close(): Promise<void> } {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const abandoned: Stream[] = [];
  const open = () => openEmbeddedStream({ storage: `${folder}/streams.db`, clock });
  let stream = open();
  const within = async <T>(ms: number, promise: Promise<T>): Promise<T | undefined> => {
    let done = false;
    const marked = promise.finally(() => {
      done = true;
    });
    for (let passed = 0; !done && passed < ms; passed += 50) await clock.advance(50);
    for (let turns = 0; !done && turns < 5; turns++) await new Promise(setImmediate);
    return done ? marked : undefined;
  };
  return {
    get stream() {
      return stream;
    },
    clock,
    within,
    pass: (ms) => clock.advance(ms),
    async crash() {
      abandoned.push(stream);
      stream = open();
    },
    another: async () => open(),
    async close() {
      for (const one of [stream, ...abandoned]) await one.close();
    },
  };
}

/** The wall clock and a real server: a crash is a SIGKILL and a restart on the same store. */
export function jetStreamHarness(
  server: NatsServer,
): Promise<StreamContractHarness & { close(): Promise<void> }> {
  return harnessOf(
    () => openJetStream({ url: server.url, clock: systemClock, leaderMs: 2_000 }),
    async () => {
      await server.kill();
      await server.start();
    },
  );
}

/** The same on three servers, which are killed and restarted one after another. */
export function clusterHarness(
  cluster: NatsCluster,
): Promise<StreamContractHarness & { close(): Promise<void> }> {
  let turn = 0;
  return harnessOf(
    () => openJetStream({ url: cluster.urls, clock: systemClock }),
    async () => {
      const server = cluster.servers[turn++ % cluster.servers.length];
      await server?.kill();
      await server?.start();
      await cluster.untilWhole();
    },
  );
}

async function harnessOf(
  open: () => Promise<Stream>,
  crash: () => Promise<void>,
): Promise<StreamContractHarness & { close(): Promise<void> }> {
  const stream = await open();
  const pass = (ms: number) => sleep(ms);
  return {
    stream,
    clock: systemClock,
    async within(ms, promise) {
      const timeout = new AbortController();
      const passed = sleep(ms, undefined, { signal: timeout.signal }).catch(() => undefined);
      // Otherwise each wait would keep the process alive to its end.
      return Promise.race([promise, passed]).finally(() => timeout.abort());
    },
    pass,
    async crash() {
      await crash();
      await until('the stream is available again', () => {
        return stream.health().state === 'available' || undefined;
      });
    },
    another: open,
    close: () => stream.close(),
  };
}
