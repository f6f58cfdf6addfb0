/** Secrets of verification mails, in the form of all secrets of the service. */
import type { RecipientTokens } from '../../../actors/delivery/destinations-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { hashKey, mintSecret, parseSecret } from '../../platform/keys.ts';

/** Prefix of a recipient's id; a secret holds the rest, letters and digits. */
const ID_PREFIX = 'rcp_';

export function createRecipientTokens(ports: { clock: Clock; random: Random }): RecipientTokens {
  return {
    mint(recipient) {
      const id = recipient.slice(ID_PREFIX.length);
      return mintSecret('verify', { nowMs: ports.clock.now(), random: ports.random, id });
    },
    parse(text) {
      const id = parseSecret('verify', text);
      return id === undefined ? undefined : `${ID_PREFIX}${id}`;
    },
    hash: hashKey,
  };
}
