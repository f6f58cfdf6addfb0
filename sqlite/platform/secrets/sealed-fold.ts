/**
 * A member's `secrets.db` as the fold of the stream `SEALED`: it applies the stream in its order,
 * so that all members have the same values, and reads stay local.
 *
 * Erased values are missing from the stream, so a member that was away may miss an erasure.
 * Therefore erasures stay in the stream until the sweep after the next one: a member that has
 * applied the previous sweep has missed none. A member that reads a sweep whose predecessor it has
 * not applied compares its file with the whole stream.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { pause } from '../../../streams/platform/pause.ts';
import {
  type Stream,
  type StreamMessage,
  type StreamRead,
  StreamUnavailable,
} from '../../../streams/platform/stream.ts';
import { KEY_CHANGE, type KeyRing, openKeyChange } from './key-change.ts';
import { finishKeyChange } from './key-change-steps.ts';
import { keyIdOf, type Seal, type SealOptions, WrongMasterKey } from './seal.ts';
import {
  canaryKeyId,
  ERASED,
  ensureSealed,
  keyOf,
  lastOf,
  SWEPT,
  SWEPT_SUBJECT,
  sealedSpec,
  subjectOf,
} from './sealed-stream.ts';
import { type Bound, CANARY, type SealedKey, type SecretFile } from './secret-file.ts';

export interface SealedFoldOptions {
  readonly stream: Stream;
  readonly file: SecretFile;
  readonly seal: KeyRing;
  readonly random: SealOptions['random'];
  /** Stores the next key of a change where this member finds it at its next start. */
  readonly onKeyChange: (next: Uint8Array) => void;
  readonly clock: Clock;
  /** Called with a fault of applying or following; it continues by itself. */
  readonly onFault: (error: unknown) => void;
}

/** Longest wait of a write for its own message, ms. */
const FOLD_MS_MAX = 10_000;
const RETRY_MS = 1_000;
const PIPELINED_MAX = 64;
const PIPELINED_BYTES_MAX = 1 << 20;

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class SealedFold {
  readonly #options: SealedFoldOptions;
  readonly #waiting = new Set<Waiter>();
  readonly #stop = new AbortController();
  #bound: Bound = { identity: '', position: 0, sweep: 0 };
  #fault: string | undefined;
  #read: StreamRead | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SealedFoldOptions) {
    this.#options = options;
  }

  /**
   * Resolves once it has everything that was in the stream before. Throws the errors of the stream.
   */
  async start(): Promise<void> {
    await this.#begin();
    this.#running = this.#run();
    await this.caughtUp();
  }

  /** Sequence of the last applied sweep; 0 = none. */
  get sweep(): number {
    return this.#bound.sweep;
  }

  /** Why it does not follow the stream at present. */
  get fault(): string | undefined {
    return this.#fault;
  }

  async caughtUp(): Promise<void> {
    const { lastSequence } = await this.#options.stream.state(sealedSpec.name);
    await this.applied(lastSequence);
  }

  /** Resolves once the message with this sequence is applied. Rejects with `StreamUnavailable`. */
  applied(sequence: number): Promise<void> {
    if (this.#bound.position >= sequence) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { sequence, resolve, reject };
    this.#waiting.add(waiter);
    const cancel = this.#options.clock.wakeAfter(FOLD_MS_MAX, () =>
      reject(behind(this.#fault ?? `nothing arrived for ${FOLD_MS_MAX / 1000} s`)),
    );
    return promise.finally(() => {
      cancel();
      this.#waiting.delete(waiter);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#read?.close();
    await this.#running;
    for (const { reject } of this.#waiting) reject(behind('the service is stopping'));
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, onFault } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        this.#fault = error instanceof Error ? error.message : String(error);
        onFault(error);
        await pause(clock, RETRY_MS, signal);
        await this.#begin().catch(onFault);
      }
    }
  }

  /** Continues from the file's position, or takes all of a stream that the file does not know. */
  async #begin(): Promise<void> {
    const { file, stream, seal, random } = this.#options;
    const masterKey = seal.change()?.old ?? seal.masterKey();
    const { identity, lastSequence } = await ensureSealed(stream, { masterKey, random });
    const bound = file.bound();
    if (bound?.identity === identity && bound.position <= lastSequence) this.#bound = bound;
    else await this.#takeAll('adopt');
    this.#fault = undefined;
  }

  async #follow(): Promise<void> {
    const from = { sequence: this.#bound.position + 1 };
    const read = this.#options.stream.read({ stream: sealedSpec.name, from, untilEnd: false });
    this.#read = read;
    try {
      for await (const message of read) {
        if (this.#stop.signal.aborted) return;
        if (!this.#apply(message)) return await this.#takeAll('compare');
      }
    } finally {
      await read.close();
    }
  }

  /**
   * Applies the whole stream. Values that only the file has are written to the stream if the stream
   * is new to the file (`adopt`: a process joins with its own values, or the stream was lost);
   * otherwise they were erased elsewhere.
   */
  async #takeAll(mode: 'adopt' | 'compare'): Promise<void> {
    const { file, stream } = this.#options;
    // Read first: if an erasure during the read is missed, the next sweep reveals it.
    const sweep = (await lastOf(stream, SWEPT_SUBJECT))?.sequence ?? 0;
    const { identity, lastSequence } = await stream.state(sealedSpec.name);
    const shared = new Set<string>();
    let position = lastSequence;
    let canary: StreamMessage | undefined;
    const from = { sequence: 1 };
    const read = stream.read({ stream: sealedSpec.name, from, untilEnd: true });
    try {
      for await (const message of read) {
        position = Math.max(position, message.sequence);
        shared.add(message.subject);
        if (message.subject === subjectOf(CANARY)) canary = message;
        for (const key of this.#change(message).erased) shared.delete(subjectOf(key));
      }
    } finally {
      await read.close();
    }
    const missing = file.keys().filter((key) => !shared.has(subjectOf(key)));
    if (mode === 'adopt') await this.#share(missing);
    else if (file.remove(missing) > 0) file.emptyLog('soon');
    const bound = { identity, position, sweep };
    file.bind(bound);
    if (canary !== undefined) this.#finishKeyChange(canary);
    this.#advance(bound);
  }

  /** Writes the file's values to the stream; if another member writes one first, that one stays. */
  async #share(keys: readonly SealedKey[]): Promise<void> {
    const { file, stream } = this.#options;
    const values = keys.flatMap((key) => {
      const data = file.get(key);
      return data ? [{ key, data }] : [];
    });
    await pipelined(
      values,
      ({ key, data }) =>
        stream.append({
          stream: sealedSpec.name,
          subject: subjectOf(key),
          data,
          expectedLastSubjectSequence: 0,
        }),
      ({ data }) => data.length,
    );
  }

  /** False: an earlier sweep was missed, and nothing was applied. */
  #apply(message: StreamMessage): boolean {
    const { file, onFault } = this.#options;
    const { sequence } = message;
    let sweep = this.#bound.sweep;
    if (message.subject === SWEPT_SUBJECT) {
      if (previousSweep(message) !== sweep) return false;
      sweep = sequence;
    }
    const bound = { ...this.#bound, position: sequence, sweep };
    let removed = 0;
    file.transaction(() => {
      removed = this.#change(message).removed;
      file.bind(bound);
    });
    try {
      if (removed > 0) file.emptyLog('soon');
      if (message.subject === subjectOf(CANARY)) this.#finishKeyChange(message);
    } catch (error) {
      if (error instanceof WrongMasterKey) throw error;
      onFault(error);
    }
    this.#advance(bound);
    return true;
  }

  #change(message: StreamMessage): {
    readonly erased: readonly SealedKey[];
    readonly removed: number;
  } {
    const { file } = this.#options;
    const key = this.#readable(() => keyOf(message.subject));
    if (key === undefined || key.purpose === CANARY.purpose || key.purpose === SWEPT) {
      return { erased: [], removed: 0 };
    }
    if (key.purpose === KEY_CHANGE.purpose) this.#beginKeyChange(message);
    if (key.purpose !== ERASED) {
      file.put(key, message.data);
      return { erased: [], removed: 0 };
    }
    const { seal } = this.#options;
    const erased = this.#readable(() => openErasure(seal, key.id, message.data)) ?? [];
    return { erased, removed: file.remove(erased) };
  }

  #beginKeyChange({ data }: StreamMessage): void {
    const { seal, random, onKeyChange } = this.#options;
    if (seal.change() !== undefined) return;
    const own = { masterKey: seal.masterKey(), random };
    const change = this.#readable(() => openKeyChange(data, own, 'the cluster'));
    if (change === undefined) return;
    seal.begin(change);
    onKeyChange(change.next);
  }

  /** A canary ends the change to its key. Throws `WrongMasterKey` for a change that was missed. */
  #finishKeyChange({ data }: StreamMessage): void {
    const { seal, file } = this.#options;
    const wanted = canaryKeyId(data);
    const change = seal.change();
    if (change !== undefined && wanted === keyIdOf(change.old)) return;
    if (wanted !== keyIdOf(seal.masterKey())) {
      throw new WrongMasterKey(
        `The members have changed the master key to ${wanted} while this one was away: give it that ` +
          'key file, and start it again',
      );
    }
    if (change !== undefined) finishKeyChange({ file, ring: seal });
  }

  /** An unreadable message is reported and skipped: no member wrote it. */
  #readable<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      this.#options.onFault(error);
      return undefined;
    }
  }

  #advance(bound: Bound): void {
    this.#bound = bound;
    for (const { sequence, resolve } of this.#waiting) if (sequence <= bound.position) resolve();
  }
}

/** The values named by an erasure. Throws `SealBroken`. */
export function openErasure(seal: Seal, id: string, data: Uint8Array): readonly SealedKey[] {
  // It is sealed and therefore from a member, so its form needs no check.
  const subjects = JSON.parse(
    new TextDecoder().decode(seal.open(id, ERASED, data)),
  ) as readonly string[];
  return subjects.map(keyOf);
}

export function sealErasure(seal: Seal, id: string, keys: readonly SealedKey[]): Uint8Array {
  return seal.close(id, ERASED, new TextEncoder().encode(JSON.stringify(keys.map(subjectOf))));
}

function previousSweep({ data }: StreamMessage): number | undefined {
  try {
    return (JSON.parse(new TextDecoder().decode(data)) as { previous?: number }).previous;
  } catch {
    return undefined;
  }
}

function behind(why: string): StreamUnavailable {
  const message = `The members' shared secrets are incomplete here: ${why}`;
  return new StreamUnavailable(message, 'unknown');
}

/** Processes all items, a bounded number and volume at a time. */
export async function pipelined<T, R>(
  items: readonly T[],
  act: (item: T) => Promise<R>,
  bytesOf: (item: T) => number = () => 0,
): Promise<R[]> {
  const results: R[] = [];
  let group: T[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    results.push(...(await Promise.all(group.map(act))));
    group = [];
    bytes = 0;
  };
  for (const item of items) {
    const size = bytesOf(item);
    if (group.length === PIPELINED_MAX || bytes + size > PIPELINED_BYTES_MAX) await flush();
    group.push(item);
    bytes += size;
  }
  await flush();
  return results;
}
