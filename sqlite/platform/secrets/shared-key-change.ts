/**
 * Change of the master key of a cluster, led by one member. All members must hold the next key, in
 * memory and in their key files, before the old values are sealed again: afterwards no member seals
 * anything under the old key.
 *
 *     record on the stream -> every member reports the next key -> values sealed again, each in the
 *     place of the one that was read -> erasures swept -> canary -> record erased
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { pause } from '../../../streams/platform/pause.ts';
import type { Random } from '../../../streams/platform/random.ts';
import type { Stream, StreamMessage } from '../../../streams/platform/stream.ts';
import { KEY_CHANGE, type KeyRing } from './key-change.ts';
import { beginKeyChange, NOTHING_TO_CONTINUE } from './key-change-steps.ts';
import { keyIdOf, SealBroken } from './seal.ts';
import { pipelined, type SealedFold } from './sealed-fold.ts';
import { ERASED, keyOf, SWEPT, sealedSpec, sharedCanary, subjectOf } from './sealed-stream.ts';
import { CANARY } from './secret-file.ts';
import { type KeyChangeOutcome, KeyChangeRefused, type KeyChangeRequest } from './secret-store.ts';

export interface SharedChange {
  readonly stream: Stream;
  readonly seal: KeyRing;
  readonly fold: Pick<SealedFold, 'applied' | 'caughtUp'>;
  readonly random: Random;
  readonly clock: Clock;
  /** Removes erasures that every member has applied. */
  readonly sweep: () => Promise<void>;
}

/** Longest wait for all members to report the next key, ms. */
const MEMBERS_MS_MAX = 30_000;
const MEMBERS_EVERY_MS = 200;
/** Maximum number of times a value is sealed again, because others may write it concurrently. */
const ROUNDS_MAX = 20;

/** Rejects with `KeyChangeRefused`, and the errors of the stream. */
export async function changeSharedKey(
  shared: SharedChange,
  request: KeyChangeRequest,
): Promise<KeyChangeOutcome> {
  const { seal } = shared;
  const { next, onStep = () => {} } = request;
  if (next === undefined && seal.change() === undefined) return NOTHING_TO_CONTINUE;
  if (next !== undefined) {
    await begin(shared, request, next);
    onStep('recorded');
  }
  const wanted = keyIdOf(seal.masterKey());
  const waitsFor = await membersWithout(shared, request, wanted);
  if (waitsFor.length > 0) return { state: 'waiting', sealed: 0, unreadable: 0, waitsFor };
  onStep('kept');
  const counts = await sealStreamAgain(shared, () => {
    onStep('sealing');
    request.signal?.throwIfAborted();
  });
  onStep('sealed');
  await finish(shared);
  onStep('finished');
  return { state: 'changed', ...counts, waitsFor: [] };
}

async function begin(
  { stream, seal, random, fold }: SharedChange,
  { members }: KeyChangeRequest,
  next: Uint8Array,
): Promise<void> {
  const own = keyIdOf(seal.masterKey());
  const unfit = members().filter(({ keyId }) => keyId !== own);
  if (unfit.length > 0) {
    const names = unfit.map(({ name }) => name).join(', ');
    throw new KeyChangeRefused(
      `Members that do not report the master key ${own}: ${names}. Bring all members to one version, ` +
        'with one key file',
    );
  }
  const data = beginKeyChange({ ring: seal, random }, next);
  const subject = subjectOf(KEY_CHANGE);
  const outcome = await stream.append({
    stream: sealedSpec.name,
    subject,
    data,
    expectedLastSubjectSequence: 0,
  });
  if (outcome.kind !== 'appended') {
    throw new KeyChangeRefused('Another member has just begun a change of the master key');
  }
  await fold.applied(outcome.sequence);
}

/** Names of the members that do not have the key within the time allowed. */
async function membersWithout(
  { clock }: SharedChange,
  { members, signal }: KeyChangeRequest,
  wanted: string,
): Promise<string[]> {
  const endMs = clock.elapsed() + MEMBERS_MS_MAX;
  for (;;) {
    const late = members().filter(({ keyId }) => keyId !== wanted);
    if (late.length === 0 || clock.elapsed() >= endMs) return late.map(({ name }) => name);
    await pause(clock, MEMBERS_EVERY_MS, signal);
    signal?.throwIfAborted();
  }
}

async function sealStreamAgain(
  shared: SharedChange,
  onRound: () => void,
): Promise<Pick<KeyChangeOutcome, 'sealed' | 'unreadable'>> {
  let sealed = 0;
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const { stale, unreadable } = await staleValues(shared);
    onRound();
    if (stale.length === 0) {
      await shared.fold.caughtUp();
      return { sealed, unreadable };
    }
    const outcomes = await pipelined(
      stale,
      ({ subject, sequence, data }) =>
        shared.stream.append({
          stream: sealedSpec.name,
          subject,
          data,
          expectedLastSubjectSequence: sequence,
        }),
      ({ data }) => data.length,
    );
    sealed += outcomes.filter(({ kind }) => kind === 'appended').length;
  }
  throw new KeyChangeRefused(
    'Values are written faster than they are sealed again. Run "svc admin rekey --continue"',
  );
}

type Resealed = Pick<StreamMessage, 'subject' | 'sequence' | 'data'>;

/** The values of the stream under the old key, sealed again. */
async function staleValues({ stream, seal }: SharedChange) {
  const from = { sequence: 1 };
  const read = stream.read({ stream: sealedSpec.name, from, untilEnd: true });
  const newest = new Map<string, StreamMessage>();
  try {
    for await (const message of read) newest.set(message.subject, message);
  } finally {
    await read.close();
  }
  const stale: Resealed[] = [];
  let unreadable = 0;
  for (const { subject, sequence, data } of newest.values()) {
    const { id, purpose } = keyOf(subject);
    if (NOT_VALUES.includes(purpose) || seal.isCurrent(id, purpose, data)) continue;
    try {
      const value = seal.open(id, purpose, data);
      stale.push({ subject, sequence, data: seal.close(id, purpose, value) });
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      unreadable += 1;
    }
  }
  return { stale, unreadable };
}

const NOT_VALUES: readonly string[] = [ERASED, SWEPT, CANARY.purpose, KEY_CHANGE.purpose];

async function finish({ stream, seal, random, fold, sweep }: SharedChange): Promise<void> {
  // The second sweep removes all erasures from before the first, some of them under the old key.
  await sweep();
  await sweep();
  const options = { masterKey: seal.masterKey(), random };
  const outcome = await stream.append({
    stream: sealedSpec.name,
    subject: subjectOf(CANARY),
    data: sharedCanary(options),
  });
  if (outcome.kind !== 'appended') throw new Error('An unconditional canary was refused');
  await fold.applied(outcome.sequence);
  const belowSequence = outcome.sequence;
  await stream.truncate({ stream: sealedSpec.name, subject: subjectOf(KEY_CHANGE), belowSequence });
}
