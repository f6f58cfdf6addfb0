/**
 * Asks the kernel how full file systems are, without ever waiting for a dead one.
 *
 * Asking about a network file system whose server is gone blocks in the kernel, without end and
 * beyond any signal. In this process that would take one of libuv's four threads each time, and
 * with the fourth every file read of ours would stop. So another process asks: `stat -f`, one for
 * all local mounts and one for each remote mount. A mount whose last process has not ended yet is
 * not asked again, so there is never more than one stuck process a mount.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { ObservedValue, SourceFault } from '../collector.ts';
import type { RunCommand } from '../command.ts';
import { fileSystemValues, type Mount, parseStatLine, STAT_FORMAT } from './mounts.ts';

export interface FileSystemReading {
  readonly values: readonly ObservedValue[];
  readonly faults: readonly SourceFault[];
}

export interface FileSystemReader {
  /** Ends by the deadline; a mount that did not answer has no values and a fault. */
  read(mounts: readonly Mount[], signal: AbortSignal): Promise<FileSystemReading>;
}

/** @param options `deadlineMs` for each process */
export function createFileSystemReader(options: {
  readonly run: RunCommand;
  readonly clock: Clock;
  readonly deadlineMs: number;
}): FileSystemReader {
  /** Mount points whose process has not ended, by the name of their group. */
  const stuck = new Set<string>();

  const ask = async (group: readonly Mount[], signal: AbortSignal): Promise<FileSystemReading> => {
    const paths = group.map((mount) => mount.mountpoint);
    const name = paths.join('\n');
    if (stuck.has(name)) return { values: [], faults: [notAnswering(paths)] };
    stuck.add(name);
    const outcome = await options.run(
      {
        file: 'stat',
        args: ['-f', '-c', STAT_FORMAT, '--', ...paths],
        deadlineMs: options.deadlineMs,
        signal,
      },
      options.clock,
    );
    void outcome.gone.then(() => stuck.delete(name));
    if (outcome.kind === 'killed') return { values: [], faults: [notAnswering(paths)] };
    if (outcome.kind === 'missing') return { values: [], faults: [statMissing] };
    if (outcome.kind === 'failed') return { values: [], faults: [couldNotAsk(outcome.error)] };
    return answered(group, outcome.stdout, outcome.stderr);
  };

  return {
    async read(mounts, signal) {
      const local = mounts.filter((mount) => !mount.remote);
      const groups = mounts.filter((mount) => mount.remote).map((mount) => [mount]);
      if (local.length > 0) groups.unshift(local);
      const readings = await Promise.all(groups.map((group) => ask(group, signal)));
      return {
        values: readings.flatMap((reading) => reading.values),
        faults: readings.flatMap((reading) => reading.faults),
      };
    },
  };
}

function answered(group: readonly Mount[], stdout: string, stderr: string): FileSystemReading {
  const byPath = new Map(group.map((mount) => [mount.mountpoint, mount]));
  const values = stdout.split('\n').flatMap((line) => {
    const read = parseStatLine(line);
    const mount = read && byPath.get(read.path);
    return mount ? fileSystemValues({ ...mount, ...read }) : [];
  });
  const complaint = stderr.trim().split('\n')[0];
  if (!complaint) return { values, faults: [] };
  return { values, faults: [{ reason: 'INCOMPLETE', message: `file systems: ${complaint}` }] };
}

const statMissing: SourceFault = {
  reason: 'SOURCE_MISSING',
  message: 'no program "stat" on this machine: install coreutils to see file systems',
};

function couldNotAsk(error: string): SourceFault {
  return { reason: 'INCOMPLETE', message: `file systems: could not run "stat": ${error}` };
}

function notAnswering(paths: readonly string[]): SourceFault {
  return {
    reason: 'TIMED_OUT',
    message: `the file system at ${paths.join(', ')} does not answer: is its server reachable?`,
  };
}
