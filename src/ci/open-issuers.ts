/**
 * The configured CI issuers, running: each with its kept keys, told in `/readyz` while they cannot
 * be read, counted in the metrics, and with a word in the log for each claim that is new to us.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Closers } from '../platform/closers.ts';
import type { Health } from '../platform/health.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { createCiIssuers } from './assertions.ts';
import { createKeyFetcher } from './fetch-keys.ts';
import { createIssuerKeys, type IssuerKeys } from './jwks.ts';
import type { CiIssuers } from './ports.ts';

export interface OpenIssuersOptions {
  readonly settings: Pick<Settings, 'ciIssuers'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly closers: Closers;
}

/** Names of unknown claims that are told; owners of a platform's projects may make up more. */
const NAMES_TOLD_MAX = 200;
const NAME_LENGTH_MAX = 100;

/**
 * Closed by `closers`. Nothing is fetched before a first token asks for it: a service without
 * keyless CI calls nobody. From then on the keys are read every 5 minutes.
 */
export function openCiIssuers(options: OpenIssuersOptions): CiIssuers {
  const { settings, clock, log, metrics, health, closers } = options;
  const fetcher = createKeyFetcher();
  closers.add('CI issuers', () => fetcher.close());
  const fetches = metrics.counter(
    'svc_ci_keys_fetches_total',
    'Readings of the keys of a CI issuer: ok, no_key (it lists none to trust), failed',
    ['issuer', 'outcome'],
  );
  const issuers = settings.ciIssuers.map((issuer) => {
    const { name, keysUrl } = issuer;
    const keys = createIssuerKeys({
      ...{ name, clock, log },
      fetchKeys: (signal) => fetcher.fetch(keysUrl, signal),
      onFetched: (outcome) => fetches.inc({ issuer: name, outcome }),
    });
    health.watch({ kind: 'CI issuer', name: `CI issuer ${name}` }, () => keys.health());
    closers.add(`keys of CI issuer ${name}`, () => keys.close());
    return { issuer, keys };
  });
  exposeKeys(metrics, issuers);
  return createCiIssuers({ issuers, clock, onUnknownClaim: unknownClaims(options) });
}

function exposeKeys(
  metrics: Metrics,
  issuers: readonly { readonly issuer: { readonly name: string }; readonly keys: IssuerKeys }[],
): void {
  metrics.gauge(
    'svc_ci_keys_age_seconds',
    'Time since the keys of a CI issuer were read; absent before the first time',
    ['issuer'],
    (gauge) => {
      for (const { issuer, keys } of issuers) {
        const ageMs = keys.ageMs();
        if (ageMs !== undefined) gauge.set({ issuer: issuer.name }, ageMs / 1000);
      }
    },
  );
  metrics.gauge(
    'svc_ci_keys_trusted',
    'Keys of a CI issuer that are trusted; 0 = all of its tokens are refused, absent = none are known',
    ['issuer'],
    (gauge) => {
      for (const { issuer, keys } of issuers) {
        const trusted = keys.trusted();
        if (trusted !== undefined) gauge.set({ issuer: issuer.name }, trusted);
      }
    },
  );
}

/** Each token with one counts; each name is told once. */
function unknownClaims({ metrics, log }: OpenIssuersOptions) {
  const seen = metrics.counter(
    'svc_ci_unknown_claims_total',
    'Claims of CI identity tokens that this version does not know',
    ['issuer'],
  );
  const told = new Set<string>();
  return (issuer: string, name: string): void => {
    seen.inc({ issuer });
    const claim = name.slice(0, NAME_LENGTH_MAX);
    const key = `${issuer} ${claim}`;
    if (told.has(key) || told.size >= NAMES_TOLD_MAX) return;
    told.add(key);
    log.warn(
      { issuer, claim },
      'Tokens of the CI issuer have a claim that this version does not know: nothing is bound to it',
    );
  };
}
