/** The steps of a change of the master key that a process takes on its own `secrets.db`. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Random } from '../../../streams/platform/random.ts';
import { KEY_CHANGE, type KeyRing, keyChangeRecord } from './key-change.ts';
import { keyIdOf, MASTER_KEY_BYTES, SealBroken } from './seal.ts';
import { CANARY, canary, type SealedKey, type SecretFile } from './secret-file.ts';
import { type KeyChangeOutcome, KeyChangeRefused } from './secret-store.ts';

export interface ChangingStore {
  readonly file: SecretFile;
  readonly ring: KeyRing;
  readonly random: Random;
}

/** Values sealed again in one transaction: a few ms, so that requests wait no longer. */
const BATCH = 50;

export const NOTHING_TO_CONTINUE: KeyChangeOutcome = {
  state: 'none',
  sealed: 0,
  unreadable: 0,
  waitsFor: [],
};

/** The record of a change to this key. Throws `KeyChangeRefused` if it cannot begin. */
export function beginKeyChange(
  { ring, random }: Pick<ChangingStore, 'ring' | 'random'>,
  next: Uint8Array,
): Uint8Array {
  const change = ring.change();
  if (change !== undefined) {
    throw new KeyChangeRefused(
      `The change to the master key ${keyIdOf(change.next)} is not finished. Put that key in place, ` +
        'and continue with "svc admin rekey --continue"',
    );
  }
  if (next.length !== MASTER_KEY_BYTES) {
    throw new KeyChangeRefused(`The new master key must have ${MASTER_KEY_BYTES} bytes`);
  }
  const old = ring.masterKey();
  if (keyIdOf(old) === keyIdOf(next)) {
    throw new KeyChangeRefused(`The service already uses the master key ${keyIdOf(next)}`);
  }
  return keyChangeRecord({ old, next }, random);
}

/** Seals each value of the file under the current key, between the requests of others. */
export async function sealAgain(
  { file, ring }: Pick<ChangingStore, 'file' | 'ring'>,
  onBatch: () => void,
): Promise<Pick<KeyChangeOutcome, 'sealed' | 'unreadable'>> {
  const keys = file.keys();
  let [sealed, unreadable] = [0, 0];
  for (let begin = 0; begin < keys.length; begin += BATCH) {
    file.transaction(() => {
      for (const key of keys.slice(begin, begin + BATCH)) {
        const outcome = sealOneAgain({ file, ring }, key);
        if (outcome === 'sealed') sealed += 1;
        if (outcome === 'unreadable') unreadable += 1;
      }
    });
    onBatch();
    await nextTurn();
  }
  return { sealed, unreadable };
}

/** undefined: it was deleted, or is sealed under the current key already. */
function sealOneAgain(
  { file, ring }: Pick<ChangingStore, 'file' | 'ring'>,
  key: SealedKey,
): 'sealed' | 'unreadable' | undefined {
  const { id, purpose } = key;
  const value = file.get(key);
  if (value === undefined || ring.isCurrent(id, purpose, value)) return undefined;
  try {
    file.put(key, ring.close(id, purpose, ring.open(id, purpose, value)));
    return 'sealed';
  } catch (error) {
    if (error instanceof SealBroken) return 'unreadable';
    throw error;
  }
}

/** The last step: from here, the old key opens no value in the file or its log. */
export function finishKeyChange({ file, ring }: Pick<ChangingStore, 'file' | 'ring'>): void {
  file.transaction(() => {
    file.put(CANARY, canary(ring));
    file.remove([KEY_CHANGE]);
  });
  ring.finish();
  file.emptyLog('now');
}
