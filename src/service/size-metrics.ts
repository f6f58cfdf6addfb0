/**
 * How full everything is: memory for new rows, disks, the sample log and its readers, the age of
 * copies, and the projects nearest to a limit. `docs/operations/alerts.yml` has a rule for each
 * bound, which fires before anything is refused.
 */
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { LimitName } from '../../actors/platform/project-limits.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import type { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { History } from '../../sqlite/telemetry/history/store/store.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import type { ProjectLimitUse } from '../platform/gate/limit-use.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Disks } from './disks.ts';

export interface SizeParts {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly history: Pick<History, 'stats'>;
  readonly stream: Pick<Stream, 'state'>;
  /** Positions in SAMPLES up to which each reader has handled everything. */
  readonly readers: Readonly<Record<Reader, () => number>>;
  readonly host: Pick<Host, 'projects'>;
  readonly registry: Pick<VmRegistry, 'countOf'>;
  readonly limitUse: Pick<ProjectLimitUse, 'of'>;
  readonly disks: Disks;
  readonly copies: CopyTimes;
}

/** `history` makes rows readable, `evaluator` decides on them. */
type Reader = 'history' | 'evaluator';

/** Times of the newest copies, Unix ms; undefined: none is known here. */
export interface CopyTimes {
  readonly backup: () => number | undefined;
  /** Absent: no other member can join. */
  readonly snapshot?: () => number | undefined;
  readonly checkpoint: () => number | undefined;
}

/** Registers the gauges. The parts keep those current that cost more than a look. */
export function openSizeMetrics(parts: SizeParts): readonly Part[] {
  addFleetGauges(parts);
  addDiskGauges(parts);
  addCopyGauges(parts);
  return [sampleLogPart(parts), projectUsePart(parts)];
}

function addFleetGauges({ metrics, history, host, registry }: SizeParts): void {
  const projects = () => projectsOf(host);
  metrics.gauge('svc_projects', 'Projects of the service', [], (gauge) =>
    gauge.set(projects().length),
  );
  metrics.gauge('svc_vms', 'Registered VMs of all projects, without retired ones', [], (gauge) =>
    gauge.set(projects().reduce((sum, project) => sum + registry.countOf(project), 0)),
  );
  metrics.gauge(
    'svc_series',
    'Series of the VMs that reported within the retention, since the start',
    [],
    (gauge) => gauge.set(history.stats().series),
  );
  metrics.gauge(
    'svc_head_used_bytes',
    'Memory used by rows that are not in history.db yet, and by their texts',
    [],
    (gauge) => gauge.set(history.stats().headBytes.used),
  );
  metrics.gauge(
    'svc_head_max_bytes',
    'Bound of svc_head_used_bytes, from SVC_HEAD_MIB',
    [],
    (gauge) => gauge.set(history.stats().headBytes.max),
  );
  metrics.gauge(
    'svc_history_file_bytes',
    'Size of history.db and its write-ahead log',
    [],
    (gauge) => gauge.set(history.stats().fileBytes),
  );
}

function projectsOf(host: Pick<Host, 'projects'>): string[] {
  return host.projects().filter((project) => project !== SYSTEM_PROJECT);
}

function addDiskGauges({ metrics, disks: { data, history } }: SizeParts): void {
  const states = () => [
    ['data', data()] as const,
    ...(history ? [['history', history()] as const] : []),
  ];
  metrics.gauge(
    'svc_disk_free_bytes',
    'Free space on the disk of SVC_DATA, and of SVC_HISTORY_DATA if that is another folder',
    ['disk'],
    (gauge) => {
      for (const [disk, { freeBytes }] of states()) gauge.set({ disk }, freeBytes);
    },
  );
  metrics.gauge(
    'svc_disk_reserve_bytes',
    'Free space that changes may not use up, SVC_DISK_RESERVE',
    ['disk'],
    (gauge) => {
      for (const [disk, { reserveBytes }] of states()) gauge.set({ disk }, reserveBytes);
    },
  );
}

/** Without a copy, its gauge has no sample: absent is not zero. */
function addCopyGauges({ metrics, copies: { backup, snapshot, checkpoint } }: SizeParts): void {
  metrics.gauge(
    'svc_backup_timestamp_seconds',
    'Time of the state in the last backup that this process made, Unix time; absent: it made none',
    [],
    setSeconds(backup),
  );
  if (snapshot !== undefined) {
    metrics.gauge(
      'svc_snapshot_timestamp_seconds',
      'Time up to which the newest snapshot for joining members has every commit, Unix time; only at the member that writes it',
      [],
      setSeconds(snapshot),
    );
  }
  metrics.gauge(
    'svc_checkpoint_timestamp_seconds',
    'Time from which a restart has to read the sample log to decide alerts, Unix time',
    [],
    setSeconds(checkpoint),
  );
}

function setSeconds(timeMs: () => number | undefined) {
  return (gauge: { remove(): void; set(value: number): void }): void => {
    const ms = timeMs();
    if (ms === undefined) gauge.remove();
    else gauge.set(ms / 1000);
  };
}

/** Interval at which the end of the log is read, ms. */
const LOOK_MS = 5_000;
/**
 * Number of remembered reads: ten minutes. A reader that is further behind is reported with that
 * lag.
 */
const LOOKS_MAX = 120;

/** An end of the log, and when it was seen. */
interface SeenEnd {
  readonly atMs: number;
  readonly sequence: number;
}

/**
 * A reader's lag is the time since everything that was in the log has been handled. It needs no
 * clock of a sender and no decoded entry, so it also holds for a reader that reads nothing.
 */
function sampleLogPart({ metrics, clock, stream, readers }: SizeParts): Part {
  const lag = metrics.gauge(
    'svc_sample_log_lag_seconds',
    'Time since everything in the sample log had been handled by a reader, at most 10 minutes',
    ['reader'],
  );
  const behind = metrics.gauge(
    'svc_sample_log_lag_entries',
    'Entries of the sample log that a reader has not handled',
    ['reader'],
  );
  const length = metrics.gauge(
    'svc_sample_log_entries',
    'Entries in the sample log, which a restart reads',
  );
  // Absent until the first look.
  length.remove();
  let ends: SeenEnd[] = [];
  const look = async (): Promise<void> => {
    const { lastSequence, messages } = await stream.state(SAMPLES_STREAM);
    const nowMs = clock.elapsed();
    ends.push({ atMs: nowMs, sequence: lastSequence });
    if (ends.length > LOOKS_MAX) ends.shift();
    length.set(messages);
    for (const [reader, through] of Object.entries(readers)) {
      const sequence = through();
      const seen = ends.findLast((end) => end.sequence <= sequence);
      const sinceMs = seen?.atMs ?? ends[0]?.atMs ?? nowMs;
      lag.set({ reader }, (nowMs - sinceMs) / 1000);
      behind.set({ reader }, Math.max(0, lastSequence - sequence));
    }
  };
  return {
    name: 'sample log lag',
    async run(signal) {
      ends = [];
      while (!signal.aborted) {
        try {
          await look();
        } catch (error) {
          // The part `stream` reports it; the last figures remain.
          if (!(error instanceof StreamUnavailable)) throw error;
        }
        await pause(clock, LOOK_MS, signal);
      }
    },
  };
}

/** Projects whose use is read at once: a few ms. */
const PROJECTS_A_STEP = 10;
/** Between two steps, ms: 10,000 projects take 100 s and about 1 % of a core. */
const STEP_MS = 100;
/** Between two rounds over all projects, ms. */
const ROUND_MS = 30_000;
/** Share of a limit from which a project is counted as near to it. */
const NEAR_SHARE = 0.8;
/** Share of a limit from which a project may get a sample of its own, and their number. */
const SHOWN_SHARE = 0.5;
const SHOWN_MAX = 50;

interface UsedShare {
  readonly project: string;
  readonly limit: LimitName;
  readonly share: number;
}

/**
 * Ten thousand projects with thirteen limits would be too many series. Each limit has one number,
 * and only the projects nearest to theirs are named.
 */
function projectUsePart({ metrics, clock, host, limitUse }: SizeParts): Part {
  const shown = metrics.gauge(
    'svc_project_limit_used_ratio',
    'Use of a limit by a project, as a share of it: the 50 highest from one half on',
    ['project', 'limit'],
  );
  const near = metrics.gauge(
    'svc_projects_near_limit',
    'Projects that use more than four fifths of a limit',
    ['limit'],
  );
  const round = async (signal: AbortSignal): Promise<void> => {
    const counts = new Map<LimitName, number>();
    let highest: UsedShare[] = [];
    const projects = projectsOf(host);
    for (let from = 0; from < projects.length && !signal.aborted; from += PROJECTS_A_STEP) {
      for (const project of projects.slice(from, from + PROJECTS_A_STEP)) {
        for (const { name: limit, limit: max, used } of limitUse.of(project)) {
          // A limit of 0 stops a project on purpose.
          const share = used === undefined || max === 0 ? 0 : used / max;
          counts.set(limit, (counts.get(limit) ?? 0) + (share > NEAR_SHARE ? 1 : 0));
          if (share >= SHOWN_SHARE) highest.push({ project, limit, share });
        }
      }
      highest = highest.sort((a, b) => b.share - a.share).slice(0, SHOWN_MAX);
      await pause(clock, STEP_MS, signal);
    }
    if (signal.aborted) return;
    shown.reset();
    for (const { project, limit, share } of highest) shown.set({ project, limit }, share);
    for (const [limit, count] of counts) near.set({ limit }, count);
  };
  return {
    name: 'project use',
    async run(signal) {
      while (!signal.aborted) {
        await round(signal);
        await pause(clock, ROUND_MS, signal);
      }
    },
  };
}
