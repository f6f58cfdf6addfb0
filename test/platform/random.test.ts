/** The system's randomness: bytes drawn in advance are handed out once. */
import { test } from 'tap';
import { systemRandom } from '../../streams/platform/random.ts';

test('bytes have the requested length, and none are returned twice', async (t) => {
  const seen = new Set<string>();
  for (let n = 0; n < 2_000; n++) {
    const length = [16, 32, 256, 257, 5_000][n % 5] ?? 0;
    const bytes = systemRandom.bytes(length);
    t.equal(bytes.length, length);
    seen.add(Buffer.from(bytes.subarray(0, 16)).toString('hex'));
    // A change of the returned bytes must not affect other callers.
    bytes.fill(7);
  }
  t.equal(seen.size, 2_000);
  t.equal(systemRandom.bytes(0).length, 0);
});
