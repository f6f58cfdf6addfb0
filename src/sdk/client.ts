/**
 * A typed client of the API: the generated services over Connect's JSON, for one caller and one
 * service. It adds what every caller would otherwise have to write: the bearer token of each
 * request, waiting when the service requests it, and a bound in time and bytes. It invents no
 * request id, because a new one after a lost response would make a change twice.
 */
import {
  type Client,
  createClient as clientOf,
  type Interceptor,
  type Transport,
} from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Random, systemRandom } from '../../streams/platform/random.ts';
import { AuditService } from '../gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../gen/svc/monitoring/v1/monitoring_pb.ts';
import { ProjectService } from '../gen/svc/project/v1/project_pb.ts';
import { SEQUENTIAL_ATTEMPT_MS } from '../platform/http/dial.ts';
import { SCHEMA_VERSION, SCHEMA_VERSION_HEADER } from '../platform/http/schema-version.ts';
import { confidentialOrigin, type TokenSource, tokenGetter } from './access.ts';
import { createPrometheusQueries, type PrometheusQueries } from './prometheus-queries.ts';
import {
  DEFAULT_RETRIES,
  isRepeatable,
  metadataOf,
  type RetrySettings,
  reasonOf,
  retryWaitMs,
} from './retry.ts';

export type ClientOptions = TokenSource & {
  /** Origin of the service, `https://monitoring.example.com`; plain http only on this machine. */
  readonly baseUrl: string;
  /** Timeout of one call with its retries, ms; default 30 s. Does not apply to watches. */
  readonly timeoutMs?: number;
  readonly retries?: Partial<RetrySettings>;
  readonly clock?: Clock;
  readonly random?: Random;
};

export interface ServiceClient {
  readonly monitoring: Client<typeof MonitoringService>;
  readonly alerts: Client<typeof AlertService>;
  /** Maintenance windows. For people only: a key is refused with HUMAN_OPERATION. */
  readonly maintenance: Client<typeof MaintenanceService>;
  readonly automation: Client<typeof AutomationService>;
  /** The recorded changes of a project, and the machines that they changed. */
  readonly audit: Client<typeof AuditService>;
  /** Writes samples, with the key of a collector. */
  readonly ingest: Client<typeof IngestService>;
  /** Projects and their people. For people only: a key is refused with HUMAN_OPERATION. */
  readonly projects: Client<typeof ProjectService>;
  /** PromQL over one project's history. @param project id, or `projects/<id>` */
  readonly prometheus: (project: string) => PrometheusQueries;
}

const TIMEOUT_MS_DEFAULT = 30_000;
/** Responses have at most 4 MiB. A much larger response is not from this service. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Passed to the socket. Both families, because a type of Node lacks the second option. */
const CONNECTION = { family: 0, autoSelectFamilyAttemptTimeout: SEQUENTIAL_ATTEMPT_MS };

/**
 * Makes a client. It holds no connection that would have to be closed. Throws a `TypeError` for an
 * address to which no credential may be sent.
 *
 * Calls throw Connect's `ConnectError`; `reasonOf` and `metadataOf` read our part of it.
 */
export function createClient(options: ClientOptions): ServiceClient {
  const { timeoutMs = TIMEOUT_MS_DEFAULT, clock = systemClock, random = systemRandom } = options;
  const baseUrl = confidentialOrigin(options.baseUrl);
  const token = tokenGetter(options);
  const retries = { ...DEFAULT_RETRIES, ...options.retries };
  const connected = createConnectTransport({
    baseUrl,
    httpVersion: '1.1',
    useBinaryFormat: false,
    readMaxBytes: ANSWER_BYTES_MAX,
    nodeOptions: CONNECTION,
    interceptors: [
      repeated({ retries, clock, random }),
      // Innermost, because a later try may need a newer token.
      authorised(token),
    ],
  });
  const transport = timed(connected, timeoutMs);
  return {
    monitoring: clientOf(MonitoringService, transport),
    alerts: clientOf(AlertService, transport),
    maintenance: clientOf(MaintenanceService, transport),
    automation: clientOf(AutomationService, transport),
    audit: clientOf(AuditService, transport),
    ingest: clientOf(IngestService, transport),
    projects: clientOf(ProjectService, transport),
    prometheus: (project) =>
      createPrometheusQueries({ baseUrl, project, token, timeoutMs, retries, clock, random }),
  };
}

/** A UUID for `requestId` or the `id` of a new rule. Keep it for every resend of that change. */
export function newRequestId(random: Random = systemRandom): string {
  const bytes = random.bytes(16);
  // RFC 9562, section 5.4: version 4, variant 10.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** A call with its retries has a deadline, which it sends to the service. A watch has none. */
function timed(transport: Transport, timeoutMs: number): Transport {
  return {
    unary: (method, signal, callMs = timeoutMs, ...rest) =>
      transport.unary(method, signal, callMs, ...rest),
    stream: (...call) => transport.stream(...call),
  };
}

function repeated(ports: {
  readonly retries: RetrySettings;
  readonly clock: Clock;
  readonly random: Random;
}): Interceptor {
  const { retries, clock, random } = ports;
  return (next) => async (request) => {
    if (request.stream) return next(request);
    const isExchange = request.method.name === AutomationService.method.exchangeCiToken.name;
    let lost: unknown;
    for (let tries = 1; ; tries++) {
      try {
        return await next(request);
      } catch (error) {
        // The assertion arrived with the request whose response was lost.
        if (lost !== undefined && metadataOf(error).cause === 'REPLAYED') throw lost;
        const isRefused = reasonOf(error) !== undefined;
        if (isExchange && !isRefused) lost = error;
        // The service itself refused it explicitly, so nothing was done.
        const mayRepeat = isRepeatable(request.method, request.message) || isExchange || isRefused;
        const rule = { ...retries, waitsForAbsent: true, random };
        const waitMs = mayRepeat ? retryWaitMs(error, tries, rule) : undefined;
        if (waitMs === undefined || request.signal.aborted) throw error;
        await pause(clock, waitMs, request.signal);
        // Its time is over, so the last response is the result.
        if (request.signal.aborted) throw error;
      }
    }
  };
}

function authorised(token: () => Promise<string | undefined>): Interceptor {
  return (next) => async (request) => {
    request.header.set(SCHEMA_VERSION_HEADER, String(SCHEMA_VERSION));
    // The assertion is the proof, so a header beside it is refused (AUTH-07).
    if (request.method.name !== AutomationService.method.exchangeCiToken.name) {
      const bearer = await token();
      if (bearer !== undefined) request.header.set('authorization', `Bearer ${bearer}`);
    }
    return next(request);
  };
}
