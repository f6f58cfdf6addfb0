/**
 * A position of each partition in one stream, as stored in a member's record. Most partitions share
 * a position, so a record names that one, and the partitions that differ: at most 64, about a
 * kilobyte.
 */
import { PARTITIONS } from '../stream.ts';

export interface Positions {
  /** Position of all partitions that are not in `others`. */
  readonly most: number;
  /** Positions of the others, by partition. */
  readonly others: Readonly<Record<string, number>>;
}

/** Positions of all partitions. */
export function positionsOf(of: (partition: number) => number): Positions {
  const all = Array.from({ length: PARTITIONS }, (_, partition) => of(partition));
  const [most = []] = [...Map.groupBy(all, (position) => position).values()].sort(
    (a, b) => b.length - a.length,
  );
  const [shared = 0] = most;
  const others = [...all.entries()].filter(([, position]) => position !== shared);
  return { most: shared, others: Object.fromEntries(others) };
}

export function positionAt({ most, others }: Positions, partition: number): number {
  return others[partition] ?? most;
}

/** The position that every partition has reached. */
export function lowestOf({ most, others }: Positions): number {
  return Math.min(most, ...Object.values(others));
}

export function isPositions(value: unknown): value is Positions {
  if (typeof value !== 'object' || value === null) return false;
  const { most, others } = value as Partial<Record<keyof Positions, unknown>>;
  if (typeof others !== 'object' || others === null) return false;
  return [most, ...Object.values(others)].every(Number.isFinite);
}
