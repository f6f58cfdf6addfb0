/**
 * Limits on what callers change: a rate, daily amounts, and less of them while the disk is short.
 * A change is judged once it is decided and before it is committed, so that one that is refused costs
 * no commit. Ending access and acknowledging are never refused. It needs no bound of its own:
 * each ends something that was made before by a change that counted, or that began to fire.
 */
import type { MachineName } from '../../machines/audit/registry.ts';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { isByCaller, nextDayMs, sumOfUse } from '../../streams/platform/commit/change-use.ts';
import {
  type Actor,
  type InstanceStep,
  SYSTEM_PROJECT,
} from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { ChangeAdmission, Host, ProposedChange } from './host/host-port.ts';
import { limitExceeded, limitsOf, type ProjectLimits } from './project-limits.ts';

/** So many seconds of a rate may come at once. */
const BURST_SECONDS = 120;
/** Longest time that a refused caller is asked to wait, s. */
const RETRY_AFTER_SECONDS_MAX = 60;
/** Buckets at most: projects, and people of `_system`. The least recently used begin full again. */
const BUCKETS_MAX = 10_000;
/** Below this part of the reserve, callers change nothing more but what ends access. */
const LAST_PART = 0.5;

/** A bucket of changes: the part that is not refilled yet, at a moment of elapsed time. */
export interface ChangeBucket {
  readonly taken: number;
  readonly atMs: number;
}

/** What is still taken of a bucket at `nowMs`. */
function takenAt(bucket: ChangeBucket, perSecond: number, nowMs: number): number {
  const seconds = Math.max(0, nowMs - bucket.atMs) / 1000;
  return Math.max(0, bucket.taken - seconds * perSecond);
}

/** Takes one change; `waitMs` above 0: the bucket is empty, nothing was taken, and one fits then. */
export function takeOne(
  bucket: ChangeBucket,
  perSecond: number,
  nowMs: number,
): { readonly bucket: ChangeBucket; readonly waitMs: number } {
  const taken = takenAt(bucket, perSecond, nowMs);
  const over = taken + 1 - perSecond * BURST_SECONDS;
  if (over <= 0) return { bucket: { taken: taken + 1, atMs: nowMs }, waitMs: 0 };
  // After a lowered rate more is taken than the bucket holds: the wait is for what remains.
  return { bucket: { taken, atMs: nowMs }, waitMs: Math.max(1, (over / perSecond) * 1000) };
}

/** Free space of the disk of commits, and the reserve that callers' changes may not use up; bytes. */
export interface DiskState {
  readonly freeBytes: number;
  readonly reserveBytes: number;
}

/**
 * Bytes that a project may have changed in a day, for its next change to be accepted. At the reserve it
 * is the daily limit; it falls with the free space to nothing at half of the reserve. So whoever
 * wrote most is refused first, and one that is refused has never written less than one that is not.
 */
export function dailyBytesWithin(dailyBytes: number, disk: DiskState): number {
  const { freeBytes, reserveBytes } = disk;
  if (freeBytes >= reserveBytes) return dailyBytes;
  const left = (freeBytes / reserveBytes - LAST_PART) / (1 - LAST_PART);
  return Math.floor(dailyBytes * Math.max(0, left));
}

/** Events that end access or take notice. Events that widen access again are counted. */
const NEVER_REFUSED: Readonly<Partial<Record<MachineName, ReadonlySet<string>>>> = {
  alertInstance: new Set(['acknowledged']),
  destination: new Set(['paused', 'deleted']),
  recipient: new Set(['removed', 'unsubscribed']),
  credential: new Set(['revoked']),
  serviceAccount: new Set(['disabled', 'deleted']),
  ciVerification: new Set(['rejected']),
  ciConnection: new Set(['disabled', 'deleted', 'accountDisabled', 'tokensEnded']),
  membership: new Set(['removed']),
  invitation: new Set(['revoked']),
  enrolment: new Set(['unenrolled', 'tokenWithdrawn']),
  person: new Set(['disabled']),
  signInLink: new Set(['revoked']),
  session: new Set(['ended']),
};

/** What a change brings with it; it says nothing about what the caller asked for. */
const CONSEQUENCES: ReadonlySet<string> = new Set<MachineName>(['delivery']);

/** Does a change with these steps only end access, or only take notice? */
export function isNeverRefused(steps: readonly InstanceStep[]): boolean {
  const asked = steps.filter(({ machine }) => !CONSEQUENCES.has(machine));
  return asked.length > 0 && asked.every(endsAccess);
}

function endsAccess({ machine, event }: InstanceStep): boolean {
  // To be a viewer is the least that a member may do.
  if (machine === 'membership' && event.type === 'roleChanged') return event.role === 'VIEWER';
  return NEVER_REFUSED[machine as MachineName]?.has(event.type) ?? false;
}

/** People's own affairs belong to no project: each person has a bucket. */
function bucketOf(project: string, by: Actor): string {
  return project === SYSTEM_PROJECT ? `${project} ${by.name}` : project;
}

/** The clock, and the disk as it is now. */
export interface ChangeLimitsOptions {
  readonly clock: Pick<Clock, 'elapsed' | 'now'>;
  /** Asked at each change: cheap. Absent: the disk is not watched. */
  readonly disk?: () => DiskState;
}

/** Judges the changes that this member commits, and counts those of other members with them. */
export class ChangeLimits implements ChangeAdmission {
  readonly #options: ChangeLimitsOptions;
  readonly #buckets = new BoundedCache<string, ChangeBucket>(BUCKETS_MAX);
  /** Submissions that have taken their place: a batch that loses its race is decided again. */
  readonly #counted = new WeakSet<object>();

  constructor(options: ChangeLimitsOptions) {
    this.#options = options;
  }

  /** Undefined: it may be committed. */
  refusalOf(change: ProposedChange): Refusal | undefined {
    if (!isByCaller(change.submission) || isNeverRefused(change.steps)) return undefined;
    const limits = limitsOf(change.view);
    // Each person has the rate of a project there.
    if (change.view.project === SYSTEM_PROJECT) return this.#beyondRate(change, limits);
    return (
      this.#shortDisk(change, limits) ??
      beyondDay(change, limits) ??
      this.#beyondRate(change, limits)
    );
  }

  /**
   * Counts the changes of other members, so that a flood through all of them has one bucket. Call it once
   * `host` has caught up; `node` is this member, as in its commits.
   */
  countOthers(host: Pick<Host, 'onApplied' | 'view'>, node: string): void {
    host.onApplied(({ commit }) => {
      const isOld = commit.at < this.#options.clock.now() - BURST_SECONDS * 1000;
      if (commit.writer === node || isOld) return;
      for (const decision of commit.decisions) {
        if (isByCaller(decision) && !isNeverRefused(decision.steps)) {
          this.#take(bucketOf(commit.project, decision.by), limitsOf(host.view(commit.project)));
        }
      }
    });
  }

  #take(key: string, { changesPerSecond }: ProjectLimits): void {
    const nowMs = this.#options.clock.elapsed();
    const before = this.#buckets.get(key);
    const taken = before === undefined ? 0 : takenAt(before, changesPerSecond, nowMs);
    this.#buckets.set(key, { taken: taken + 1, atMs: nowMs });
  }

  /** Changes a second of the project, on average over two minutes, rounded up. */
  rateOf(project: string, limits: Pick<ProjectLimits, 'changesPerSecond'>): number {
    const bucket = this.#buckets.get(project);
    if (bucket === undefined) return 0;
    const taken = takenAt(bucket, limits.changesPerSecond, this.#options.clock.elapsed());
    return Math.ceil(taken / BURST_SECONDS);
  }

  #shortDisk({ used, view }: ProposedChange, limits: ProjectLimits): Refusal | undefined {
    const disk = this.#diskNow();
    if (disk === undefined || disk.freeBytes >= disk.reserveBytes) return undefined;
    if (used.bytes < dailyBytesWithin(limits.changeBytesPerDay, disk)) return undefined;
    return new Refusal(
      'TOO_MANY_REQUESTS',
      `The disk of the service is nearly full, and projects/${view.project} is among those that changed most today: try again later, or ask the operator to free some space. Keys can still be revoked`,
      { limit: 'diskReserve', retryAfterSeconds: String(RETRY_AFTER_SECONDS_MAX) },
    );
  }

  /** Undefined: nothing is known of it. The readiness check says so; a change must not fail by it. */
  #diskNow(): DiskState | undefined {
    try {
      return this.#options.disk?.();
    } catch {
      return undefined;
    }
  }

  #beyondRate(
    { view: { project }, submission }: ProposedChange,
    { changesPerSecond }: ProjectLimits,
  ): Refusal | undefined {
    if (this.#counted.has(submission)) return undefined;
    const key = bucketOf(project, submission.by);
    const nowMs = this.#options.clock.elapsed();
    const before = this.#buckets.get(key) ?? { taken: 0, atMs: nowMs };
    const { bucket, waitMs } = takeOne(before, changesPerSecond, nowMs);
    this.#buckets.set(key, bucket);
    if (waitMs === 0) {
      this.#counted.add(submission);
      return undefined;
    }
    const seconds = Math.min(Math.ceil(waitMs / 1000), RETRY_AFTER_SECONDS_MAX);
    const whose = project === SYSTEM_PROJECT ? submission.by.name : `projects/${project}`;
    return new Refusal(
      'TOO_MANY_REQUESTS',
      `${whose} makes more than ${changesPerSecond} changes a second: send this one again in ${seconds} s, or ask the operator for more`,
      { limit: 'changesPerSecond', retryAfterSeconds: String(seconds) },
    );
  }
}

function beyondDay(change: ProposedChange, limits: ProjectLimits): Refusal | undefined {
  const { used, use, at } = change;
  const until = new Date(nextDayMs(at)).toISOString();
  const then = sumOfUse(used, use);
  if (then.bytes > limits.changeBytesPerDay) {
    const limit = limits.changeBytesPerDay;
    return limitExceeded(
      `The project's changes may take ${limit} bytes a day: wait until ${until}`,
      {
        of: 'changeBytesPerDay',
        limit,
        current: used.bytes,
      },
    );
  }
  if (use.things === 0 || then.things <= limits.thingsPerDay) return undefined;
  const limit = limits.thingsPerDay;
  return limitExceeded(
    `The project may make and delete ${limit} things a day: wait until ${until}`,
    { of: 'thingsPerDay', limit, current: used.things },
  );
}
