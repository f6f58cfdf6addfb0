/** Route of `svc admin rekey`: the service changes its master key while it runs. */
import type { Host } from '../../actors/platform/host/host-port.ts';
import { recordMasterKey } from '../../actors/platform/master-key-record.ts';
import { keyIdOf } from '../../sqlite/platform/secrets/seal.ts';
import type {
  KeyChangeOutcome,
  KeyChangeRequest,
} from '../../sqlite/platform/secrets/secret-store.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import type { Random } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { newMasterKey, parseMasterKey } from '../platform/master-key.ts';
import type { Storage } from '../platform/room-base.ts';
import type { AdminRoutes } from './admin-server.ts';
import { type Body, changeOf, type OperatorChange, optionalText } from './operator.ts';

export const REKEY_PATH = '/v1/rekey';

/** Response of `REKEY_PATH`. */
export interface Rekeyed extends KeyChangeOutcome {
  /** Id of the master key under which everything is sealed now. */
  readonly keyId: string;
  /** The key file of the member that answered. */
  readonly keyFile: string;
}

export interface RekeyRouteDeps {
  readonly host: Pick<Host, 'submit'>;
  readonly storage: Pick<Storage, 'changeMasterKey' | 'keyId'>;
  readonly member: Pick<Membership, 'isAlone' | 'members'>;
  readonly random: Random;
  readonly keyFile: string;
}

export function rekeyRoutes(deps: RekeyRouteDeps): AdminRoutes {
  let isRunning = false;
  return {
    async [REKEY_PATH](_signal, onProgress, body) {
      if (isRunning) {
        throw new Refusal('INVALID_STATE', 'Another change of the master key is running');
      }
      isRunning = true;
      try {
        return await rekey(deps, body, (step) => onProgress({ step }));
      } finally {
        isRunning = false;
      }
    },
  };
}

async function rekey(
  { host, storage, member, random, keyFile }: RekeyRouteDeps,
  body: Body,
  onStep: NonNullable<KeyChangeRequest['onStep']>,
): Promise<Rekeyed> {
  const next = nextKey(body, random);
  const { key: _, ...named } = body;
  const change = changeOf(REKEY_PATH, named);
  // A repeated request continues with the key of the first one.
  const isFirst = next !== undefined && (await isFirstRequest(host, change, keyIdOf(next)));
  const outcome = await storage.changeMasterKey({
    ...(isFirst && { next }),
    members: () => (member.isAlone ? [] : membersOf(member)),
    onStep,
  });
  const keyId = storage.keyId();
  const { state } = outcome;
  if (state !== 'none') await recordMasterKey(host, change, { keyId, state });
  return { ...outcome, keyId, keyFile };
}

async function isFirstRequest(
  host: RekeyRouteDeps['host'],
  change: OperatorChange,
  keyId: string,
): Promise<boolean> {
  return (await recordMasterKey(host, change, { keyId, state: 'requested' })) === keyId;
}

/** undefined: an interrupted change is to be continued. Throws INVALID_FIELD. */
function nextKey(body: Body, random: Random): Uint8Array | undefined {
  if (optionalText(body, 'isContinued') === 'true') return undefined;
  const given = optionalText(body, 'key');
  if (given === undefined) return newMasterKey(random);
  const key = parseMasterKey(given);
  if (key === undefined) throw invalidField('key', '--key-file must have 32 bytes in base64');
  return key;
}

function membersOf(member: Pick<Membership, 'members'>): ReturnType<KeyChangeRequest['members']> {
  return member
    .members()
    .filter(({ status }) => status !== 'gone')
    .map(({ node, host, keyId = null }) => ({ name: `${node} on ${host}`, keyId }));
}
