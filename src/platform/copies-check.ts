/**
 * Copies of the streams in `/readyz` and in the metrics. With too few copies, or with copies that
 * are behind or away, the service works but would lose data with the next server.
 */
import type { CancelWakeUp } from '../../streams/platform/clock.ts';
import type {
  StreamCopies,
  StreamDescription,
} from '../../streams/platform/jetstream/stream-copies.ts';
import { type PartHealth, ready } from './health.ts';
import type { RoomBase } from './room-base.ts';

/** Interval between requests to the servers, ms. */
const LOOK_MS = 10_000;

/** Watches until the service closes. */
export function watchCopies(
  base: Pick<RoomBase, 'clock' | 'health' | 'metrics' | 'closers'>,
  copies: Pick<StreamCopies, 'describe'>,
): void {
  const { clock, health, metrics, closers } = base;
  let seen: readonly StreamDescription[] = [];
  let before: readonly StreamDescription[] = [];
  let cancel: CancelWakeUp = () => {};
  let isClosed = false;
  const look = async (): Promise<void> => {
    // If they do not answer, the stream's own health says more.
    const found = await copies.describe().catch(() => undefined);
    if (found !== undefined) [before, seen] = [seen, found];
    if (!isClosed) cancel = clock.wakeAfter(LOOK_MS, () => void look());
  };
  void look();
  closers.add('copies of streams', () => {
    isClosed = true;
    cancel();
  });
  health.watch({ kind: 'copies of streams' }, () => copiesHealth(seen, before));
  metrics.gauge(
    'svc_stream_copies',
    'Copies of a stream in the NATS cluster: wanted, set, and up to date',
    ['stream', 'which'],
    (gauge) => {
      for (const { name: stream, copies } of seen) {
        for (const [which, count] of Object.entries(copies)) gauge.set({ stream, which }, count);
      }
    },
  );
  metrics.gauge('svc_stream_bytes', 'Bytes of a stream on NATS', ['stream'], (gauge) => {
    for (const { name: stream, bytes } of seen) gauge.set({ stream }, bytes);
  });
}

/** A copy that is behind once is an election, or a server that is starting. */
export function copiesHealth(
  seen: readonly StreamDescription[],
  before: readonly StreamDescription[],
): PartHealth {
  const few = seen.filter(({ copies }) => copies.set < copies.wanted);
  const [first] = few;
  if (first !== undefined) {
    const { set, wanted } = first.copies;
    const names = few.map(({ name }) => name).join(', ');
    return {
      state: 'degraded',
      reason:
        `${names}: ${set} of ${wanted} copies. Run "svc admin streams --replicas ${wanted}" to make the ` +
        `others, or set SVC_STREAM_REPLICAS=${set} to accept that the loss of a server loses data`,
      summary: 'Streams have fewer copies than wanted',
    };
  }
  const wasBehind = new Set(before.filter(isBehind).map(({ name }) => name));
  const behind = seen.filter((stream) => isBehind(stream) && wasBehind.has(stream.name));
  if (behind.length === 0) return ready;
  const servers = new Set(behind.flatMap(serversBehind));
  const names = behind.map(({ name }) => name).join(', ');
  const which = servers.size === 0 ? 'they have no leader' : [...servers].sort().join(', ');
  return {
    state: 'degraded',
    summary: 'Copies of streams are behind or away',
    reason: `${names}: copies are behind or away: ${which}`,
  };
}

function isBehind({ copies }: StreamDescription): boolean {
  return copies.current < copies.set;
}

function serversBehind({ followers }: StreamDescription): string[] {
  return followers
    .filter(({ isCurrent }) => !isCurrent)
    .map(({ server, isOffline }) => `${server} is ${isOffline ? 'offline' : 'behind'}`);
}
