/**
 * The operator's confirmation that the data folder is a restored backup: a new generation starts.
 */

import { restored } from '../../actors/identity/restoration.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import { invalidField } from '../../streams/platform/refusal.ts';
import type { AdminRoutes } from './admin-server.ts';
import { operatorOf } from './operator.ts';

export const RESTORED_PATH = '/v1/restored';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Responds with a `Restoration`. */
export function restoredRoutes(host: Host): AdminRoutes {
  return {
    [RESTORED_PATH]: async (_signal, _onProgress, body) => {
      const id = typeof body.requestId === 'string' ? body.requestId : '';
      if (!UUID.test(id)) {
        const message = `--request-id is ${JSON.stringify(id)}; it must be a UUID`;
        throw invalidField('requestId', message);
      }
      const by = operatorOf(body);
      return restored(host, { by, request: { scope: by.name, id, fingerprint: 'restored' } });
    },
  };
}
