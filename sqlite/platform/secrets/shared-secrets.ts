/**
 * The secret store of a member: its writes go, sealed, to the stream `SEALED`, and from there to
 * every member's `secrets.db`. A write resolves once this member's file has it. Last-used times are
 * kept per member.
 */
import { type Random, ulid } from '../../../streams/platform/random.ts';
import type { AppendOutcome } from '../../../streams/platform/stream.ts';
import type { KeyRing } from './key-change.ts';
import { excerptKeys, sealExcerpt, sealedReads } from './local-secrets.ts';
import { keyIdOf } from './seal.ts';
import {
  openErasure,
  pipelined,
  SealedFold,
  type SealedFoldOptions,
  sealErasure,
} from './sealed-fold.ts';
import {
  assertSharedKey,
  ERASED,
  ERASED_SUBJECTS,
  ensureSealed,
  keyOf,
  lastOf,
  SWEPT_SUBJECT,
  sealedSpec,
  subjectOf,
} from './sealed-stream.ts';
import {
  BODY,
  EXCERPT,
  lastUsedStore,
  openSecretFile,
  type SealedKey,
  type SecretFile,
  type SecretStoreOptions,
} from './secret-file.ts';
import type { Change, KeptBody, KeptExcerpt, SecretStore } from './secret-store.ts';
import { changeSharedKey } from './shared-key-change.ts';
import type { Later } from './wal-truncator.ts';

export interface SharedSecretsOptions
  extends Omit<SecretStoreOptions, 'later'>,
    Pick<SealedFoldOptions, 'stream'>,
    Later {
  /** Location of the stream, for messages. */
  readonly where: string;
}

/** Maximum number of values in one erasure. */
const ERASED_MAX = 500;

/**
 * The store, with everything shared so far. Throws `WrongMasterKey` before any change, and the
 * errors of the file and the stream.
 */
export async function openSharedSecrets(options: SharedSecretsOptions): Promise<SecretStore> {
  const { stream, clock, onFault } = options;
  await assertSharedKey(options);
  await ensureSealed(stream, options);
  // Another member may have been first, with another key.
  const change = await assertSharedKey(options);
  // After a power loss, the stream still has everything that the file lost.
  const later = { clock, onFault };
  const { file, ring: seal } = openSecretFile({ ...options, later }, 'NORMAL', change);
  const { keep = () => false, random } = options;
  const kept = { keyId: keyIdOf(options.masterKey) };
  const onKeyChange = (next: Uint8Array): void => {
    if (keep(next)) kept.keyId = keyIdOf(next);
  };
  if (change !== undefined) onKeyChange(change.next);
  const fold = new SealedFold({ stream, file, seal, random, onKeyChange, clock, onFault });
  const store = new SharedSecrets(options, { seal, file, fold, kept });
  try {
    await fold.start();
    return store.port();
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface Parts {
  readonly seal: KeyRing;
  readonly file: SecretFile;
  readonly fold: SealedFold;
  /** Id of the key in this member's key file. */
  readonly kept: { readonly keyId: string };
}

interface Value {
  readonly key: SealedKey;
  readonly data: Uint8Array;
}

const bytesOf = ({ data }: Value): number => data.length;

class SharedSecrets {
  readonly #options: SharedSecretsOptions;
  readonly #random: Random;
  readonly #parts: Parts;

  constructor(options: SharedSecretsOptions, parts: Parts) {
    this.#options = options;
    this.#random = options.random;
    this.#parts = parts;
  }

  port(): SecretStore {
    const { file, fold, seal } = this.#parts;
    const reads = sealedReads(file, seal);
    const bodyKey = (id: string): SealedKey => ({ purpose: BODY, id });
    return {
      ...reads,
      put: async (id, purpose, value) => {
        const key = { id, purpose };
        await this.#applied([await this.#append({ key, data: seal.close(id, purpose, value) })]);
      },
      update: (id, purpose, change) => this.#update({ id, purpose }, change),
      delete: async (id, purpose) => {
        await this.#erase([{ id, purpose }]);
        file.emptyLog('now');
      },
      bodies: {
        ...reads.bodies,
        putMissing: (bodies) => this.#putBodies(bodies),
        delete: (ids) => this.#erase(ids.map(bodyKey).filter((key) => file.get(key))),
      },
      excerpts: {
        ...reads.excerpts,
        put: (excerpts) => this.#putExcerpts(excerpts),
        delete: (ids) => this.#erase(excerptKeys(file, ids)),
      },
      lastUsed: lastUsedStore(file.database),
      keyId: () => this.#parts.kept.keyId,
      isKeyChanging: () => seal.change() !== undefined,
      changeKey: (request) =>
        changeSharedKey({ ...this.#options, ...this.#parts, sweep: () => this.#sweep() }, request),
      isShared: true,
      caughtUp: () => fold.caughtUp(),
      sweep: () => this.#sweep(),
      fault: () => fold.fault,
      close: () => this.close(),
    };
  }

  async close(): Promise<void> {
    await this.#parts.fold.close();
    this.#parts.file.close();
  }

  #append({ key, data }: Value, expected?: number): Promise<AppendOutcome> {
    return this.#options.stream.append({
      stream: sealedSpec.name,
      subject: subjectOf(key),
      data,
      ...(expected !== undefined && { expectedLastSubjectSequence: expected }),
    });
  }

  /**
   * Resolves once this member's file has all of them, and the existing values in place of those
   * refused.
   */
  async #applied(outcomes: readonly AppendOutcome[]): Promise<void> {
    const sequences = outcomes.map((one) => ('sequence' in one ? one.sequence : 0));
    await this.#parts.fold.applied(Math.max(0, ...sequences));
    if (outcomes.some(({ kind }) => kind === 'wrongLastSequence')) {
      await this.#parts.fold.caughtUp();
    }
  }

  async #putBodies(bodies: readonly KeptBody[]): Promise<readonly string[]> {
    const { seal } = this.#parts;
    const values = bodies.map(({ deliveryId: id, body }) => ({
      key: { purpose: BODY, id },
      data: seal.close(id, BODY, body),
    }));
    const outcomes = await pipelined(values, (value) => this.#append(value, 0), bytesOf);
    await this.#applied(outcomes);
    return bodies
      .filter((_, i) => outcomes[i]?.kind === 'wrongLastSequence')
      .map(({ deliveryId }) => deliveryId);
  }

  async #putExcerpts(excerpts: readonly KeptExcerpt[]): Promise<void> {
    const values = excerpts.map((kept) => ({
      key: { purpose: EXCERPT, id: kept.attemptId, of: kept.deliveryId },
      data: sealExcerpt(this.#parts.seal, kept),
    }));
    await this.#applied(await pipelined(values, (value) => this.#append(value, 0), bytesOf));
  }

  async #update(key: SealedKey, change: Change): Promise<Uint8Array | undefined> {
    const { fold, seal } = this.#parts;
    const { id, purpose } = key;
    while (true) {
      const last = await lastOf(this.#options.stream, subjectOf(key));
      const current = last && (await this.#openNewest(key, last.data));
      const changed = change(current);
      if (changed === undefined) {
        await fold.applied(last?.sequence ?? 0);
        return current;
      }
      const data = seal.close(id, purpose, changed);
      const outcome = await this.#append({ key, data }, last?.sequence ?? 0);
      if (outcome.kind === 'wrongLastSequence') continue;
      await this.#applied([outcome]);
      return changed;
    }
  }

  /** The newest value may be sealed under a key whose change this member has not applied yet. */
  async #openNewest({ id, purpose }: SealedKey, sealed: Uint8Array): Promise<Uint8Array> {
    const { fold, seal } = this.#parts;
    if (!seal.isCurrent(id, purpose, sealed)) await fold.caughtUp();
    return seal.open(id, purpose, sealed);
  }

  /** Notifies every member first: the next sweep removes the remains of a crash from the stream. */
  async #erase(keys: readonly SealedKey[]): Promise<void> {
    for (let begin = 0; begin < keys.length; begin += ERASED_MAX) {
      const erased = keys.slice(begin, begin + ERASED_MAX);
      const id = ulid(this.#options.clock.now(), this.#random);
      const data = sealErasure(this.#parts.seal, id, erased);
      const outcome = await this.#append({ key: { purpose: ERASED, id }, data });
      if (!('sequence' in outcome)) throw new Error('An unconditional erasure was refused');
      await this.#applied([outcome]);
      await this.#truncate(erased, outcome.sequence).catch(this.#options.onFault);
    }
  }

  async #truncate(keys: readonly SealedKey[], belowSequence: number): Promise<void> {
    const { stream } = this.#options;
    await pipelined(keys.map(subjectOf), (subject) =>
      stream.truncate({ stream: sealedSpec.name, subject, belowSequence }),
    );
  }

  /** Removes erasures that are older than the last sweep: see `sealed-fold.ts`. */
  async #sweep(): Promise<void> {
    const { stream } = this.#options;
    const previous = this.#parts.fold.sweep;
    const swept = await stream.append({
      stream: sealedSpec.name,
      subject: SWEPT_SUBJECT,
      data: new TextEncoder().encode(JSON.stringify({ previous })),
      expectedLastSubjectSequence: previous,
    });
    if (swept.kind !== 'appended') return;
    const from = { sequence: 1 };
    const read = stream.read({
      stream: sealedSpec.name,
      from,
      subject: ERASED_SUBJECTS,
      untilEnd: true,
    });
    try {
      for await (const { data, sequence, subject } of read) {
        if (sequence >= previous) break;
        const key = keyOf(subject);
        await this.#truncate(openErasure(this.#parts.seal, key.id, data), sequence);
        await this.#truncate([key], sequence + 1);
      }
    } finally {
      await read.close();
    }
    await this.#parts.fold.applied(swept.sequence);
  }
}
