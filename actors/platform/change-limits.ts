/**
 * Limits on callers' changes: a rate, daily amounts, and smaller ones while the disk is short. A
 * change is judged after it is decided and before it is committed, so that a refused one costs no
 * commit. Ending access and acknowledging are never refused. They need no separate limit: each one
 * ends something that an earlier, counted change made, or acknowledges something that fires.
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

/** Seconds of the rate that may be used at once. */
const BURST_SECONDS = 120;
/** Longest wait in the response to a refused caller, s. */
const RETRY_AFTER_SECONDS_MAX = 60;
/**
 * Maximum number of buckets: projects, and people of `_system`. The least recently used start full
 * again.
 */
const BUCKETS_MAX = 10_000;
/** Fraction of the reserve. With less free space, callers may only end access. */
const LAST_PART = 0.5;

/** A bucket of changes: the part not yet refilled, at a moment of elapsed time. */
export interface ChangeBucket {
  readonly taken: number;
  readonly atMs: number;
}

/** Part of a bucket that is still taken at `nowMs`. */
function takenAt(bucket: ChangeBucket, perSecond: number, nowMs: number): number {
  const seconds = Math.max(0, nowMs - bucket.atMs) / 1000;
  return Math.max(0, bucket.taken - seconds * perSecond);
}

/**
 * Takes one change. `waitMs` above 0: the bucket is empty, nothing was taken, and one fits after
 * that time.
 */
export function takeOne(
  bucket: ChangeBucket,
  perSecond: number,
  nowMs: number,
): { readonly bucket: ChangeBucket; readonly waitMs: number } {
  const taken = takenAt(bucket, perSecond, nowMs);
  const over = taken + 1 - perSecond * BURST_SECONDS;
  if (over <= 0) return { bucket: { taken: taken + 1, atMs: nowMs }, waitMs: 0 };
  // After a lowered rate, more may be taken than the bucket holds: the wait is for the excess.
  return { bucket: { taken, atMs: nowMs }, waitMs: Math.max(1, (over / perSecond) * 1000) };
}

/**
 * Free space on the disk of commits, and the reserve that callers' changes may not use up; bytes.
 */
export interface DiskState {
  readonly freeBytes: number;
  readonly reserveBytes: number;
}

/**
 * Bytes that a project may have changed in a day for its next change to be accepted. At the reserve
 * it is the daily limit; it falls with the free space to zero at half of the reserve. The largest
 * writer is therefore refused first, and a refused project has never written less than an accepted
 * one.
 */
export function dailyBytesWithin(dailyBytes: number, disk: DiskState): number {
  const { freeBytes, reserveBytes } = disk;
  if (freeBytes >= reserveBytes) return dailyBytes;
  const left = (freeBytes / reserveBytes - LAST_PART) / (1 - LAST_PART);
  return Math.floor(dailyBytes * Math.max(0, left));
}

/** Events that end access or acknowledge. Events that widen access again are counted. */
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

/** Consequences of a change, which do not show the request of the caller. */
const CONSEQUENCES: ReadonlySet<string> = new Set<MachineName>(['delivery']);

/** True if a change with these steps only ends access, or only acknowledges. */
export function isNeverRefused(steps: readonly InstanceStep[]): boolean {
  const requested = steps.filter(({ machine }) => !CONSEQUENCES.has(machine));
  return requested.length > 0 && requested.every(endsAccess);
}

function endsAccess({ machine, event }: InstanceStep): boolean {
  // A viewer has the fewest rights of all members.
  if (machine === 'membership' && event.type === 'roleChanged') return event.role === 'VIEWER';
  return NEVER_REFUSED[machine as MachineName]?.has(event.type) ?? false;
}

/** Changes of people's own accounts belong to no project, so each person has a bucket. */
function bucketOf(project: string, by: Actor): string {
  return project === SYSTEM_PROJECT ? `${project} ${by.name}` : project;
}

/** The clock, and the current state of the disk. */
export interface ChangeLimitsOptions {
  readonly clock: Pick<Clock, 'elapsed' | 'now'>;
  /** Called on each change, so it must be cheap. Absent: the disk is not watched. */
  readonly disk?: () => DiskState;
}

/** Judges this member's changes, and counts those of other members with them. */
export class ChangeLimits implements ChangeAdmission {
  readonly #options: ChangeLimitsOptions;
  readonly #buckets = new BoundedCache<string, ChangeBucket>(BUCKETS_MAX);
  /** Submissions that have been counted: a batch that loses its race is decided again. */
  readonly #counted = new WeakSet<object>();

  constructor(options: ChangeLimitsOptions) {
    this.#options = options;
  }

  /** Undefined: the change may be committed. */
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
   * Counts the changes of other members, so that a flood through all of them has one bucket. Call
   * it once `host` has caught up; `node` is this member, as in its commits.
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

  /** Changes per second of the project, averaged over two minutes, rounded up. */
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

  /**
   * Undefined: the disk's state is unknown. The readiness check reports it; a change must not fail
   * because of it.
   */
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
      `${whose} makes more than ${changesPerSecond} changes per second: send this one again in ${seconds} s, or ask the operator for more`,
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
      `The project's changes may take ${limit} bytes per day: wait until ${until}`,
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
    `The project may make and delete ${limit} things per day: wait until ${until}`,
    { of: 'thingsPerDay', limit, current: used.things },
  );
}
