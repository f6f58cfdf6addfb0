/** Position tokens for test worlds: the real ones, under a key that is no secret. */
import { createPositions, type Positions, type PositionsOptions } from '../../src/http/sequence.ts';
import { seededRandom } from '../../streams/random.ts';

export function testPositions({
  host,
  clock,
}: Pick<PositionsOptions, 'host' | 'clock'>): Positions {
  return createPositions({ host, clock, random: seededRandom(7), key: new Uint8Array(32) });
}
