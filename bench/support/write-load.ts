/**
 * A sender of `WriteSamples` that costs little compared with the service on the same machine:
 * requests are encoded once, and times and values are written into their bytes before each sending.
 * Connections send one request after another, as collectors do; no pipelining.
 */
import { connect, type Socket } from 'node:net';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type RowSchema,
  WriteSamplesRequestSchema,
  WriteSamplesResponseSchema,
} from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { EXPANDED_SERIES } from '../../streams/telemetry/metrics/catalogue.ts';
import { parseLabels, splitSeriesKey } from '../../streams/telemetry/samples/batch.ts';
import { FLEET_SERIES, fleetVm } from '../../test/support/fleet.ts';
import type { Demo } from '../../test/support/program.ts';

export interface LoadOptions {
  readonly demo: Demo;
  readonly connections: number;
  /** Rows per request, each of another VM. */
  readonly rows: number;
  /** VMs of the fleet; a multiple of `rows`. */
  readonly vms: number;
  /** Duration of sending, ms. */
  readonly durationMs: number;
  /** Observation time of the first rows, Unix ms; each VM's next is 30 s later. */
  readonly fromMs: number;
}

export interface LoadResult {
  readonly requests: number;
  /** Samples that the service has stored, from its responses. */
  readonly samples: number;
  readonly seconds: number;
  /** Time from sending to the response, ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Values of a row: those that a hypervisor reports, since agents alone may send the others. */
const ROW_SERIES = FLEET_SERIES.filter((key) => !EXPANDED_SERIES.has(key.split('{', 1)[0] ?? ''));
const STEP_MS = 30_000;
/** A time that takes six bytes on the wire, as every current time does. */
const PLACEHOLDER_MS = 1_700_000_000_000n;

/** Sends for `durationMs`, then waits for the last responses. Throws unless all samples are stored. */
export async function sendLoad(options: LoadOptions): Promise<LoadResult> {
  const { rows, vms, connections } = options;
  const requests = Array.from({ length: vms / rows }, (_, i) => new PreparedRequest(options, i));
  const took: number[] = [];
  let samples = 0;
  const onAnswer = (ms: number, accepted: number): void => {
    took.push(ms);
    samples += accepted;
  };
  const startedMs = performance.now();
  let next = 0;
  const take = (): Buffer | undefined => {
    if (performance.now() - startedMs > options.durationMs) return undefined;
    const n = next++;
    const round = Math.floor(n / requests.length);
    return requests[n % requests.length]?.at(options.fromMs + round * STEP_MS, round);
  };
  await Promise.all(
    Array.from({ length: connections }, () => converse(options.demo, take, onAnswer)),
  );
  const seconds = (performance.now() - startedMs) / 1000;
  took.sort((a, b) => a - b);
  return {
    requests: took.length,
    samples,
    seconds,
    p50Ms: took[Math.floor(took.length * 0.5)] ?? 0,
    p99Ms: took[Math.floor(took.length * 0.99)] ?? 0,
  };
}

/** Sends one reading of each VM per call. Rejects unless all samples are stored. */
export function preparedRounds(
  options: Omit<LoadOptions, 'durationMs' | 'fromMs'>,
): (observedMs: number, round: number) => Promise<void> {
  const { rows, vms, connections, demo } = options;
  const requests = Array.from({ length: vms / rows }, (_, i) => new PreparedRequest(options, i));
  return async (observedMs, round) => {
    let next = 0;
    const take = (): Buffer | undefined => requests[next++]?.at(observedMs, round);
    await Promise.all(Array.from({ length: connections }, () => converse(demo, take, () => {})));
  };
}

/** One request's bytes, and the positions of times and values in them. */
class PreparedRequest {
  readonly #bytes: Buffer;
  readonly #times: readonly number[];
  readonly #values: readonly number[];

  constructor({ demo, rows }: Pick<LoadOptions, 'demo' | 'rows'>, index: number) {
    const body = encodeRows(demo.projectName, index * rows, rows);
    const { host } = new URL(demo.baseUrl);
    const head = [
      'POST /svc.ingest.v1.IngestService/WriteSamples HTTP/1.1',
      `host: ${host}`,
      'content-type: application/proto',
      'connect-protocol-version: 1',
      `authorization: Bearer ${demo.collectorKey}`,
      `content-length: ${body.length}`,
    ];
    this.#bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]);
    const time = Buffer.from([0x10, ...varint(PLACEHOLDER_MS)]);
    this.#times = placesOf(time, this.#bytes);
    const value = Buffer.alloc(9, 0x19);
    value.writeDoubleLE(PLACEHOLDER_VALUE, 1);
    this.#values = placesOf(value, this.#bytes);
  }

  /** The bytes with this observation time, and the values of a counter at that time. */
  at(observedMs: number, round: number): Buffer {
    // A copy: the bytes of an earlier round may still be on their way to the socket.
    const bytes = Buffer.from(this.#bytes);
    const time = Buffer.from(varint(BigInt(observedMs)));
    for (const at of this.#times) time.copy(bytes, at);
    let n = 0;
    for (const at of this.#values) {
      const base = 1e6 * (n % ROW_SERIES.length);
      bytes.writeDoubleLE(base + round * (100 + (n % 7)) + (n % 3 === 0 ? 0.25 : 0), at);
      n++;
    }
    return bytes;
  }
}

/** Positions of `tagged` (a tag byte and a placeholder): those after the tag. */
function placesOf(tagged: Buffer, bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(tagged); at >= 0; at = bytes.indexOf(tagged, at + 1)) {
    places.push(at + 1);
  }
  return places;
}

const PLACEHOLDER_VALUE = 12_345.678;

function encodeRows(projectName: string, firstVm: number, rows: number): Uint8Array {
  const values = ROW_SERIES.map((key) => {
    const { name, labels } = splitSeriesKey(key);
    return { series: name, labels: parseLabels(labels), value: PLACEHOLDER_VALUE };
  });
  return toBinary(
    WriteSamplesRequestSchema,
    create(WriteSamplesRequestSchema, {
      projectName,
      rows: Array.from(
        { length: rows },
        (_, i): MessageInitShape<typeof RowSchema> => ({
          vmName: fleetVm(firstVm + i),
          observedUnixMs: PLACEHOLDER_MS,
          bootId: `b0075eed-0000-4000-8000-${String(firstVm + i).padStart(12, '0')}`,
          sequence: 1n,
          vcpus: 4,
          state: 1,
          values,
        }),
      ),
    }),
  );
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

/** Calls `onAnswer` with the time until each response, ms, and the samples that it has stored. */
function converse(
  { baseUrl }: Demo,
  take: () => Buffer | undefined,
  onAnswer: (ms: number, accepted: number) => void,
): Promise<void> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    let sentMs = 0;
    let received: Buffer = Buffer.alloc(0);
    const send = (): void => {
      const request = take();
      if (request === undefined) {
        socket.end();
        return;
      }
      sentMs = performance.now();
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => {
      try {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const accepted = acceptedSamples(received);
        if (accepted === undefined) return;
        received = Buffer.alloc(0);
        onAnswer(performance.now() - sentMs, accepted);
        send();
      } catch (error) {
        reject(error);
        socket.destroy();
      }
    });
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}

/** Undefined until the response is complete. Throws unless it is a 200 without a rejection. */
function acceptedSamples(received: Buffer): number | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = received.toString('latin1', 0, headEnd);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
  const body = received.subarray(headEnd + 4);
  if (body.length < length) return undefined;
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`${head}\n\n${body}`);
  const { accepted, rejected } = fromBinary(WriteSamplesResponseSchema, body);
  if (rejected[0])
    throw new Error(`The service refused ${rejected[0].field}: ${rejected[0].message}`);
  return Number(accepted);
}
