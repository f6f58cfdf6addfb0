/**
 * Interrupted upgrades: an older program does not change rows of a newer one. It moves no row of a
 * newer version, and stops acting for a project that has one.
 */
import { newerShares, programFormats } from '../../../actors/platform/host/formats.ts';
import { SHARES, shareOf } from '../../../streams/platform/membership/roster.ts';
import type { Member } from '../member.ts';
import { NEWER, OLDER } from '../programs.ts';
import type { Run } from '../run.ts';
import type { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

const INVARIANT = 'no program touches what a newer one wrote';

/** A row's version never falls: every writer knows the version that the row has. */
export function* movedByOlder({ steps }: Facts): Generator<Problem> {
  const versions = new Map<string, number>();
  for (const { project, sequence, writer, step, elapsedMs: atMs } of steps) {
    const { machine, instance, version } = step;
    const key = `${project} ${machine} ${instance}`;
    const before = versions.get(key) ?? 0;
    versions.set(key, Math.max(before, version));
    if (version >= before) continue;
    const text = `${writer} moves ${instance} at ${sequence} by version ${version} of ${machine}, which has ${before}`;
    yield { invariant: INVARIANT, text, atMs };
  }
}

const WATCH_MS = 900;
/**
 * Maximum time until a member reports and hands over what it is too old for, without other changes,
 * ms.
 */
const HANDED_OVER_MS = 20_000;

/**
 * Checks now and then who acts for projects that are too new for it, while a newer member could
 * act. Without one, the older member continues with the rows that it can move.
 */
export function watchOlder({ world, cluster }: Run, projects: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const since = new Map<string, number>();
  let newerSinceMs = Number.POSITIVE_INFINITY;
  const look = (): void => {
    const { elapsedMs: atMs } = world;
    const fromMs = atMs - HANDED_OVER_MS;
    newerSinceMs = cluster.members.some(isNewerActing) ? Math.min(newerSinceMs, atMs) : Infinity;
    const isQuiet =
      newerSinceMs <= fromMs &&
      cluster.members.every((member) => member.isWellIn(fromMs, atMs)) &&
      !cluster.isLeaderlessIn(fromMs, atMs);
    for (const { name, machine, process } of cluster.members) {
      if (process?.program !== OLDER) continue;
      for (const project of projects) {
        const key = `${name} ${project}`;
        if (!newerShares(machine.opened(), programFormats(OLDER.machines)).has(shareOf(project))) {
          since.delete(key);
          continue;
        }
        const knownMs = since.get(key) ?? atMs;
        since.set(key, knownMs);
        if (!isQuiet || knownMs > fromMs || !process.doors?.ownership.owns(project)) continue;
        const text = `${name} acts for ${project}, whose rows are too new for it`;
        problems.push({ invariant: INVARIANT, text, atMs });
      }
    }
    world.in(WATCH_MS, look);
  };
  if (cluster.isUpgraded) world.in(WATCH_MS, look);
  return problems;
}

/** An active member holds something: shares are spread evenly over all members. */
function isNewerActing({ process }: Member): boolean {
  const ownership = process?.program === NEWER ? process.doors?.ownership : undefined;
  return SHARES.some(
    (share) => typeof share === 'number' && ownership?.epochOf(share) !== undefined,
  );
}
