/**
 * Writes the recorded history to a second place as it grows: one JSON line per commit, in the order
 * of the log, each at least once. The projection is the source, so that a sink that was unavailable
 * for a week is caught up from disk, and nothing waits in memory.
 *
 *     commit applied, or a second passed -> read commits after the cursor -> append -> move the
 *     cursor
 *
 * If the sink is required, changes by people and keys are refused while it cannot accept records or
 * is behind, and a change of theirs is answered only once the sink has it. So no caller learns of a
 * success, or gets a secret, unrecorded. The same applies to everything that makes a credential.
 * The service's own decisions continue, above all evaluation and deliveries, because monitoring
 * that stops with a full disk would be silent when it is needed. The operator's acts on the machine
 * itself continue too, because the operator has to repair the sink and may have to revoke a key.
 */

import type { Submission } from '../../../actors/platform/host/host-port.ts';
import type { CommitReader, StoredCommit } from '../../../sqlite/platform/control/commit-reader.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { withinTime } from '../../../streams/platform/deadline.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type PartHealth, ready } from '../../platform/health.ts';
import type { Log } from '../../platform/log.ts';
import { commitLine } from './commit-line.ts';

/**
 * A second place for the recorded history. It may get a line twice, after a crash between append
 * and cursor.
 */
export interface AuditSink {
  /** Appends whole lines. Resolves once they are durable. Rejects if that is unknown. */
  append(lines: string): Promise<void>;
}

/** The last commit that the sink has. Later commits are not exported yet. */
export interface ExportedUpTo {
  /** Position in EVENTS. */
  readonly sequence: number;
  /** Id of the commit, because another one may be at the position after a backup was restored. */
  readonly id: string;
}

/** The progress of the export, on disk beside the projection. */
export interface CursorStore {
  load(): ExportedUpTo | undefined;
  /** Resolves once it is durable. */
  save(cursor: ExportedUpTo): Promise<void>;
}

/** The projection, the sink, and the counters. */
export interface AuditExportOptions {
  readonly reader: Pick<CommitReader, 'commits' | 'transitions'>;
  readonly sink: AuditSink;
  readonly cursor: CursorStore;
  readonly isRequired: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly onExported?: (commits: number) => void;
  readonly onFailed?: () => void;
  readonly onRefused?: () => void;
  /** Called when a change was committed but the sink did not accept it in time. */
  readonly onUnconfirmed?: () => void;
  /** Called when the cursor could not be saved. */
  readonly onCursorFailed?: () => void;
  /** Called with the number of a project's commits that were removed before the sink had them. */
  readonly onMissed?: (commits: number) => void;
}

/** The question before a change, and after it. */
type Change = Pick<Submission<unknown>, 'by' | 'makesCredential'>;

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: Refusal) => void;
}

const BATCH = 100;
/** Interval at which the projection is read without a wake-up, and a failure is retried, ms. */
const LOOK_MS = 1_000;
/** Maximum commits that may be acknowledged but not exported yet. */
export const BACKLOG_MAX = 1_000;
/** A sink that has not answered for this long counts as unable to accept records, ms. */
export const STALLED_MS = 10_000;
/** Maximum wait of a committed change for the sink, ms. */
export const CONFIRMED_WITHIN_MS = 10_000;
/** Maximum wait of a stop for the sink, ms. The rest is exported after the next start. */
export const CLOSE_MS = 5_000;
/** Kinds of callers that are refused; see the header of the file for the others. */
const REFUSED: ReadonlySet<Actor['kind']> = new Set(['human', 'key', 'ci']);

/** One per service with a sink. It continues from its cursor after every start. */
export class AuditExport {
  readonly #options: AuditExportOptions;
  /** The last commit in the sink. */
  #cursor: ExportedUpTo | undefined;
  /** The content of the cursor's file; behind `#cursor` by at most the next save. */
  #saved: ExportedUpTo | undefined;
  /**
   * The reason why the cursor could not be saved; undefined if it could. The sink has the records
   * anyway.
   */
  #cursorFault: string | undefined;
  /** The reason why the last attempt failed; undefined if it succeeded. */
  #fault: string | undefined;
  /** Number of commits applied since the start that are not exported. */
  #pending = 0;
  /** false until the sink had everything for the first time. */
  #isCaughtUp = false;
  #writingSinceMs: number | undefined;
  #underWay: Promise<void> | undefined;
  /** True if a commit was applied since the projection was last read. */
  #isNoted = false;
  readonly #waiters = new Set<Waiter>();
  /** Number of the last exported commit of each project since the start. */
  readonly #numbers = new Map<string, number>();
  #savedMs = Number.NEGATIVE_INFINITY;
  #cancel: CancelWakeUp = () => {};
  #isClosed = false;

  /** Starts at once, after the cursor. */
  constructor(options: AuditExportOptions) {
    this.#options = options;
    this.#cursor = this.#trustedCursor();
    this.#saved = this.#cursor;
    this.#wakeIn(0);
  }

  /** To be called for each applied commit. */
  recordApplied(): void {
    this.#pending++;
    this.#isNoted = true;
    if (this.#fault === undefined && this.#underWay === undefined) this.#wakeIn(0);
  }

  /** Throws NOT_READY if the sink is required and cannot accept this caller's change. */
  assertTaking(change: Change): void {
    if (!this.#isHeldBack(change) || this.#problem() === undefined) return;
    this.#options.onRefused?.();
    throw new Refusal(
      'NOT_READY',
      'Changes are refused while the audit log cannot be written to its second place, as required by the operator (SVC_AUDIT_SINK_REQUIRED). This call changed nothing; reads still work. Try again in 10 s, or ask the operator',
      { retryAfterSeconds: '10' },
    );
  }

  /**
   * Resolves once the sink has the commit at `sequence`, at once for callers that need not wait.
   * Rejects with NOT_READY if it does not within `CONFIRMED_WITHIN_MS`; the commit stays.
   */
  async confirmed(change: Change, sequence: number): Promise<void> {
    if (!this.#isHeldBack(change) || this.#has(sequence)) return;
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#options.clock.wakeAfter(CONFIRMED_WITHIN_MS, () =>
        waiter.reject(unconfirmed()),
      );
      const leave = (): void => {
        cancel();
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        sequence,
        resolve: () => {
          leave();
          resolve();
        },
        reject: (error) => {
          leave();
          this.#options.onUnconfirmed?.();
          reject(error);
        },
      };
      this.#waiters.add(waiter);
      void this.#run();
    });
  }

  /**
   * True if retention may remove the commit at this position. A required sink must have it first.
   */
  mayDrop(sequence: number): boolean {
    return !this.#options.isRequired || this.#has(sequence);
  }

  /**
   * Number of waiting commits. Commits from before the start count as one until the export has
   * caught up.
   */
  lag(): number {
    return this.#pending + (this.#isCaughtUp ? 0 : 1);
  }

  health(): PartHealth {
    const problem = this.#problem();
    if (problem === undefined) return this.#cursorHealth();
    const { isRequired } = this.#options;
    const effect = isRequired ? 'changes by people and keys are refused' : 'changes continue';
    return {
      state: 'degraded',
      reason: `The audit sink ${problem}; ${this.lag()} commits wait, and ${effect}`,
      summary: isRequired
        ? 'The audit sink cannot accept records: changes by people and keys are refused'
        : 'The audit sink cannot accept records',
    };
  }

  /** Exports the current records. Resolves even if that fails; health reports it. */
  async settled(): Promise<void> {
    await this.#underWay;
    await this.#run();
  }

  /** Exports the current records, and ends after `CLOSE_MS` even if the sink has not accepted all. */
  async close(): Promise<void> {
    this.#cancel();
    const { clock, log } = this.#options;
    const settled = this.settled().then(() => true);
    if (!(await withinTime(clock, CLOSE_MS, settled))) {
      log.warn(
        { part: 'audit sink' },
        'The audit sink does not answer; the stop continues without it',
      );
    }
    this.#isClosed = true;
    this.#cancel();
    for (const waiter of this.#waiters) waiter.reject(unconfirmed());
    await this.#save(true);
  }

  #isHeldBack({ by, makesCredential }: Change): boolean {
    return this.#options.isRequired && (makesCredential === true || REFUSED.has(by.kind));
  }

  #has(sequence: number): boolean {
    return sequence <= (this.#cursor?.sequence ?? 0);
  }

  #cursorHealth(): PartHealth {
    if (this.#cursorFault === undefined) return ready;
    return {
      state: 'degraded',
      reason: `The audit sink has every record, but its position cannot be saved (${this.#cursorFault}): after a restart, the records are written again`,
      summary: 'The position of the audit sink cannot be saved',
    };
  }

  /** The current problem, for the operator; undefined if absent. */
  #problem(): string | undefined {
    if (this.#fault !== undefined) return `cannot accept records (${this.#fault})`;
    const writingMs = this.#options.clock.elapsed() - (this.#writingSinceMs ?? Infinity);
    if (writingMs >= STALLED_MS) return `has not answered for ${Math.floor(writingMs / 1000)} s`;
    if (!this.#isCaughtUp) return 'is being caught up';
    return this.#pending > BACKLOG_MAX ? `is more than ${BACKLOG_MAX} commits behind` : undefined;
  }

  #trustedCursor(): ExportedUpTo | undefined {
    const { cursor, reader, log } = this.#options;
    const saved = cursor.load();
    if (saved === undefined) return undefined;
    const { sequence, id } = saved;
    const [there] = reader.commits({ after: sequence - 1, through: sequence, limit: 1 });
    if (there?.id === id) return saved;
    log.warn(
      { part: 'audit sink', sequence },
      'The last exported commit is not in the projection: everything is exported again',
    );
    return undefined;
  }

  #wakeIn(ms: number): void {
    this.#cancel();
    if (!this.#isClosed) this.#cancel = this.#options.clock.wakeAfter(ms, () => void this.#run());
  }

  /** One run at a time; never rejects. It also exports commits that are applied during the run. */
  #run(): Promise<void> {
    this.#underWay ??= this.#export()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#underWay = undefined;
        const isMore = this.#isNoted && this.#fault === undefined && !this.#isClosed;
        if (isMore) void this.#run();
        else this.#wakeIn(LOOK_MS);
      });
    return this.#underWay;
  }

  async #export(): Promise<void> {
    const { reader, sink, clock, onExported } = this.#options;
    const range = { through: Number.MAX_SAFE_INTEGER, limit: BATCH };
    while (!this.#isClosed) {
      this.#isNoted = false;
      const batch = reader.commits({ ...range, after: this.#cursor?.sequence ?? 0 });
      const last = batch.at(-1);
      if (last === undefined) {
        this.#pending = 0;
        this.#isCaughtUp = true;
        this.#isBack();
        break;
      }
      this.#writingSinceMs = clock.elapsed();
      await sink.append(this.#linesOf(batch)).finally(() => {
        this.#writingSinceMs = undefined;
      });
      this.#moveBehind(batch, last);
      onExported?.(batch.length);
      this.#isBack();
      await this.#save();
    }
    await this.#save();
  }

  #isBack(): void {
    if (this.#fault === undefined) return;
    this.#fault = undefined;
    this.#options.log.info({ part: 'audit sink' }, 'The audit sink is back');
  }

  /** The sink has these commits. */
  #moveBehind(batch: readonly StoredCommit[], last: StoredCommit): void {
    for (const { project, number } of batch) {
      this.#recordMissed(project, number - (this.#numbers.get(project) ?? number - 1) - 1);
      this.#numbers.set(project, number);
    }
    this.#cursor = { sequence: last.sequence, id: last.id };
    this.#pending = Math.max(0, this.#pending - batch.length);
    for (const waiter of this.#waiters) if (this.#has(waiter.sequence)) waiter.resolve();
  }

  /** Retention does not wait for an optional sink. */
  #recordMissed(project: string, commits: number): void {
    if (commits <= 0) return;
    this.#options.onMissed?.(commits);
    this.#options.log.warn(
      { part: 'audit sink', project, commits },
      'Commits were removed after their retention before the audit sink had them: it lacks them permanently',
    );
  }

  #linesOf(batch: readonly StoredCommit[]): string {
    const { reader } = this.#options;
    return batch.map((one) => commitLine(one, reader.transitions(one.sequence))).join('');
  }

  #failed(error: unknown): void {
    const { log, onFailed } = this.#options;
    onFailed?.();
    if (this.#fault === undefined) {
      log.error({ err: error, part: 'audit sink' }, 'The audit sink cannot accept records');
    }
    this.#fault = error instanceof Error ? error.message : String(error);
  }

  /**
   * Saves at most once a second; after a crash, the commits of that second are exported again. A
   * failed save is retried with the next read and delays nothing, because the sink has the records.
   */
  async #save(isLast = false): Promise<void> {
    const { clock, cursor, log, onCursorFailed } = this.#options;
    const position = this.#cursor;
    const nowMs = clock.elapsed();
    if (position === undefined || position === this.#saved) return;
    if (!isLast && nowMs < this.#savedMs + LOOK_MS) return;
    this.#savedMs = nowMs;
    try {
      await cursor.save(position);
      this.#saved = position;
      this.#cursorFault = undefined;
    } catch (error) {
      onCursorFailed?.();
      if (this.#cursorFault === undefined) {
        log.error(
          { err: error, part: 'audit sink' },
          'The position of the audit sink cannot be saved',
        );
      }
      this.#cursorFault = error instanceof Error ? error.message : String(error);
    }
  }
}

function unconfirmed(): Refusal {
  return new Refusal(
    'NOT_READY',
    `The change is committed, but the audit log's second place, which the operator requires (SVC_AUDIT_SINK_REQUIRED), has not accepted it within ${CONFIRMED_WITHIN_MS / 1000} s. It is exported as soon as possible. Send the same request id again then to learn the result. A new secret is not returned again, so make another one`,
    { retryAfterSeconds: '10', committed: 'true' },
  );
}
