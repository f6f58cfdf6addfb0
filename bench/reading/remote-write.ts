/**
 * Batches as Prometheus remote write 1.0 requests, which both peers accept: hand-written protobuf
 * in a snappy frame of literals, so that the sender costs little compared with the receiver.
 */
import {
  parseLabels,
  type SampleBatch,
  splitSeriesKey,
} from '../../streams/telemetry/samples/batch.ts';

export type VmLabels = (vm: string) => Readonly<Record<string, string>>;

/** Samples of several batches, grouped by series. */
export class RemoteWrite {
  readonly #labelsOf: VmLabels;
  /** Encoded labels of each series of each VM. */
  readonly #labels = new Map<string, Buffer[]>();
  readonly #samples = new Map<Buffer, { timeMs: number; value: number }[]>();
  #count = 0;

  constructor(labelsOf: VmLabels) {
    this.#labelsOf = labelsOf;
  }

  get count(): number {
    return this.#count;
  }

  add(batch: SampleBatch): void {
    for (let row = 0; row < batch.count; row++) {
      const vm = batch.vms[batch.vm[row] as number]?.vm ?? '';
      const layout = batch.layouts[batch.layout[row] as number]?.series ?? [];
      const series = this.#seriesOf(vm, layout);
      const offset = batch.valueOffset[row] as number;
      const timeMs = batch.observedMs[row] as number;
      for (const [i, labels] of series.entries()) {
        const samples = this.#samples.get(labels) ?? [];
        if (samples.length === 0) this.#samples.set(labels, samples);
        samples.push({ timeMs, value: batch.values[offset + i] as number });
      }
      this.#count += series.length;
    }
  }

  /** The request's body with everything added since the last call. */
  take(): Buffer {
    const parts: Buffer[] = [];
    for (const [labels, samples] of this.#samples) {
      const encoded = samples.map(encodeSample);
      const length = labels.length + encoded.reduce((sum, each) => sum + each.length, 0);
      parts.push(Buffer.from([0x0a, ...varint(length)]), labels, ...encoded);
    }
    this.#samples.clear();
    this.#count = 0;
    return snappyLiterals(Buffer.concat(parts));
  }

  #seriesOf(vm: string, layout: readonly string[]): Buffer[] {
    let series = this.#labels.get(vm);
    if (series === undefined) {
      series = layout.map((key) => {
        const { name, labels } = splitSeriesKey(key);
        const all = { __name__: name, ...parseLabels(labels), ...this.#labelsOf(vm) };
        return Buffer.concat(Object.entries(all).sort(byName).map(encodeLabel));
      });
      this.#labels.set(vm, series);
    }
    return series;
  }
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

function encodeLabel([name, value]: readonly [string, string]): Buffer {
  const [n, v] = [Buffer.from(name), Buffer.from(value)];
  const body = [0x0a, ...varint(n.length), ...n, 0x12, ...varint(v.length), ...v];
  return Buffer.from([0x0a, ...varint(body.length), ...body]);
}

function encodeSample({ timeMs, value }: { timeMs: number; value: number }): Buffer {
  const time = varint(timeMs);
  const bytes = Buffer.alloc(12 + time.length);
  bytes[0] = 0x12;
  bytes[1] = 10 + time.length;
  bytes[2] = 0x09;
  bytes.writeDoubleLE(value, 3);
  bytes[11] = 0x10;
  bytes.set(time, 12);
  return bytes;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  bytes.push(left);
  return bytes;
}

/** Literals alone are valid snappy (format_description.txt, section 2.1). */
function snappyLiterals(data: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from(varint(data.length))];
  for (let at = 0; at < data.length; at += 65_536) {
    const literal = data.subarray(at, at + 65_536);
    const size = literal.length - 1;
    parts.push(Buffer.from([61 << 2, size & 255, size >> 8]), literal);
  }
  return Buffer.concat(parts);
}
