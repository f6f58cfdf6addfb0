/**
 * One process acts on a set of streams at a time. Whoever acts has its record on `MEMBERS` and
 * renews it every two seconds, each time expecting the record before to be its own; another
 * process sees the record move and is refused.
 *
 * No two clocks are compared. A newcomer takes over after it has itself watched a record stand still
 * for 12 s, and only as the successor of that very record. The holder counts from the moment it
 * *sent* its last renewal that was answered, and stops acting after 8 s: before anybody could have
 * taken over. Both count elapsed time, which no correction of a calendar clock moves.
 *
 * It is a lease for liveness. What makes a message harmless that was on its way when its process
 * was suspended is the predecessor in each commit (`streams/platform/commit/chain.ts`).
 */
import type { Clock } from './clock.ts';
import { pause } from './pause.ts';
import { type Random, ulid } from './random.ts';
import {
  type Consumer,
  type ConsumerSpec,
  type Delivery,
  type Stream,
  type StreamHealth,
  StreamMisconfigured,
  type StreamSpec,
  StreamUnavailable,
} from './stream.ts';

/** Records of the processes that act on these streams; an old record says nothing. */
export const membersSpec: StreamSpec = {
  name: 'MEMBERS',
  subjects: ['svc.members.*'],
  retention: 'log',
  // Only bounds the stream: whether a record is stale is never judged by its age.
  maxAgeMs: 3_600_000,
  duplicateWindowMs: 60_000,
  replicas: 1,
};

const SUBJECT = 'svc.members.sole';
const RENEW_MS = 2_000;
/** Without a renewal for so long, nothing is done any more. */
const ACT_MS = 8_000;
/** A record that stands still for so long is stale: `ACT_MS` and a wide margin. */
const STALE_MS = 12_000;
const LOOK_MS = 500;
/** Looks further apart than this have not watched: the server was out of reach meanwhile. */
const LOOK_GAP_MS = 3_000;

/** Who acts, for the sentence that another process is refused with. Nothing in it is a secret. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Unix ms. */
  readonly startedMs: number;
  readonly dataFolder: string;
  readonly publicUrl: string | null;
  /**
   * What only one living process can hold at a time, here the lock of the data folder: a record with
   * the own one is of a process that has ended. Absent where that cannot be known.
   */
  readonly lock?: string;
}

interface MemberRecord extends ProcessIdentity {
  /** Unlike any other start's. */
  readonly process: string;
  /** `released`: it has stopped and acts no more. */
  readonly state: 'acting' | 'released';
}

interface Found {
  readonly sequence: number;
  /** undefined: not a record that this version can read. */
  readonly record: MemberRecord | undefined;
}

/** Another process acts on the same streams; the message names it and says what to do. */
export class StreamsInUse extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StreamsInUse';
  }
}

export interface SoleProcess {
  /** The streams, for as long as this process may act: see `leasedStream`. */
  readonly stream: Stream;
  /** Resolves when another process has taken over; never otherwise. */
  readonly lost: Promise<Error>;
  /** Stops renewing and, where it still may act, says so: a successor need not wait. */
  release(): Promise<void>;
}

export interface SoleProcessOptions {
  readonly stream: Stream;
  readonly clock: Clock;
  readonly random: Random;
  readonly self: ProcessIdentity;
  /** What the streams are on, for sentences: `NATS at 127.0.0.1:4222`. */
  readonly where: string;
  /** Takes the sentence about a record that may be stale, and has to be watched first. */
  readonly onWait: (sentence: string) => void;
}

/**
 * Takes the streams for this process: at once where nobody has them, or where its record is of a
 * process that has certainly ended; else once its record has stood still for 12 s. Changes nothing
 * before that. Throws `StreamsInUse`, and what the stream throws.
 */
export async function becomeSoleProcess(options: SoleProcessOptions): Promise<SoleProcess> {
  const { stream, clock, random, self } = options;
  await stream.ensure(membersSpec);
  const record: MemberRecord = {
    ...self,
    process: ulid(clock.now(), random),
    state: 'acting',
  };
  const predecessor = await untilFree(options);
  const sentMs = clock.elapsed();
  const outcome = await write(stream, record, predecessor, 'first');
  if (outcome.kind === 'wrongLastSequence') {
    throw new StreamsInUse(inUse(options.where, (await lastRecord(stream))?.record));
  }
  return new Lease(options, record, { sequence: outcome.sequence, sentMs });
}

/** Sequence of the record to succeed, 0 where there is none. */
async function untilFree(options: SoleProcessOptions): Promise<number> {
  const { stream, clock, self, where, onWait } = options;
  const first = await lastRecord(stream);
  if (first === undefined) return 0;
  if (hasEnded(first.record, self)) return first.sequence;
  onWait(
    `${where} was last used by ${nameOf(first.record)}: this start waits up to ` +
      `${STALE_MS / 1000} s to see whether that one is still there`,
  );
  let sinceMs = clock.elapsed();
  for (let lookMs = sinceMs; clock.elapsed() - sinceMs < STALE_MS; ) {
    await pause(clock, LOOK_MS);
    const { lastSequence } = await stream.state(membersSpec.name);
    if (lastSequence !== first.sequence) {
      const found = await lastRecord(stream);
      if (found === undefined) return 0;
      if (hasEnded(found.record, self)) return found.sequence;
      throw new StreamsInUse(inUse(where, found.record));
    }
    if (clock.elapsed() - lookMs > LOOK_GAP_MS) sinceMs = clock.elapsed();
    lookMs = clock.elapsed();
  }
  return first.sequence;
}

function hasEnded(record: MemberRecord | undefined, self: ProcessIdentity): boolean {
  if (record === undefined) return false;
  return record.state === 'released' || (self.lock !== undefined && record.lock === self.lock);
}

class Lease implements SoleProcess {
  readonly stream: Stream;
  readonly lost: Promise<Error>;
  readonly #options: SoleProcessOptions;
  readonly #record: MemberRecord;
  readonly #stop = new AbortController();
  readonly #renewing: Promise<void>;
  #lose: (error: Error) => void = () => {};
  #loss: Error | undefined;
  #sequence: number;
  /** Elapsed time until which this process may act. */
  #actUntilMs: number;
  #fault = 'it has not been able to say that it is still there';

  constructor(
    options: SoleProcessOptions,
    record: MemberRecord,
    written: { readonly sequence: number; readonly sentMs: number },
  ) {
    this.#options = options;
    this.#record = record;
    this.#sequence = written.sequence;
    this.#actUntilMs = written.sentMs + ACT_MS;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    this.stream = leasedStream(options.stream, () => this.#reason());
    this.#renewing = this.#renew();
  }

  async release(): Promise<void> {
    this.#stop.abort();
    await this.#renewing;
    if (this.#reason() !== undefined) return;
    const { stream } = this.#options;
    this.#loss = new Error('this process has let go of the streams');
    const released: MemberRecord = { ...this.#record, state: 'released' };
    await write(stream, released, this.#sequence, 'last').catch(ignoreUnavailable);
  }

  /** Why nothing may be done now; undefined: it may. */
  #reason(): string | undefined {
    if (this.#loss !== undefined) return this.#loss.message;
    if (this.#options.clock.elapsed() < this.#actUntilMs) return undefined;
    return `This process may have been replaced, and acts no more until it knows: ${this.#fault}`;
  }

  async #renew(): Promise<void> {
    const { clock, stream } = this.#options;
    for (let count = 1; !this.#stop.signal.aborted && this.#loss === undefined; count++) {
      await pause(clock, RENEW_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      const sentMs = clock.elapsed();
      try {
        const outcome = await write(stream, this.#record, this.#sequence, String(count));
        if (outcome.kind === 'wrongLastSequence') await this.#adopt();
        else {
          this.#sequence = outcome.sequence;
          this.#actUntilMs = sentMs + ACT_MS;
        }
      } catch (error) {
        // Also of a stream that is gone: what is left of the store is an operator's to judge.
        this.#fault = error instanceof Error ? error.message : String(error);
      }
    }
  }

  /** Looks whose record came between: an own one whose answer was lost, or a successor's. */
  async #adopt(): Promise<void> {
    const { stream, where } = this.#options;
    const found = await lastRecord(stream);
    if (found === undefined) this.#sequence = 0;
    else if (found.record?.process === this.#record.process) this.#sequence = found.sequence;
    else {
      const since = new Date(this.#options.clock.now()).toISOString();
      this.#loss = new StreamsInUse(
        `${where} was taken over by ${nameOf(found.record)}, noticed at ${since}: this process ` +
          `could not say for ${STALE_MS / 1000} s that it was still there, and ends`,
      );
      this.#lose(this.#loss);
    }
  }
}

function write(
  stream: Stream,
  record: MemberRecord,
  expectedLastSubjectSequence: number,
  turn: string,
) {
  return stream.append({
    stream: membersSpec.name,
    subject: SUBJECT,
    data: new TextEncoder().encode(JSON.stringify(record)),
    messageId: `${record.process} ${turn}`,
    expectedLastSubjectSequence,
  });
}

async function lastRecord(stream: Stream): Promise<Found | undefined> {
  const { lastSequence, messages } = await stream.state(membersSpec.name);
  if (messages === 0) return undefined;
  const from = { sequence: lastSequence };
  const read = stream.read({ stream: membersSpec.name, from, untilEnd: true });
  let found: Found | undefined;
  try {
    for await (const { sequence, data } of read) found = { sequence, record: parse(data) };
  } finally {
    await read.close();
  }
  return found;
}

function parse(data: Uint8Array): MemberRecord | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(data));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is MemberRecord {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Partial<Record<keyof MemberRecord, unknown>>;
  return (
    typeof fields.process === 'string' &&
    (fields.state === 'acting' || fields.state === 'released') &&
    typeof fields.host === 'string' &&
    typeof fields.pid === 'number' &&
    Number.isFinite(fields.startedMs) &&
    typeof fields.dataFolder === 'string'
  );
}

function inUse(where: string, record: MemberRecord | undefined): string {
  return (
    `${where} is in use by ${nameOf(record)}: one process at a time. Stop that one, or give this ` +
    'one a NATS, or an account of it, of its own in SVC_NATS_URL'
  );
}

function nameOf(record: MemberRecord | undefined): string {
  if (record === undefined) return 'a process of another version';
  const { host, pid, startedMs, dataFolder, publicUrl } = record;
  const address = publicUrl ? `, ${publicUrl}` : '';
  const started = new Date(startedMs).toISOString();
  return `process ${pid} on ${host} (started ${started}, data folder ${dataFolder}${address})`;
}

/**
 * The stream as a process may use it that may be replaced: what would change something is refused,
 * and deliveries stay where they are, while `reason` has one. Reading goes on.
 */
function leasedStream(stream: Stream, reason: () => string | undefined): Stream {
  const guarded = async <R>(act: () => Promise<R>): Promise<R> => {
    const why = reason();
    if (why !== undefined) throw new StreamUnavailable(why, 'refused');
    return act();
  };
  return {
    compare: (spec) => stream.compare(spec),
    ensure: (spec) => guarded(() => stream.ensure(spec)),
    state: (name) => stream.state(name),
    append: (append) => guarded(() => stream.append(append)),
    read: (options) => stream.read(options),
    consume: (spec: ConsumerSpec) =>
      guarded(async () => leasedConsumer(await stream.consume(spec), reason)),
    truncate: (options) => guarded(() => stream.truncate(options)),
    health(): StreamHealth {
      const health = stream.health();
      const why = reason();
      if (why === undefined || health.state === 'unavailable') return health;
      return { state: 'unavailable', reason: why };
    },
    close: () => stream.close(),
  };
}

function leasedConsumer(consumer: Consumer, reason: () => string | undefined): Consumer {
  return {
    close: () => consumer.close(),
    async *[Symbol.asyncIterator](): AsyncGenerator<Delivery, void, void> {
      for await (const delivery of consumer) {
        if (reason() === undefined) yield delivery;
        // Somebody else's now; where it cannot be given back it comes again by itself.
        else await delivery.nak(RENEW_MS).catch(ignoreUnavailable);
      }
    },
  };
}

function ignoreUnavailable(error: unknown): void {
  if (error instanceof StreamUnavailable || error instanceof StreamMisconfigured) return;
  throw error;
}
