/**
 * Reads of a stream with several copies, over a connection that answers from a script: messages
 * that a consumer on a lagging copy omits are read from the leader.
 */
import { test } from 'tap';
import type { JetStreamConnection } from '../../streams/platform/jetstream/connection.ts';
import { JetStreamRead } from '../../streams/platform/jetstream/tail-read.ts';
import type { ReadFrom } from '../../streams/platform/stream.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');

/** A copy of a stream of four messages, which has `has[n]` of them on the n-th request. */
function connectionTo(has: readonly number[], isCluster: boolean) {
  let requested = 0;
  const messageAt = (sequence: number, delivery: number, pending: number) => ({
    subject: 'log.a',
    data: Buffer.from(`m${sequence}`),
    headers: undefined,
    info: {
      streamSequence: sequence,
      deliverySequence: delivery,
      pending,
      timestampNanos: (START_MS + sequence) * 1e6,
    },
  });
  const consumers = {
    async add(_stream: string, config: { opt_start_seq?: number }) {
      const end = has[Math.min(requested++, has.length - 1)] ?? 0;
      const first = config.opt_start_seq ?? 1;
      return { name: 'c', first, end, num_pending: Math.max(0, end - first + 1) };
    },
    getConsumerFromInfo: ({ first, end }: { first: number; end: number }) => ({
      async fetch() {
        const count = Math.max(0, end - first + 1);
        const all = Array.from({ length: count }, (_, i) =>
          messageAt(first + i, i + 1, count - i - 1),
        );
        return Object.assign(all, { close: async () => {} });
      },
    }),
  };
  const getMessage = async (_stream: string, query: { seq?: number }) => {
    const seq = query.seq ?? 4;
    return seq <= 4 ? { seq, time: new Date(START_MS + seq) } : null;
  };
  const fake = {
    closed: false,
    nats: { info: isCluster ? { cluster: 'c' } : {} },
    js: { consumers },
    manager: { consumers, streams: { getMessage } },
    ask: (send: () => Promise<unknown>) => send(),
    pause: async () => {},
    onBroken: () => () => {},
    removeConsumer() {},
  };
  return { connection: fake as unknown as JetStreamConnection, requested: () => requested };
}

async function textsOf(has: readonly number[], from: ReadFrom, isCluster = true) {
  const { connection, requested } = connectionTo(has, isCluster);
  const state = { identity: 'I', firstSequence: 1, lastSequence: 4, messages: 4 };
  const read = new JetStreamRead({
    connection,
    stream: 'LOG',
    from,
    untilEnd: true,
    state: async () => state,
    onClosed: () => {},
  });
  const texts: string[] = [];
  for await (const { data } of read) texts.push(Buffer.from(data).toString());
  return { texts, requested: requested() };
}

const all = ['m1', 'm2', 'm3', 'm4'];

test('DUR-23: a bounded read of a lagging copy returns every acknowledged message', async (t) => {
  const first = { sequence: 1 };
  t.same(await textsOf([4], first), { texts: all, requested: 1 });
  t.same(await textsOf([0, 0, 4], first), { texts: all, requested: 3 }, 'an empty copy');
  t.same(await textsOf([2, 3, 4], first), { texts: all, requested: 3 }, 'a part of it');
  const byTime = { timeMs: START_MS };
  t.same(await textsOf([0, 3, 4], byTime), { texts: all, requested: 3 }, 'by time');
  const later = await textsOf([0], { timeMs: START_MS + 10 });
  t.same(later, { texts: [], requested: 1 }, 'no message is that new');
  t.same(await textsOf([4], { sequence: 5 }), { texts: [], requested: 1 }, 'nothing after the end');
});

test('a copy that stays behind is an error, and not a shorter read', async (t) => {
  await t.rejects(textsOf([2], { sequence: 1 }), {
    name: 'StreamUnavailable',
    outcome: 'refused',
    message: 'A copy of stream LOG is behind at 2 of 3',
  });
});

test('a single server is asked only once', async (t) => {
  t.same(await textsOf([2], { sequence: 1 }, false), { texts: ['m1', 'm2'], requested: 1 });
});

/** Delivers nothing, and does not end by itself. */
function silence() {
  const ended = Promise.withResolvers<void>();
  return {
    close: async () => ended.resolve(),
    [Symbol.asyncIterator]: () => ({
      next: () => ended.promise.then(() => ({ done: true, value: undefined })),
    }),
  };
}

test('DUR-23: a read continues elsewhere after its connection breaks', {
  timeout: 600_000,
}, async (t) => {
  const { connection, requested } = connectionTo([0, 4], true);
  const breaks = new Set<() => void>();
  const { getConsumerFromInfo } = connection.js.consumers;
  // Models a server that had both the connection and the consumer.
  const firstIsSilent = {
    getConsumerFromInfo(info: Parameters<typeof getConsumerFromInfo>[0]) {
      if (requested() > 1) return getConsumerFromInfo(info);
      setImmediate(() => {
        for (const broken of breaks) broken();
      });
      return { fetch: async () => silence() };
    },
  };
  const read = new JetStreamRead({
    stream: 'LOG',
    from: { sequence: 1 },
    untilEnd: false,
    connection: Object.assign(connection, {
      js: { consumers: firstIsSilent },
      requestPatiently: (send: () => Promise<unknown>) => send(),
      onBroken(listener: () => void) {
        breaks.add(listener);
        return () => void breaks.delete(listener);
      },
    }),
    state: async () => ({ identity: 'I', firstSequence: 1, lastSequence: 4, messages: 4 }),
    onClosed: () => {},
  });
  const texts: string[] = [];
  for await (const { data } of read) {
    if (texts.push(Buffer.from(data).toString()) === all.length) await read.close();
  }
  t.same(texts, all);
  t.equal(breaks.size, 0, 'it has removed its listener');
});
