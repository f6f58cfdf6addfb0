/** Position tokens for test worlds: real tokens under a key that is not secret. */
import type { ProjectBounds } from '../../src/platform/gate/project-gate.ts';
import {
  createPositions,
  type Positions,
  type PositionsOptions,
} from '../../src/platform/http/sequence.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { testBounds } from './bounds.ts';

export function testPositions({
  host,
  clock,
  bounds = testBounds(clock),
}: Pick<PositionsOptions, 'host' | 'clock'> & {
  readonly bounds?: Pick<ProjectBounds, 'gate'>;
}): Positions {
  const { gate } = bounds;
  return createPositions({ host, clock, gate, random: seededRandom(7), key: new Uint8Array(32) });
}
