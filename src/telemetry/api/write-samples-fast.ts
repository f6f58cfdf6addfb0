/**
 * Binary `WriteSamples` before the RPC framework: the same URL, policy and responses at a fraction
 * of the cost. It takes only requests that it can complete: a plain POST of a well-formed request
 * by a collector, for a project that it may write to. Everything else (JSON, gzip, malformed bytes,
 * rejections) goes to the framework with the bytes read so far, so that rules and error texts are
 * in one place.
 */
import { Buffer } from 'node:buffer';
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  RequestListener,
  ServerResponse,
} from 'node:http';
import { create, toBinary } from '@bufbuild/protobuf';
import { codeToHttpStatus, errorToJson } from '@connectrpc/connect/protocol-connect';
import type { FastifyInstance } from 'fastify';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { Ingest, WriteAnswer } from '../../../actors/telemetry/ingest/ingest-port.ts';
import { WriteSamplesResponseSchema } from '../../gen/svc/ingest/v1/ingest_pb.ts';
import type { Authenticator } from '../../platform/access/authenticator.ts';
import { reachesProject } from '../../platform/access/authorize.ts';
import type { CredentialPrincipal } from '../../platform/access/principal.ts';
import { asConnectError } from '../../platform/api/error-mapping.ts';
import {
  SCHEMA_VERSION_HEADER,
  schemaVersion,
  VALUES_EXPLICIT_FROM,
} from '../../platform/http/schema-version.ts';
import { SEQUENCE_HEADER, type SequenceDeps } from '../../platform/http/sequence.ts';
import { BODY_BYTES_MAX } from '../../platform/http-limits.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { projectExists, reachOf, writesAnywhere } from './ingest.ts';
import { answerMessage } from './write-samples-answer.ts';
import { type PlainWrite, WriteSamplesDecoder } from './write-samples-decoder.ts';

/** The same ports as on the full path, so that both count and limit alike. */
export interface FastWriteDeps extends SequenceDeps {
  readonly ingest: Ingest;
  readonly authenticator: Authenticator;
  readonly ingestRates: IngestRates;
  readonly host: Pick<Host, 'view'>;
  readonly metrics: Metrics;
  readonly log: Log;
}

const PATH = '/svc.ingest.v1.IngestService/WriteSamples';
const METHOD = 'WriteSamples';
const CONTENT_TYPE = 'application/proto';
/**
 * Installs the handler before the routes of `app`; call it before the server listens. It works
 * below fastify, on the server's `request` event: hooks and reply objects would cost as much again.
 */
export function addFastWriteSamples(app: FastifyInstance, deps: FastWriteDeps): void {
  const { server } = app;
  const [framework] = server.listeners('request') as RequestListener[];
  if (framework === undefined) throw new Error('The server has no request listener to replace');
  const handler = new FastWriteSamples(app, framework, deps);
  server.removeListener('request', framework);
  server.on('request', (request, response) => handler.handle(request, response));
}

class FastWriteSamples {
  readonly #requestId: (request: IncomingMessage) => string;
  readonly #framework: RequestListener;
  readonly #deps: FastWriteDeps;
  readonly #decoder = new WriteSamplesDecoder();
  readonly #answered = { written: 0, failed: 0, passedOn: 0 };
  #stopping = false;

  constructor(app: FastifyInstance, framework: RequestListener, deps: FastWriteDeps) {
    // Documented by fastify, but missing in its types.
    this.#requestId = (app as unknown as { genReqId: (request: unknown) => string }).genReqId;
    this.#framework = framework;
    this.#deps = deps;
    app.addHook('preClose', (done) => {
      this.#stopping = true;
      done();
    });
    deps.metrics.counter(
      'svc_write_samples_fast_total',
      'WriteSamples requests answered before the RPC framework',
      [],
      () => this.#answered.written + this.#answered.failed,
    );
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const principal = this.#takes(request) ? this.#collector(request) : undefined;
    if (principal === undefined) {
      this.#framework(request, response as Parameters<RequestListener>[1]);
      return;
    }
    const bytes = Number(request.headers['content-length']);
    // A collector for all projects names its project only in the body.
    if (!writesAnywhere(principal) && !this.#hasRoomFor(bytes, principal.project, response)) return;
    readBody(request, (body) => {
      try {
        this.#answer(principal, body, response);
      } catch (error) {
        // An exception in the server's own listener would end the program.
        this.#refuse(error, response);
      }
    });
  }

  /** Stores the rows of the body, or passes the request on. */
  #answer(principal: CredentialPrincipal, body: Buffer, response: ServerResponse): void {
    const write = this.#isStill(principal)
      ? this.#decoder.decode(
          body,
          (projectName) => this.#projectOf(principal, projectName),
          versionOf(response.req.headers) >= VALUES_EXPLICIT_FROM,
        )
      : undefined;
    if (write === undefined) {
      const request = response.req;
      request.pause();
      request.unshift(body);
      this.#framework(request, response as Parameters<RequestListener>[1]);
      return;
    }
    const { ingestRates } = this.#deps;
    if (writesAnywhere(principal)) ingestRates.checkBytes(write.project, body.length);
    ingestRates.spendBytes(write.project, body.length);
    void this.#write(principal, write, response);
  }

  /**
   * True if the project may send this many more bytes. Otherwise it responds with 429, the body
   * unread.
   */
  #hasRoomFor(bytes: number, project: string, response: ServerResponse): boolean {
    try {
      this.#deps.ingestRates.checkBytes(project, bytes);
      return true;
    } catch (error) {
      this.#refuse(error, response);
      return false;
    }
  }

  #takes({ method, url, headers }: IncomingMessage): boolean {
    if (url !== PATH || method !== 'POST' || this.#stopping) return false;
    if (headers['content-type'] !== CONTENT_TYPE) return false;
    const version = headers['connect-protocol-version'];
    if (version !== undefined && version !== '1') return false;
    const length = Number(headers['content-length']);
    return length > 0 && length <= BODY_BYTES_MAX && !changesReading(headers);
  }

  /**
   * The caller, if it is a collector. The framework rejects any other, in its words, and handles
   * every fault: an exception in the server's own listener would end the program.
   */
  #collector({ headers }: IncomingMessage): CredentialPrincipal | undefined {
    try {
      const principal = this.#deps.authenticator.authenticateKey(headers.authorization);
      return principal.capabilities.includes('collector') ? principal : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * True if the caller is still allowed, now that the body has arrived. Otherwise the framework
   * reports the reason.
   */
  #isStill(principal: CredentialPrincipal): boolean {
    try {
      return this.#deps.authenticator.revalidate(principal).capabilities.includes('collector');
    } catch {
      return false;
    }
  }

  /** Id of the project with this name, if the caller may write to it. */
  #projectOf(principal: CredentialPrincipal, projectName: string): string | undefined {
    if (!writesAnywhere(principal)) {
      return projectName === `projects/${principal.project}` ? principal.project : undefined;
    }
    const named = projectName.slice('projects/'.length);
    if (projectName !== `projects/${named}`) return undefined;
    if (!reachesProject(principal, named)) return undefined;
    return projectExists(this.#deps.host, named) ? named : undefined;
  }

  async #write(
    principal: CredentialPrincipal,
    { project, batchId, rows }: PlainWrite,
    response: ServerResponse,
  ): Promise<void> {
    const reach = reachOf(principal);
    try {
      const answer = await this.#deps.ingest.write({ project, reach, batchId, rows });
      this.#answered.written++;
      const position = this.#deps.positions.afterWrite(answer.sequence);
      const headers = { 'content-type': CONTENT_TYPE, [SEQUENCE_HEADER]: position };
      this.#send(response, 200, headers, encodeAnswer(answer, rows));
    } catch (error) {
      this.#refuse(error, response);
    }
  }

  #refuse(error: unknown, response: ServerResponse): void {
    this.#answered.failed++;
    const answer = asConnectError(error, METHOD, this.#deps.log);
    const headers = {
      [SEQUENCE_HEADER]: this.#deps.positions.current(),
      'content-type': 'application/json',
      ...Object.fromEntries(answer.metadata),
    };
    const body = Buffer.from(JSON.stringify(errorToJson(answer, undefined)));
    this.#send(response, codeToHttpStatus(answer.code), headers, body.toString('latin1'));
  }

  /**
   * @param bytes the body, one character per byte: Node then sends it in one piece with the headers
   */
  #send(
    response: ServerResponse,
    status: number,
    headers: Readonly<Record<string, string>>,
    bytes: string,
  ): void {
    response.writeHead(status, {
      ...headers,
      'content-length': bytes.length,
      'cache-control': 'no-store',
      'x-request-id': this.#requestId(response.req),
      ...(this.#stopping && { connection: 'close' }),
    });
    response.end(bytes, 'latin1');
  }
}

/** True for headers that change how a request is read or answered: the framework handles those. */
function changesReading(headers: IncomingHttpHeaders): boolean {
  return (
    headers['content-encoding'] !== undefined ||
    headers['transfer-encoding'] !== undefined ||
    headers['connect-timeout-ms'] !== undefined ||
    headers[SEQUENCE_HEADER] !== undefined ||
    Number.isNaN(versionOf(headers))
  );
}

/** Declared version of the schema; NaN if the header is not a number. */
function versionOf({ [SCHEMA_VERSION_HEADER]: header }: IncomingHttpHeaders): number {
  try {
    return schemaVersion(header?.toString());
  } catch {
    return Number.NaN;
  }
}

/**
 * Calls `done` with the whole body, within the event of its last bytes: until then they can be put
 * back. A body that ends early never calls it; the server's own timeouts end such a connection.
 */
function readBody(request: IncomingMessage, done: (body: Buffer) => void): void {
  const length = Number(request.headers['content-length']);
  let read: Buffer[] | undefined;
  let missing = length;
  const onData = (chunk: Buffer): void => {
    missing -= chunk.length;
    if (missing > 0) {
      read ??= [];
      read.push(chunk);
      return;
    }
    request.removeListener('data', onData);
    done(read === undefined ? chunk : Buffer.concat([...read, chunk], length));
  };
  request.on('data', onData);
}

/** The response in protobuf, one character per byte. */
function encodeAnswer(answer: WriteAnswer, rows: PlainWrite['rows']): string {
  const { accepted, duplicates, rejected } = answer;
  if (rejected.length === 0) return countField(1, accepted) + countField(2, duplicates);
  const valueIndexOf = (row: number, series: string) => {
    const at = rows[row]?.series.indexOf(series) ?? -1;
    return at < 0 ? undefined : at;
  };
  const init = answerMessage(answer, { valueIndexOf, notListed: 0 });
  const message = create(WriteSamplesResponseSchema, init);
  return Buffer.from(toBinary(WriteSamplesResponseSchema, message)).toString('latin1');
}

/** A field with a count below 2^31; proto3 leaves a zero out. */
function countField(number: number, count: number): string {
  if (count === 0) return '';
  let text = String.fromCharCode(number * 8);
  let rest = count;
  for (; rest > 127; rest >>>= 7) text += String.fromCharCode((rest & 127) | 128);
  return text + String.fromCharCode(rest);
}
