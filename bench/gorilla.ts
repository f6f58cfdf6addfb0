/**
 * Size of the same values in the XOR encoding of Gorilla (Pelkonen et al., VLDB 2015, §4.1.2): a
 * yardstick for our own figures. Prometheus stores its samples in it. Only values; timestamps would
 * be added.
 */

/** Number of samples after which Prometheus cuts a chunk of a series. */
const CHUNK_SAMPLES = 120;

/** Size of the values of one series, in chunks as cut by Prometheus, bytes. */
export function gorillaBytes(values: readonly number[]): number {
  let bytes = 0;
  for (let i = 0; i < values.length; i += CHUNK_SAMPLES) {
    bytes += Math.ceil(chunkBits(values.slice(i, i + CHUNK_SAMPLES)) / 8);
  }
  return bytes;
}

function chunkBits(values: readonly number[]): number {
  const view = new DataView(new ArrayBuffer(8));
  const bitsOf = (value: number): bigint => {
    view.setFloat64(0, value);
    return view.getBigUint64(0);
  };
  let bits = 64;
  let before = bitsOf(values[0] ?? 0);
  let [leading, trailing] = [-1, 0];
  for (const value of values.slice(1)) {
    const now = bitsOf(value);
    const xor = now ^ before;
    before = now;
    if (xor === 0n) {
      bits += 1;
      continue;
    }
    const digits = xor.toString(2);
    const zerosBefore = Math.min(31, 64 - digits.length);
    const zerosAfter = digits.length - digits.lastIndexOf('1') - 1;
    if (leading >= 0 && zerosBefore >= leading && zerosAfter >= trailing) {
      bits += 2 + 64 - leading - trailing;
    } else {
      [leading, trailing] = [zerosBefore, zerosAfter];
      bits += 2 + 5 + 6 + 64 - leading - trailing;
    }
  }
  return bits;
}
