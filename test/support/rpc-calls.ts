/**
 * Calls of a world's API: requests injected below the socket, with a key or as a signed-in person,
 * and their answers with the reason and metadata of an error.
 */
import { fromBinary } from '@bufbuild/protobuf';
import type { FastifyInstance } from 'fastify';
import { AuditService } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../../src/gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../../src/gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import { ErrorInfoSchema } from '../../src/gen/svc/options/v1/error_pb.ts';
import { ProjectService } from '../../src/gen/svc/project/v1/project_pb.ts';
import type { SignedIn } from './identities.ts';

/** Origin of the service in this world. A browser must send it with its cookie. */
export const ORIGIN = 'http://127.0.0.1:8080';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // Answers are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes
  readonly body: any;
  /** Reason and metadata of an error's `ErrorInfo`. */
  readonly reason?: string;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface CallOptions {
  /** Key. Default: the one that reads and writes `demo`; null = no Authorization header. */
  readonly key?: string | null;
  /** Calls as this person instead of with a key: sends the session's cookie and the Origin. */
  readonly person?: Pick<SignedIn, 'secret'>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Source address of the request; default 127.0.0.1. */
  readonly address?: string;
}

/** Ways to call the API as a client does, below the socket. */
export function callsOf(
  app: FastifyInstance,
  keys: { readonly write: string; readonly collector: string },
  settled: () => Promise<void>,
) {
  /** Sends one request with exactly these bytes. */
  async function send(
    path: string,
    payload: string | Buffer,
    { key = keys.write, person, headers = {}, address = '127.0.0.1' }: CallOptions = {},
  ): Promise<Answer> {
    const bearer = key === null ? {} : { authorization: `Bearer ${key}` };
    const credential = person ? cookieHeaders(person) : bearer;
    const response = await app.inject({
      method: 'POST',
      url: path,
      payload,
      remoteAddress: address,
      headers: { 'content-type': 'application/json', ...credential, ...headers },
    });
    return answerOf(response);
  }
  const call = (method: string, request: unknown, options?: CallOptions) => {
    const service = SERVICE_OF[method] ?? 'svc.monitoring.v1.AlertService';
    return send(`/${service}/${method}`, JSON.stringify(request), options);
  };
  /** Writes rows, by default of `vm-1`, through `WriteSamples` and into history. */
  async function write(rows: readonly SampleRow[]): Promise<Answer> {
    const named = rows.map(({ vm = 'vm-1', ...row }) => ({ vmName: vm, ...row }));
    const request = { projectName: 'projects/demo', rows: named };
    const answer = await call('WriteSamples', request, { key: keys.collector });
    await settled();
    return answer;
  }
  return { send, call, write };
}

/** Headers that a browser sends for a signed-in person: the cookie and the origin. */
export function cookieHeaders({ secret }: Pick<SignedIn, 'secret'>) {
  return { cookie: `svc_session=${secret}`, origin: ORIGIN };
}

/** A row of `WriteSamples`, as JSON. */
export interface SampleRow {
  readonly vm?: string;
  readonly observedUnixMs: number | string;
  readonly vcpus?: number;
  readonly state?: string;
  readonly bootId?: string;
  readonly sequence?: number;
  readonly stateReason?: string;
  readonly displayName?: string;
  readonly values?: readonly { series: string; labels?: object; value: number | string }[];
}

/** Service of each method, from the descriptors. */
const SERVICE_OF: Readonly<Record<string, string>> = Object.fromEntries(
  [
    MonitoringService,
    AlertService,
    IngestService,
    AuditService,
    AutomationService,
    ProjectService,
    MaintenanceService,
  ]
    .flatMap((service) => service.methods)
    .map((method) => [method.name, method.parent.typeName]),
);

interface Injected {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function answerOf({ statusCode, headers, body: text }: Injected): Answer {
  const body = text === '' || !text.startsWith('{') ? text : JSON.parse(text);
  const info = decodedInfo(body.details?.[0]?.value);
  return {
    status: statusCode,
    headers,
    body,
    ...(info?.reason === undefined ? {} : { reason: info.reason }),
    metadata: info?.metadata ?? {},
  };
}

/** ErrorInfo as clients read it, from the bytes of the detail. */
function decodedInfo(value: string | undefined) {
  if (value === undefined) return undefined;
  const { reason, metadata } = fromBinary(ErrorInfoSchema, Buffer.from(value, 'base64'));
  return { reason, metadata };
}
