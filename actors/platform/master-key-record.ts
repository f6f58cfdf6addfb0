/** The record in `_system` of the last change of the master key. Its commit names the operator. */
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Host, RequestKey } from './host/host-port.ts';

declare module './host/rows.ts' {
  interface RecordBodies {
    masterKey: MasterKeyBody;
  }
}

/** Body of the record of kind `masterKey`. */
export interface MasterKeyBody {
  /** Id of the key, which is public. */
  readonly keyId: string;
  readonly state: 'requested' | 'changed' | 'waiting';
  readonly atMs: number;
}

const RECORD = 'masterKey';

/**
 * Records a step of the change. Throws what `Host.submit` throws.
 * @returns id of the key; of the first call with this request
 */
export async function recordMasterKey(
  host: Pick<Host, 'submit'>,
  change: { readonly by: Actor; readonly request: RequestKey },
  { keyId, state }: Pick<MasterKeyBody, 'keyId' | 'state'>,
): Promise<string> {
  const { by, request } = change;
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    request: { ...request, id: `${request.id} ${state}` },
    decide(draft) {
      draft.putRecord({ kind: RECORD, id: RECORD, body: { keyId, state, atMs: draft.at } });
      return { keyId };
    },
  });
  return answer.keyId;
}
