/**
 * Prometheus remote write 1.0: the protobuf message `WriteRequest` in a snappy block. Both are
 * written by hand, because a test needs only one message of four fields and no compression.
 * Sources: remote write specification 1.0; snappy `format_description.txt`.
 */

/** One series; samples in order of time. */
export interface RemoteSeries {
  readonly labels: readonly (readonly [name: string, value: string])[];
  readonly samples: readonly { readonly timeMs: number; readonly value: number | 'stale' }[];
}

/** NaN that marks the end of a series. */
const STALE_MARKER = 0x7ff0000000000002n;

export function encodeRemoteWrite(series: readonly RemoteSeries[]): Uint8Array<ArrayBuffer> {
  return snappyLiterals(Buffer.concat(series.map((one) => field(1, encodeSeries(one)))));
}

function encodeSeries({ labels, samples }: RemoteSeries): Buffer {
  const sorted = [...labels].sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const pairs = sorted.map(([name, value]) =>
    field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from(value))])),
  );
  return Buffer.concat([...pairs, ...samples.map((sample) => field(2, encodeSample(sample)))]);
}

function encodeSample({ timeMs, value }: RemoteSeries['samples'][number]): Buffer {
  const bytes = Buffer.alloc(10);
  bytes[0] = (1 << 3) | 1;
  if (value === 'stale') bytes.writeBigUInt64LE(STALE_MARKER, 1);
  else bytes.writeDoubleLE(value, 1);
  bytes[9] = 2 << 3;
  return Buffer.concat([bytes, varint(timeMs)]);
}

/** A length-delimited field. */
function field(number: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(body.length), body]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  return Buffer.from([...bytes, left]);
}

/** Literals of at most 64 KiB form a valid block by themselves. */
function snappyLiterals(data: Buffer): Uint8Array<ArrayBuffer> {
  const parts: Buffer[] = [varint(data.length)];
  for (let at = 0; at < data.length; at += 65_536) {
    const literal = data.subarray(at, at + 65_536);
    const size = literal.length - 1;
    parts.push(Buffer.from([61 << 2, size & 255, size >> 8]), literal);
  }
  return new Uint8Array(Buffer.concat(parts));
}
