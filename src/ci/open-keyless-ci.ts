/**
 * Keyless CI, put together: the decisions over the checks of identity tokens, burned ids, access
 * tokens and pairing codes, with the counts that operators see.
 */

import { createKeylessCi } from '../../actors/ci/keyless-ci.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { AccessTokens } from '../identity/auth/ports.ts';
import type { Closers } from '../platform/closers.ts';
import { hashKey, mintSecret } from '../platform/keys.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Issuer } from '../platform/settings/ci-issuers.ts';
import type { CiDeps } from './api/ci.ts';
import type { CiIssuers } from './ports.ts';

export interface KeylessCiOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly closers: Closers;
  readonly issuers: readonly Pick<Issuer, 'name' | 'kind'>[];
  readonly assertions: CiIssuers;
  readonly onceStore: OnceStore;
  readonly tokens: Pick<AccessTokens, 'sign'>;
  /** Origin for clients, without a slash at its end. */
  readonly publicUrl: () => string;
}

/** Closed by `closers`, before the host is. */
export function openKeylessCi(options: KeylessCiOptions): Pick<CiDeps, 'ci' | 'issuerKind'> {
  const { clock, random, metrics, log, issuers } = options;
  const exchanges = metrics.counter(
    'svc_ci_exchanges_total',
    'Exchanges of CI identities, by what became of them',
    ['outcome'],
  );
  const unnoted = metrics.counter(
    'svc_ci_refusals_unnoted_total',
    'Refused exchanges that could not be recorded',
  );
  const wrongCodes = metrics.counter(
    'svc_ci_wrong_codes_total',
    'Wrong pairing codes of verifications, and tries of sources that are locked for them',
    ['outcome'],
  );
  const ci = createKeylessCi({
    ...options,
    codes: {
      mint: (id) => mintSecret('pair', { nowMs: clock.now(), random, id }),
      hash: hashKey,
    },
    count: (outcome) => exchanges.inc({ outcome }),
    countWrongCode: (outcome) => wrongCodes.inc({ outcome }),
    onLost(refusals, error) {
      unnoted.inc(refusals);
      log.error({ err: error, part: 'ci', refusals }, 'Refused exchanges could not be recorded');
    },
  });
  options.closers.add('keyless CI', () => ci.close());
  return { ci, issuerKind: (name) => issuers.find((issuer) => issuer.name === name)?.kind };
}
