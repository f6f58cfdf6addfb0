/** Route of `svc admin bounce`, to which a mail server pipes returned mails. */
import { recordLateBounce } from '../../actors/delivery/late-bounces.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Log } from '../platform/log.ts';
import { type Bounce, isAboutAddress } from '../platform/mail/bounce.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { AdminRoutes } from './admin-server.ts';

export const BOUNCE_PATH = '/v1/bounces';

/** Result of one report. `other`: it is not about the address. */
export type BounceOutcome = 'recorded' | 'already' | 'unknown' | 'other';

/** Response of `BOUNCE_PATH`, one for each report. */
export interface BounceAnswer {
  readonly outcomes: readonly BounceOutcome[];
}

/** Id of a delivery in the `Message-ID` of its mail. */
const DELIVERY = /^(dlv_[0-9a-f]{32})@/;

export function bounceRoutes({
  host,
  log,
  metrics,
}: {
  readonly host: Pick<Host, 'findInstance' | 'submit'>;
  readonly log: Log;
  readonly metrics: Metrics;
}): AdminRoutes {
  const counted = metrics.counter('svc_bounces_total', 'Returned mails', ['outcome']);
  return {
    async [BOUNCE_PATH](_signal, _onProgress, { bounces }): Promise<BounceAnswer> {
      const outcomes: BounceOutcome[] = [];
      for (const bounce of JSON.parse(String(bounces)) as Bounce[]) {
        const outcome = await record(host, bounce);
        counted.inc({ outcome });
        const { action, status } = bounce;
        log.info({ part: 'bounces', action, status, outcome }, 'A mail was returned');
        outcomes.push(outcome);
      }
      return { outcomes };
    },
  };
}

async function record(
  host: Pick<Host, 'findInstance' | 'submit'>,
  bounce: Bounce,
): Promise<BounceOutcome> {
  if (!isAboutAddress(bounce)) return 'other';
  const [, delivery] = DELIVERY.exec(bounce.messageId) ?? [];
  return delivery === undefined ? 'unknown' : recordLateBounce(host, delivery, bounce.status);
}
