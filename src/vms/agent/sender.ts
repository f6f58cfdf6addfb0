/**
 * Sender of one batch, and the outcome: stored, rejected permanently, denied for this key, or to be
 * sent again later. The request has the same bytes each time it is sent.
 */

import { create, fromBinary, type JsonValue, toBinary } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { codeFromHttpStatus, errorFromJson } from '@connectrpc/connect/protocol-connect';
import type { Clock } from '../../../streams/platform/clock.ts';
import { withDeadline } from '../../../streams/platform/deadline.ts';
import {
  type Rejected,
  RetireVmsRequestSchema,
  WriteSamplesRequestSchema,
  WriteSamplesResponseSchema,
} from '../../gen/svc/ingest/v1/ingest_pb.ts';
import { ErrorInfoSchema } from '../../gen/svc/options/v1/error_pb.ts';
import { SCHEMA_VERSION, SCHEMA_VERSION_HEADER } from '../../platform/http/schema-version.ts';
import type { StoredEnrolment } from './enrolment-file.ts';
import type { BufferedBatch, RowFacts } from './row-buffer.ts';
import { rowMessage } from './row-message.ts';

export type SendOutcome =
  /** Durable at the service. It will never accept the rejected rows. */
  | { readonly kind: 'stored'; readonly accepted: number; readonly rejected: readonly Rejected[] }
  /** The service will never accept the batch. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The key is rejected. A new enrolment may help. `reason` is the service's, if it gave one. */
  | { readonly kind: 'denied'; readonly message: string; readonly reason?: string }
  | {
      readonly kind: 'later';
      readonly message: string;
      readonly reason?: string;
      readonly retryAfterMs?: number;
    };

/** The endpoint and credential of a sender, such as an agent's enrolment. */
export type SendAs = Pick<StoredEnrolment, 'endpoint' | 'key' | 'projectName' | 'vmName'>;

export type SendBatch = (
  enrolment: SendAs,
  batch: BufferedBatch,
  signal: AbortSignal,
) => Promise<SendOutcome>;

const PATH = '/svc.ingest.v1.IngestService/';
const DEADLINE_MS = 30_000;
const ANSWER_BYTES_MAX = 4 * 2 ** 20;
const RETRY_AFTER_MS_MAX = 3_600_000;
/**
 * Fields of the batch itself. A header or a name of the enrolment can be corrected; a row cannot.
 */
const BATCH_FIELD = /^(batchId|rows)\b/;

/** Never rejects: every failure is an outcome. */
export function createSender(clock: Clock): SendBatch {
  return async (enrolment, batch, signal) => {
    let body: Uint8Array<ArrayBuffer>;
    try {
      body = encode(enrolment, batch);
    } catch (error) {
      // A row that does not fit any message: the batch is divided until only that row is left.
      return { kind: 'refused', message: `a row cannot be encoded: ${causeOf(error)}` };
    }
    return post(clock, enrolment, { method: 'WriteSamples', body, signal });
  };
}

/**
 * Retires VMs in the project; never rejects. `stored` means done, for each VM retired or refused.
 */
export function createRetirer(clock: Clock) {
  return (
    enrolment: SendAs,
    { vms, requestId }: { readonly vms: readonly string[]; readonly requestId: string },
    signal: AbortSignal,
  ): Promise<SendOutcome> => {
    const { projectName } = enrolment;
    const request = create(RetireVmsRequestSchema, { projectName, requestId, vmNames: [...vms] });
    const body = toBinary(RetireVmsRequestSchema, request);
    return post(clock, enrolment, { method: 'RetireVms', body, signal });
  };
}

async function post(
  clock: Clock,
  { endpoint, key }: SendAs,
  call: {
    readonly method: 'WriteSamples' | 'RetireVms';
    readonly body: Uint8Array<ArrayBuffer>;
    readonly signal: AbortSignal;
  },
): Promise<SendOutcome> {
  const { method, body, signal } = call;
  const reason = () => new Error('no answer in time');
  const sent = async (ends: AbortSignal) => {
    const answer = await fetch(endpoint + PATH + method, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/proto',
        'connect-protocol-version': '1',
        [SCHEMA_VERSION_HEADER]: String(SCHEMA_VERSION),
      },
      body,
      // A redirect would send the key to another address.
      redirect: 'manual',
      signal: ends,
    });
    return outcomeOf(method, answer, await boundedBody(answer));
  };
  try {
    return await withDeadline(clock, { ms: DEADLINE_MS, reason, signal }, sent);
  } catch (error) {
    return { kind: 'later', message: `${new URL(endpoint).host}: ${causeOf(error)}` };
  }
}

function encode(
  { projectName, vmName }: SendAs,
  { id, rows }: BufferedBatch,
): Uint8Array<ArrayBuffer> {
  const request = create(WriteSamplesRequestSchema, {
    projectName,
    batchId: id,
    rows: rows.map(({ about, ...row }) => rowMessage({ ...(about ?? agentFacts(vmName)), ...row })),
  });
  return toBinary(WriteSamplesRequestSchema, request);
}

/** An agent reports no facts of its VM, because a hypervisor knows them better. */
export function agentFacts(vm: string): RowFacts {
  return { vm, displayName: '', bootId: '', state: 'UNKNOWN', stateReason: '' };
}

async function boundedBody(answer: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw new Error('the answer is too large to be from the service');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function outcomeOf(
  method: 'WriteSamples' | 'RetireVms',
  { status, headers }: Response,
  body: Buffer,
): SendOutcome {
  if (status === 200) {
    if (headers.get('content-type') !== 'application/proto') {
      return { kind: 'later', message: 'the response is not from the service. Check the endpoint' };
    }
    if (method === 'RetireVms') return { kind: 'stored', accepted: 0, rejected: [] };
    const { accepted, rejected } = fromBinary(WriteSamplesResponseSchema, body);
    return { kind: 'stored', accepted: Number(accepted), rejected };
  }
  const { reason, field, message } = refusalOf(status, headers, body);
  if (reason !== '' && (status === 401 || status === 403))
    return { kind: 'denied', message, reason };
  if (isFinal(status, reason, field)) return { kind: 'refused', message };
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterMs = Math.min(seconds * 1000, RETRY_AFTER_MS_MAX);
  const known = reason === '' ? {} : { reason };
  return { kind: 'later', message, ...known, ...(retryAfterMs > 0 && { retryAfterMs }) };
}

/**
 * true if the service rejects the batch itself, so that no repetition helps. Any other failure
 * keeps the batch, above all a fault on the way to the service.
 */
function isFinal(status: number, reason: string, field: string): boolean {
  if (status !== 400 && status !== 413) return false;
  return reason === 'REQUEST_TOO_LARGE' || (reason === 'INVALID_FIELD' && BATCH_FIELD.test(field));
}

/** `reason` is '' if a proxy on the way responded, not the service. */
function refusalOf(
  status: number,
  headers: Headers,
  body: Buffer,
): { readonly reason: string; readonly field: string; readonly message: string } {
  const plain = new ConnectError(`HTTP ${status}`, codeFromHttpStatus(status));
  try {
    const error = errorFromJson(JSON.parse(body.toString()) as JsonValue, headers, plain);
    const [info] = error.findDetails(ErrorInfoSchema);
    return {
      reason: info?.reason ?? '',
      field: info?.metadata.field ?? '',
      message: `${info?.reason ?? status}: ${error.rawMessage}`,
    };
  } catch {
    return { reason: '', field: '', message: `HTTP ${status}, not from the service` };
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof Error && 'code' in cause) return String(cause.code);
  return cause instanceof Error ? cause.message : String(cause);
}
