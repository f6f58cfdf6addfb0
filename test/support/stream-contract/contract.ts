/** Tools of the stream contract: a stream for each contract, its messages, deliveries. */
import type { Test } from 'tap';
import {
  type Append,
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  type ReadFrom,
  type Stream,
  type StreamMessage,
  type StreamSpec,
  type StreamState,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { until } from '../program.ts';
import type { StreamContractHarness } from './harness.ts';

/** One behaviour of every adapter, tested on its own stream. */
export interface Contract {
  readonly title: string;
  readonly run: (t: Test, harness: StreamContractHarness) => Promise<void>;
}

/** Deadline of an event, ms. It allows for the delays of a busy machine. */
export const EVENT_MS = 120_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let streams = 0;

/** Waits for these counters: a server of a busy cluster may answer from a copy that is behind. */
export async function untilState(
  harness: StreamContractHarness,
  name: string,
  expected: Partial<Pick<StreamState, 'firstSequence' | 'lastSequence' | 'messages'>>,
): Promise<void> {
  let last: StreamState | undefined;
  await until(`${name} has ${JSON.stringify(expected)}`, async () => {
    const state = await harness.stream.state(name);
    last = state;
    const isThere = Object.entries(expected).every(
      ([field, count]) => state[field as keyof StreamState] === count,
    );
    return isThere || undefined;
  }).catch((error: Error) => {
    throw new Error(`${error.message}, not ${JSON.stringify(last)}`, { cause: error });
  });
}

/** Waits until the stream has these messages: a copy in a cluster may not have removed others yet. */
export async function untilTexts(
  read: () => Promise<readonly string[]>,
  expected: readonly string[],
): Promise<void> {
  await until(`the stream has ${expected.join() || 'no message'}`, async () => {
    return (await read()).join() === expected.join() || undefined;
  });
}

/** Creates a stream with a name of its own; `topic` makes subjects in it. */
export async function newStream(harness: StreamContractHarness, changes: Partial<StreamSpec> = {}) {
  const name = `CONTRACT_${process.pid}_${++streams}`;
  const spec: StreamSpec = {
    name,
    subjects: [`contract.${name}.>`],
    retention: 'log',
    duplicateWindowMs: 60_000,
    ...changes,
  };
  // The servers of a busy cluster may take longer than a request to elect the new stream's leader.
  await until(`the stream ${name}`, () =>
    harness.stream.ensure(spec).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StreamUnavailable) return undefined;
        throw error;
      },
    ),
  );
  const topic = (subject: string) => `contract.${name}.${subject}`;
  const append = (subject: string, text: string, rest: Partial<Append> = {}) =>
    harness.stream.append({
      stream: name,
      subject: topic(subject),
      data: encoder.encode(text),
      ...rest,
    });
  const all = (rest: { subject?: string; from?: ReadFrom } = {}) =>
    texts(harness.stream, { stream: name, ...rest });
  const consumer = (rest: Partial<ConsumerSpec> = {}): ConsumerSpec => ({
    stream: name,
    durable: 'reader',
    ackWaitMs: 30_000,
    maxAckPending: 100,
    ...rest,
  });
  return { name, spec, topic, append, all, consumer };
}

export async function collect(stream: Stream, options: { stream: string; from?: ReadFrom }) {
  const messages: StreamMessage[] = [];
  const read = stream.read({ from: { sequence: 1 }, untilEnd: true, ...options });
  for await (const message of read) messages.push(message);
  return messages;
}

async function texts(stream: Stream, options: { stream: string; from?: ReadFrom }) {
  return (await collect(stream, options)).map(text);
}

export function text(message: StreamMessage): string {
  return decoder.decode(message.data);
}

/**
 * Deliveries one at a time. `next` may be awaited repeatedly: it stays the same until it arrives.
 */
export function deliveries(harness: StreamContractHarness, consumer: Consumer) {
  const iterator = consumer[Symbol.asyncIterator]();
  let waiting: Promise<IteratorResult<Delivery>> | undefined;
  const within = async (ms: number): Promise<Delivery | undefined> => {
    waiting ??= iterator.next();
    const result = await harness.within(ms, waiting);
    if (result === undefined) return undefined;
    waiting = undefined;
    return result.done ? undefined : result.value;
  };
  const next = async (): Promise<Delivery> => {
    const delivery = await within(EVENT_MS);
    if (delivery === undefined) throw new Error(`No delivery within ${EVENT_MS} ms`);
    return delivery;
  };
  return { within, next };
}
