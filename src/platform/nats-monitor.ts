/**
 * Watches nats-servers through their monitoring addresses, for faults that a client of NATS cannot
 * see: a store that can no longer be written, and a `sync_interval` that acknowledges before the
 * disk has the message.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';
import { withDeadline } from '../../streams/platform/deadline.ts';
import { type PartHealth, ready } from './health.ts';
import type { RoomBase } from './room-base.ts';

/** Interval between requests to a server, ms. */
const LOOK_MS = 10_000;
const ANSWER_MS = 3_000;
const ANSWER_BYTES_MAX = 256 * 1024;

/** One nats-server, as its monitoring address describes it. */
export interface NatsServerFacts {
  /** Its name, or its address while it does not answer. */
  readonly server: string;
  /** The server's reason for being unhealthy; absent: it is healthy. */
  readonly fault?: string;
  /** Time between an acknowledgement and the disk, ms; 0: none, absent: it does not say. */
  readonly syncMs?: number;
}

/** Watches until the service closes. */
export function watchNatsServers(
  base: Pick<RoomBase, 'clock' | 'health' | 'closers'>,
  addresses: readonly string[],
): void {
  const { clock, health, closers } = base;
  const stop = new AbortController();
  let seen: readonly NatsServerFacts[] = [];
  let cancel: CancelWakeUp = () => {};
  const look = async (): Promise<void> => {
    seen = await Promise.all(addresses.map((address) => factsOf(address, clock, stop.signal)));
    if (!stop.signal.aborted) cancel = clock.wakeAfter(LOOK_MS, () => void look());
  };
  void look();
  closers.add('watch of nats-servers', () => {
    stop.abort();
    cancel();
  });
  health.watch({ kind: 'nats-servers' }, () => natsServersHealth(seen));
}

/** A nats-server in a cluster switches JetStream off when its disk is full (10076). */
const DISK = /no space left|disk quota|insufficient|\b10076\b/i;

/** The worst first: a server that stores nothing, one that is unhealthy, and a late `sync_interval`. */
export function natsServersHealth(seen: readonly NatsServerFacts[]): PartHealth {
  const unhealthy = seen.flatMap(({ server, fault }) =>
    fault === undefined ? [] : [{ server, fault, isFull: DISK.test(fault) }],
  );
  const full = unhealthy.filter(({ isFull }) => isFull);
  const [first] = full.length > 0 ? full : unhealthy;
  if (first !== undefined) {
    const others = unhealthy.filter((one) => one !== first).map(({ server }) => server);
    const also = others.length === 0 ? '' : `; ${others.join(', ')} too`;
    const advice = first.isFull
      ? '. Its disk is full or failed, as its log says: free space there, then restart that nats-server. Nothing acknowledged is lost'
      : '. See its log';
    return {
      state: 'degraded',
      reason: `nats-server ${first.server} is unhealthy: ${first.fault}${also}${advice}`,
      summary: first.isFull
        ? 'The disk of a nats-server is full or failed'
        : 'A nats-server is unhealthy',
    };
  }
  const late = seen.filter(({ syncMs = 0 }) => syncMs > 0);
  if (late.length === 0) return ready;
  const names = late.map(({ server }) => server).join(', ');
  const seconds = Math.max(...late.map(({ syncMs = 0 }) => syncMs)) / 1000;
  return {
    state: 'degraded',
    reason:
      `${names}: sync_interval is ${seconds} s, so servers that lose their power together lose what ` +
      'they acknowledged in that time. Set sync_interval: always in the block jetstream, and restart',
    summary: 'nats-servers acknowledge before their disks have the data',
  };
}

async function factsOf(
  address: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<NatsServerFacts> {
  try {
    const limit = { ms: ANSWER_MS, signal };
    return await withDeadline(clock, limit, async (due) => {
      const [varz, healthz] = await Promise.all([
        answerOf(`${address}/varz`, due),
        answerOf(`${address}/healthz`, due),
      ]);
      return readFacts(address, varz, healthz);
    });
  } catch (error) {
    const cause = error instanceof Error ? ((error.cause as Error | undefined) ?? error) : error;
    const message = cause instanceof Error ? cause.message : 'no answer';
    return { server: address, fault: `its monitoring address does not answer (${message})` };
  }
}

/** The body as JSON; an unhealthy server answers 503 with one. */
async function answerOf(url: string, signal: AbortSignal): Promise<unknown> {
  const answer = await fetch(url, { signal, redirect: 'error' });
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of answer.body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (text.length > ANSWER_BYTES_MAX) throw new Error('the answer is too long');
  }
  return JSON.parse(text) as unknown;
}

const NANOS_PER_MS = 1_000_000;

/** @param varz response of `/varz` @param healthz response of `/healthz` */
export function readFacts(address: string, varz: unknown, healthz: unknown): NatsServerFacts {
  const { server_name: name, jetstream } = fieldsOf(varz);
  const { sync_always: isAlways, sync_interval: nanos } = fieldsOf(fieldsOf(jetstream).config);
  const { status, error } = fieldsOf(healthz);
  const syncMs = isAlways === true ? 0 : typeof nanos === 'number' ? nanos / NANOS_PER_MS : null;
  return {
    server: typeof name === 'string' ? name : address,
    ...(status !== 'ok' && { fault: typeof error === 'string' ? error : String(status) }),
    ...(syncMs !== null && { syncMs }),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
