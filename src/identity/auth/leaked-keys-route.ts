/**
 * `POST /v1/leaked-keys`: whoever finds a secret of this service, a scanner of repositories above all,
 * ends it by showing it. No credential is asked for: the text is the proof. The answer says of each
 * text whether it was ended now, and nothing else: one answer for what is unknown, over or badly
 * copied. Texts are in the body alone, which no log and no proxy keeps.
 *
 *     {"key": "svc_pk_..."}   {"keys": [...]}   [{"token": "svc_pk_..."}, ...]
 *     -> {"results": [{"revoked": true}, ...]}
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { AnonymousLimits } from '../../platform/http/anonymous-limits.ts';
import { ANONYMOUS_BODY_BYTES_MAX } from '../../platform/http-limits.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { addStrictHeaders, tellErrors } from '../sign-in/answers.ts';
import { LEAKED_TEXTS_MAX, type LeakReports } from './leak-reports.ts';

export interface LeakedKeysDeps {
  readonly leaks: LeakReports;
  readonly anonymousLimits: AnonymousLimits;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'counter'>;
}

const TEXT_CHARS_MAX = 4_096;
const REPORTER: Actor = { kind: 'service', name: 'service/leak-report' };

export async function addLeakedKeysRoute(
  app: FastifyInstance,
  deps: LeakedKeysDeps,
): Promise<void> {
  const { leaks, anonymousLimits, log, metrics } = deps;
  const refusals = metrics.counter(
    'svc_leak_report_refusals_total',
    'Reports of leaked secrets that were refused',
    ['cause'],
  );
  await app.register(async (scope) => {
    addStrictHeaders(scope);
    tellErrors(scope, log, (cause) => refusals.inc({ cause }), 'leaks');
    const admitted = new WeakMap<FastifyRequest, () => void>();
    scope.post(
      '/v1/leaked-keys',
      {
        bodyLimit: ANONYMOUS_BODY_BYTES_MAX,
        // Before the body is read: a report that ends nothing is spent, one that does costs nothing.
        onRequest: async (request) => {
          admitted.set(request, anonymousLimits.admit(request.ip));
        },
      },
      async (request) => {
        const ended = await leaks.report(REPORTER, textsIn(request.body));
        if (ended.some((each) => each !== undefined)) admitted.get(request)?.();
        return { results: ended.map((each) => ({ revoked: each !== undefined })) };
      },
    );
  });
}

/** The texts of a report. Throws INVALID_FIELD, never with a part of one. */
function textsIn(body: unknown): string[] {
  const list = Array.isArray(body) ? body : fieldOf(body, 'keys');
  const items: unknown[] = Array.isArray(list) ? list : [fieldOf(body, 'key')];
  const texts = items.map((item) => (typeof item === 'string' ? item : fieldOf(item, 'token')));
  if (texts.length === 0 || texts.length > LEAKED_TEXTS_MAX) {
    throw invalid(`A report has ${texts.length} texts: 1 to ${LEAKED_TEXTS_MAX}`);
  }
  return texts.map((text) => {
    if (typeof text !== 'string' || text.length > TEXT_CHARS_MAX) {
      throw invalid('The body is not {"key": "..."}, {"keys": [...]} or [{"token": "..."}]');
    }
    return text;
  });
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

function invalid(message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field: 'keys' });
}
