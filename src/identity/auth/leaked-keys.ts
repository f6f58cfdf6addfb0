/**
 * Reports of leaked secrets. Each text is recognised by its form, and the secret is revoked. Two
 * kinds are not recognised: a webhook's signing secret has no form of its own, and the link that
 * confirms a mail recipient gives no access.
 *
 * Anyone may send reports to `POST /v1/leaked-keys`, above all repository scanners. It needs no
 * credential, because the text is the proof. The response says of each text only whether it was
 * revoked now. Unknown, expired and miscopied texts get the same answer. Texts are in the body,
 * which no log and no proxy stores.
 *
 *     {"key": "svc_pk_..."}   {"keys": [...]}   [{"token": "svc_pk_..."}, ...]
 *     -> {"results": [{"revoked": true}, ...]}
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type EndedSecret, endLeaked, type FoundSecret } from '../../../actors/identity/leaks.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import type { AnonymousLimits } from '../../platform/http/anonymous-limits.ts';
import { ANONYMOUS_BODY_BYTES_MAX } from '../../platform/http-limits.ts';
import { hashKey, parseAnySecret } from '../../platform/keys.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { addStrictHeaders, sendErrors } from '../sign-in/answers.ts';
import type { AccessTokens } from './access-tokens.ts';

/** Maximum texts in one report: as many keys as fit into 24 KiB, enough for a scanner's batch. */
const LEAKED_TEXTS_MAX = 256;

export interface LeakReports {
  /**
   * Revokes the secret of each text at once. Returns the ended resource of each text, in order;
   * undefined = the text gives no access. Rejects with the errors of `Host.submit`.
   */
  report(by: Actor, texts: readonly string[]): Promise<readonly (EndedSecret | undefined)[]>;
}

export interface LeakReportsOptions {
  readonly host: Pick<Host, 'submit' | 'view' | 'findInstance' | 'findInstancesOf'>;
  readonly clock: Clock;
  readonly tokens: Pick<AccessTokens, 'looksLike' | 'verify'>;
  readonly metrics: Pick<Metrics, 'counter'>;
  readonly log: Log;
}

export function createLeakReports(options: LeakReportsOptions): LeakReports {
  const { host, clock, tokens, metrics, log } = options;
  const reported = metrics.counter('svc_leaked_secrets_total', 'Reported secrets', ['outcome']);
  const end = async (by: Actor, text: string): Promise<EndedSecret | undefined> => {
    const found = await recognise(tokens, text.trim());
    const ended = found && (await endLeaked(host, found, { by, nowMs: clock.now() }));
    reported.inc({ outcome: ended ? `ended_${ended.kind}` : 'nothing' });
    if (ended)
      log.warn({ name: ended.name, by: by.name, part: 'leaks' }, 'A leaked secret was ended');
    return ended;
  };
  return {
    async report(by, texts) {
      const ended = [];
      for (const text of texts) ended.push(await end(by, text));
      return ended;
    },
  };
}

async function recognise(
  tokens: LeakReportsOptions['tokens'],
  text: string,
): Promise<FoundSecret | undefined> {
  if (tokens.looksLike(text)) {
    try {
      const { project, connection, tokenEpoch } = await tokens.verify(text);
      return { kind: 'token', project, connection, tokenEpoch };
    } catch (error) {
      // An expired or foreign token gives no access.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
  const parsed = parseAnySecret(text);
  if (!parsed || parsed.kind === 'verify') return undefined;
  const { id, kind } = parsed;
  const hash = hashKey(text);
  switch (kind) {
    case 'pk':
    case 'sk':
    case 'col':
    case 'vm':
      return { kind: 'key', id, hash };
    default:
      return { kind, id, hash };
  }
}

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
    'Rejected reports of leaked secrets',
    ['cause'],
  );
  await app.register(async (scope) => {
    addStrictHeaders(scope);
    sendErrors(scope, log, (cause) => refusals.inc({ cause }), 'leaks');
    const admitted = new WeakMap<FastifyRequest, () => void>();
    scope.post(
      '/v1/leaked-keys',
      {
        bodyLimit: ANONYMOUS_BODY_BYTES_MAX,
        // Runs before the body is read. A report that ends nothing counts against the limit; one
        // that ends a secret is refunded.
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

/** The texts of a report. Throws INVALID_FIELD, without quoting a text. */
function textsIn(body: unknown): string[] {
  const list = Array.isArray(body) ? body : fieldOf(body, 'keys');
  const items: unknown[] = Array.isArray(list) ? list : [fieldOf(body, 'key')];
  const texts = items.map((item) => (typeof item === 'string' ? item : fieldOf(item, 'token')));
  if (texts.length === 0 || texts.length > LEAKED_TEXTS_MAX) {
    throw invalidField(
      'keys',
      `The report has ${texts.length} texts; it must have 1 to ${LEAKED_TEXTS_MAX}`,
    );
  }
  return texts.map((text) => {
    if (typeof text !== 'string' || text.length > TEXT_CHARS_MAX) {
      throw invalidField(
        'keys',
        'The body must be {"key": "..."}, {"keys": [...]} or [{"token": "..."}]',
      );
    }
    return text;
  });
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
