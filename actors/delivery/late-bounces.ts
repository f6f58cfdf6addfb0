/**
 * Bounces that arrive after the mail server had accepted a mail. The id of the delivery proves
 * them: only recipients and mail servers have seen it.
 */
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Host } from '../platform/host/host-port.ts';
import { recordBounce } from './recipients.ts';

const byBounce: Actor = { kind: 'service', name: 'bounce' };

/** Result of a bounce; `unknown`: the service has no such delivery to a recipient any more. */
export type LateBounce = 'recorded' | 'already' | 'unknown';

/** Ends the recipient of the delivery: the address accepts no mail. @param status RFC 3463 */
export async function recordLateBounce(
  host: Pick<Host, 'findInstance' | 'submit'>,
  delivery: string,
  status: string,
): Promise<LateBounce> {
  const row = host.findInstance('delivery', delivery);
  const recipient = row?.context.recipient ?? null;
  if (!row || recipient === null) return 'unknown';
  const { answer } = await host.submit({
    project: row.project,
    by: byBounce,
    decide(draft): LateBounce {
      const before = draft.instance('recipient', recipient);
      if (!before || before.final) return 'unknown';
      if (before.value === 'bounced') return 'already';
      const reason = `A returned mail reports that the address accepts no mail (${status})`;
      recordBounce(draft, recipient, reason);
      return 'recorded';
    },
  });
  return answer;
}
