/**
 * CPU time of this process, including its threads and the children that have ended, from
 * `/proc/self/stat`, because `process.cpuUsage()` does not include children, and tests start many.
 * A child that was never waited for, such as that of a daemon, is missing.
 */
import { readFileSync } from 'node:fs';

/** Clock ticks in a second: the kernel reports this unit to programs on every platform of Node. */
const TICKS_PER_SECOND = 100;
/** Indexes of utime, stime, cutime and cstime, counted after the name in parentheses (proc(5)). */
const FIELDS = [11, 12, 13, 14];
const CHILDREN_FIELDS = FIELDS.slice(2);

/**
 * CPU time since the start of the process, ms. Without `/proc`, only that of the process itself.
 */
export function cpuMs(): number {
  try {
    return sumMs(FIELDS);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/** CPU time of the children that have ended, ms; 0 without `/proc`. */
export function endedChildrenCpuMs(): number {
  try {
    return sumMs(CHILDREN_FIELDS);
  } catch {
    return 0;
  }
}

function sumMs(indexes: readonly number[]): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = indexes.reduce((sum, field) => sum + Number(fields[field]), 0);
  return (ticks * 1000) / TICKS_PER_SECOND;
}
