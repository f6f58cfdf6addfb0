/**
 * Opens the CI room: configured issuers with their keys (reported in `/readyz` and in the metrics),
 * and keyless CI on top of them.
 */
import type { AssertionVerifier } from '../../actors/ci/assertion.ts';
import { type AccessTokenClaims, createKeylessCi } from '../../actors/ci/exchange.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import { hashKey, mintSecret } from '../platform/keys.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { CiDeps } from './api/ci.ts';
import { createAssertionVerifier } from './assertions.ts';
import { createKeyFetcher, IssuerKeys } from './jwks.ts';

export interface CiParts {
  readonly base: IssuersBase & Pick<RoomBase, 'random'>;
  readonly storage: Pick<Storage, 'onceStore'>;
  readonly host: Host;
  readonly tokens: { sign(claims: AccessTokenClaims): Promise<string> };
  /** Origin for clients, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Default: a verifier for the issuers in the settings. */
  readonly assertions?: AssertionVerifier;
}

/** `closers` closes it, before the host. */
export function openCi(parts: CiParts): Pick<CiDeps, 'ci' | 'issuerKind'> {
  const { base, storage, host, tokens, publicUrl } = parts;
  const { clock, random, metrics, log, settings, closers } = base;
  const { assertions = openIssuers(base) } = parts;
  const exchanges = metrics.counter(
    'svc_ci_exchanges_total',
    'Exchanges of CI identities by outcome',
    ['outcome'],
  );
  const unrecorded = metrics.counter(
    'svc_ci_refusals_unnoted_total',
    'Rejected exchanges that could not be recorded',
  );
  const wrongCodes = metrics.counter(
    'svc_ci_wrong_codes_total',
    'Wrong pairing codes of verifications, and attempts by sources locked because of them',
    ['outcome'],
  );
  const ci = createKeylessCi({
    host,
    clock,
    random,
    onceStore: storage.onceStore,
    tokens,
    publicUrl,
    assertions,
    codes: {
      mint: (id) => mintSecret('pair', { nowMs: clock.now(), random, id }),
      hash: hashKey,
    },
    count: (outcome) => exchanges.inc({ outcome }),
    countWrongCode: (outcome) => wrongCodes.inc({ outcome }),
    onLost(refusals, error) {
      unrecorded.inc(refusals);
      log.error({ err: error, part: 'ci', refusals }, 'Rejected exchanges could not be recorded');
    },
  });
  closers.add('keyless CI', () => ci.close());
  const issuerKind: CiDeps['issuerKind'] = (name) =>
    settings.ciIssuers.find((issuer) => issuer.name === name)?.kind;
  return { ci, issuerKind };
}

export interface IssuersBase
  extends Pick<RoomBase, 'clock' | 'log' | 'metrics' | 'health' | 'closers'> {
  readonly settings: Pick<Settings, 'ciIssuers'>;
}

/**
 * `closers` closes it. Nothing is fetched before the first token arrives, so that a service without
 * keyless CI calls no issuer. From then on, the keys are read every 5 minutes.
 */
export function openIssuers(base: IssuersBase): AssertionVerifier {
  const { settings, clock, log, metrics, health, closers } = base;
  const fetcher = createKeyFetcher();
  closers.add('CI issuers', () => fetcher.close());
  const fetches = metrics.counter(
    'svc_ci_keys_fetches_total',
    'Fetches of the keys of a CI issuer: ok, no_key (it lists no trusted key), failed',
    ['issuer', 'outcome'],
  );
  const issuers = settings.ciIssuers.map((issuer) => {
    const { name } = issuer;
    const keys = new IssuerKeys({
      name,
      clock,
      log,
      fetchKeys: (signal) => fetcher.fetch(issuer, signal),
      onFetched: (outcome) => fetches.inc({ issuer: name, outcome }),
    });
    health.watch({ kind: 'CI issuer', name: `CI issuer ${name}` }, () => keys.health());
    closers.add(`keys of CI issuer ${name}`, () => keys.close());
    return { issuer, keys };
  });
  exposeKeys(metrics, issuers);
  return createAssertionVerifier({ issuers, clock, onUnknownClaim: reportUnknownClaims(base) });
}

function exposeKeys(
  metrics: Metrics,
  issuers: readonly { readonly issuer: { readonly name: string }; readonly keys: IssuerKeys }[],
): void {
  metrics.gauge(
    'svc_ci_keys_age_seconds',
    'Time since the keys of a CI issuer were read; absent before the first read',
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
    'Trusted keys of a CI issuer; 0 = all of its tokens are rejected, absent = no keys are known',
    ['issuer'],
    (gauge) => {
      for (const { issuer, keys } of issuers) {
        const trusted = keys.trusted();
        if (trusted !== undefined) gauge.set({ issuer: issuer.name }, trusted);
      }
    },
  );
}

/** Maximum unknown claims that are logged, because a platform's customers may invent more. */
const LOGGED_CLAIMS_MAX = 200;
const NAME_LENGTH_MAX = 100;

/** Counts every unknown claim and logs each name once. */
function reportUnknownClaims({ metrics, log }: IssuersBase) {
  const seen = metrics.counter(
    'svc_ci_unknown_claims_total',
    'Claims of CI identity tokens that are unknown to this version',
    ['issuer'],
  );
  const logged = new Set<string>();
  return (issuer: string, name: string): void => {
    seen.inc({ issuer });
    const claim = name.slice(0, NAME_LENGTH_MAX);
    const key = `${issuer} ${claim}`;
    if (logged.has(key) || logged.size >= LOGGED_CLAIMS_MAX) return;
    logged.add(key);
    log.warn(
      { issuer, claim },
      'Tokens of the CI issuer have a claim that is unknown to this version, so it is not bound',
    );
  };
}
