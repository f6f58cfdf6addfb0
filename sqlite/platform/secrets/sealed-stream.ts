/**
 * The stream `SEALED`, by which members share sealed values. A value is a message on a subject of
 * its own, which keeps only the newest; it is sealed under the master key before it leaves the
 * process.
 *
 *     svc.sealed.<purpose>.<id>        a sealed value; an excerpt has its delivery before its id
 *     svc.sealed.erased.<ulid>         the erased values' names, sealed too
 *     svc.sealed.swept.last            the last sweep, and the one before it
 *     svc.sealed.canary.master-key     the key's id, and a value that opens only under it
 *     svc.sealed.key-change.master-key both keys of a change of the master key, while it runs
 */
import type {
  Stream,
  StreamMessage,
  StreamSpec,
  StreamState,
} from '../../../streams/platform/stream.ts';
import { createKeyRing, KEY_CHANGE, type KeyPair, openKeyChange } from './key-change.ts';
import { createSeal, keyIdOf, type SealOptions, WrongMasterKey } from './seal.ts';
import { CANARY, canary, EXCERPT, type SealedKey } from './secret-file.ts';

export const sealedSpec: StreamSpec = {
  name: 'SEALED',
  subjects: ['svc.sealed.>'],
  retention: 'log',
  lastOfSubject: true,
  // Expected sequences prevent a second message, so no message id is needed.
  duplicateWindowMs: 1_000,
  whenMissing: 'replace',
};

export const ERASED = 'erased';
export const SWEPT = 'swept';
export const SWEPT_SUBJECT = `svc.sealed.${SWEPT}.last`;
export const ERASED_SUBJECTS = `svc.sealed.${ERASED}.*`;

/** Subject of a value. Its id, whatever it contains, becomes one token that NATS accepts. */
export function subjectOf({ purpose, id, of }: SealedKey): string {
  const tokens = of === undefined ? [purpose, id] : [purpose, of, id];
  return ['svc', 'sealed', ...tokens.map(toToken)].join('.');
}

/** Key of the value on a subject. */
export function keyOf(subject: string): SealedKey {
  const [, , purpose = '', first = '', second = ''] = subject.split('.').map(fromToken);
  return purpose === EXCERPT ? { purpose, id: second, of: first } : { purpose, id: first };
}

function toToken(text: string): string {
  return encodeURIComponent(text).replace(
    /[^A-Za-z0-9_%-]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function fromToken(token: string): string {
  return decodeURIComponent(token);
}

/** The newest message of the subject. */
export async function lastOf(
  stream: Pick<Stream, 'read'>,
  subject: string,
): Promise<StreamMessage | undefined> {
  const from = { sequence: 1 };
  const read = stream.read({ stream: sealedSpec.name, from, subject, untilEnd: true });
  let last: StreamMessage | undefined;
  try {
    for await (const message of read) last = message;
  } finally {
    await read.close();
  }
  return last;
}

const KEY_ID_CHARACTERS = 16;

/** The canary as stored in the stream: the key's id is readable without the key. */
export function sharedCanary(options: SealOptions): Uint8Array {
  return Buffer.concat([Buffer.from(keyIdOf(options.masterKey)), canary(createSeal(options))]);
}

/** Makes the stream if it is missing, and writes the canary of this key unless it has one. */
export async function ensureSealed(
  stream: Pick<Stream, 'ensure' | 'append'>,
  options: SealOptions,
): Promise<StreamState> {
  const state = await stream.ensure(sealedSpec);
  await stream.append({
    stream: sealedSpec.name,
    subject: subjectOf(CANARY),
    data: sharedCanary(options),
    expectedLastSubjectSequence: 0,
  });
  return state;
}

/** Id of the key in a canary of the stream. */
export function canaryKeyId(data: Uint8Array): string {
  return Buffer.from(data.subarray(0, KEY_ID_CHARACTERS)).toString();
}

/**
 * Compares the key with the one that the members share, and changes nothing. Throws
 * `WrongMasterKey`, `SealBroken`, and the errors of the stream.
 *
 * @param masterKey undefined: this process has none yet, and may create one only if nothing is
 * shared
 * @param where location of the stream, for the message: `NATS at 127.0.0.1:4222`
 * @returns the running change of the master key; the given key is its old or its next one
 */
export async function assertSharedKey({
  stream,
  where,
  ...options
}: Omit<SealOptions, 'masterKey'> & {
  readonly masterKey: Uint8Array | undefined;
  readonly stream: Pick<Stream, 'compare' | 'read'>;
  readonly where: string;
}): Promise<KeyPair | undefined> {
  if ((await stream.compare(sealedSpec)) === undefined) return undefined;
  const found = await lastOf(stream, subjectOf(CANARY));
  if (found === undefined) return undefined;
  const wanted = canaryKeyId(found.data);
  const { masterKey } = options;
  const record = masterKey && (await lastOf(stream, subjectOf(KEY_CHANGE)));
  if (record) return openKeyChange(record.data, { ...options, masterKey }, where);
  const own = masterKey && keyIdOf(masterKey);
  if (masterKey === undefined || own !== wanted) {
    throw new WrongMasterKey(
      `The secrets shared by the members on ${where} are sealed under the master key ${wanted}, and this one ` +
        `has ${own === undefined ? 'none' : `the key ${own}`}: set SVC_MASTER_KEY_FILE to the key file ` +
        'of the others',
    );
  }
  const sealed = found.data.subarray(KEY_ID_CHARACTERS);
  createKeyRing({ ...options, masterKey }).open(CANARY.id, CANARY.purpose, sealed);
  return undefined;
}
