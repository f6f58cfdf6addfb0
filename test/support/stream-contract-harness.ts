/** What the stream contract needs from the surroundings of an adapter. */

import { openEmbeddedStream } from '../../sqlite/embedded-stream.ts';
import type { Clock } from '../../streams/clock.ts';
import { VirtualClock } from '../../streams/clock.ts';
import type { Stream } from '../../streams/stream.ts';

export interface StreamContractHarness {
  /** The adapter under test; another object after a crash of an embedded one. */
  readonly stream: Stream;
  readonly clock: Clock;
  /** Result of `promise`, or undefined when it has none after `ms`. */
  within<T>(ms: number, promise: Promise<T>): Promise<T | undefined>;
  /** Lets `ms` go by. */
  pass(ms: number): Promise<void>;
  /** What holds the messages dies without warning and comes back on the same store. */
  crash(): Promise<void>;
  /** A second adapter on the same store. */
  another(): Promise<Stream>;
}

/** A virtual clock and a folder: time passes when told, a crash is an open without a close. */
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
