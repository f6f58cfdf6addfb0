/** The system's randomness: what is drawn in advance is given away once. */
import t from 'tap';
import { systemRandom } from '../../streams/platform/random.ts';

t.test('bytes have the length asked for, and none are given twice', (t) => {
  const seen = new Set<string>();
  for (let n = 0; n < 2_000; n++) {
    const length = [16, 32, 256, 257, 5_000][n % 5] ?? 0;
    const bytes = systemRandom.bytes(length);
    t.equal(bytes.length, length);
    seen.add(Buffer.from(bytes.subarray(0, 16)).toString('hex'));
    // What its owner does with it must not show in what others get.
    bytes.fill(7);
  }
  t.equal(seen.size, 2_000);
  t.equal(systemRandom.bytes(0).length, 0);
  t.end();
});
