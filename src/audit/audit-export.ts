/**
 * The recorded history, written to a second place as it grows: one JSON line a commit, in the order
 * of the log, each at least once. The projection is the source, so that a sink which was away for a
 * week is caught up from what is on disk, and nothing waits in memory.
 *
 *     commit applied, or a second passed -> read what is after the cursor -> append -> move the cursor
 *
 * Where the sink is required, people and keys are refused while it cannot take records, or is behind:
 * nobody changes anything unseen. What the service itself decides goes on, above all evaluation and
 * deliveries: monitoring that stops with a full disk would be silent when it is needed. So do the
 * operator's acts on the machine itself, who has to mend the sink and may have to revoke a key.
 */
import type { CommitReader, StoredCommit } from '../../sqlite/commit-reader.ts';
import type { CancelWakeUp, Clock } from '../../streams/clock.ts';
import type { Actor } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import { type PartHealth, ready } from '../health.ts';
import type { Log } from '../log.ts';
import { commitLine } from './commit-line.ts';

export interface AuditSink {
  /** Appends whole lines; resolves once they are durable. Rejects when that cannot be told. */
  append(lines: string): Promise<void>;
}

/** The last commit that the sink has: what is after it is not exported yet. */
export interface ExportedUpTo {
  /** Position in EVENTS. */
  readonly sequence: number;
  /** Id of the commit: after a backup was restored another one may stand at the position. */
  readonly id: string;
}

export interface CursorStore {
  load(): ExportedUpTo | undefined;
  save(cursor: ExportedUpTo): void;
}

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
}

const BATCH = 100;
/** How often the projection is looked at where nothing wakes it, and how soon a failure is retried. */
const LOOK_MS = 1_000;
/** Commits that may be acknowledged and not exported yet. */
export const BACKLOG_MAX = 1_000;
/** A sink that has not answered for so long cannot take records. */
export const STALLED_MS = 10_000;
/** Kinds of callers that are refused; see the head of the file for the others. */
const REFUSED: ReadonlySet<Actor['kind']> = new Set(['human', 'key', 'ci']);

export class AuditExport {
  readonly #options: AuditExportOptions;
  #cursor: ExportedUpTo | undefined;
  /** Why the last attempt failed; undefined: it did not. */
  #fault: string | undefined;
  /** Commits applied since the start that are not exported. */
  #pending = 0;
  /** false until the sink had everything for the first time. */
  #isCaughtUp = false;
  #writingSinceMs: number | undefined;
  #underWay: Promise<void> | undefined;
  #savedMs = Number.NEGATIVE_INFINITY;
  #cancel: CancelWakeUp = () => {};
  #isClosed = false;

  /** Begins at once, behind the cursor. */
  constructor(options: AuditExportOptions) {
    this.#options = options;
    this.#cursor = this.#trustedCursor();
    this.#wakeIn(0);
  }

  /** To be called for each commit that was applied. */
  noteApplied(): void {
    this.#pending++;
    if (this.#fault === undefined && this.#underWay === undefined) this.#wakeIn(0);
  }

  /** Throws NOT_READY where the sink is required and cannot take what this caller would do. */
  assertTaking({ kind }: Actor): void {
    if (!this.#options.isRequired || !REFUSED.has(kind) || this.#problem() === undefined) return;
    this.#options.onRefused?.();
    throw new Refusal(
      'NOT_READY',
      'Changes are refused while the audit log cannot be written to its second place, as the operator has asked (SVC_AUDIT_SINK_REQUIRED): nothing was changed; reading goes on. Try again in 10 s, or ask the operator',
      { retryAfterSeconds: '10' },
    );
  }

  /** Commits that wait; those of before the start are counted as one until it has caught up. */
  lag(): number {
    return this.#pending + (this.#isCaughtUp ? 0 : 1);
  }

  health(): PartHealth {
    const problem = this.#problem();
    if (problem === undefined) return ready;
    const { isRequired } = this.#options;
    const effect = isRequired ? 'changes by people and keys are refused' : 'changes go on';
    return {
      state: 'degraded',
      reason: `The audit sink ${problem}; ${this.lag()} commits wait, ${effect}`,
      summary: isRequired
        ? 'The audit sink cannot take records: changes by people and keys are refused'
        : 'The audit sink cannot take records',
    };
  }

  /** Exports what is there now. Resolves also when that fails: health says so. */
  async settled(): Promise<void> {
    await this.#underWay;
    await this.#run();
  }

  /** Exports what is there now, and ends. */
  async close(): Promise<void> {
    this.#cancel();
    await this.settled();
    this.#isClosed = true;
    this.#cancel();
    this.#save(true);
  }

  /** What is the matter, for the operator; undefined: nothing. */
  #problem(): string | undefined {
    if (this.#fault !== undefined) return `cannot take records (${this.#fault})`;
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
      'The last commit that was exported is not in the projection: everything is exported again',
    );
    return undefined;
  }

  #wakeIn(ms: number): void {
    this.#cancel();
    if (!this.#isClosed) this.#cancel = this.#options.clock.wakeAfter(ms, () => void this.#run());
  }

  /** One run at a time; never rejects. */
  #run(): Promise<void> {
    this.#underWay ??= this.#export()
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#underWay = undefined;
        this.#wakeIn(LOOK_MS);
      });
    return this.#underWay;
  }

  async #export(): Promise<void> {
    const { reader, sink, clock, onExported, log } = this.#options;
    const range = { through: Number.MAX_SAFE_INTEGER, limit: BATCH };
    for (;;) {
      const batch = reader.commits({ ...range, after: this.#cursor?.sequence ?? 0 });
      const last = batch.at(-1);
      if (last === undefined) break;
      this.#writingSinceMs = clock.elapsed();
      await sink.append(this.#linesOf(batch)).finally(() => {
        this.#writingSinceMs = undefined;
      });
      this.#cursor = { sequence: last.sequence, id: last.id };
      this.#pending = Math.max(0, this.#pending - batch.length);
      this.#save();
      onExported?.(batch.length);
      if (this.#fault !== undefined) log.info({ part: 'audit sink' }, 'The audit sink is back');
      this.#fault = undefined;
    }
    if (this.#fault === undefined) this.#isCaughtUp = true;
  }

  #linesOf(batch: readonly StoredCommit[]): string {
    const { reader } = this.#options;
    return batch.map((one) => commitLine(one, reader.transitions(one.sequence))).join('');
  }

  #failed(error: unknown): void {
    const { log, onFailed } = this.#options;
    onFailed?.();
    if (this.#fault === undefined) {
      log.error({ err: error, part: 'audit sink' }, 'The audit sink cannot take records');
    }
    this.#fault = error instanceof Error ? error.message : String(error);
  }

  /** At most once a second: after a crash the commits of that second are exported again. */
  #save(isLast = false): void {
    const nowMs = this.#options.clock.elapsed();
    if (this.#cursor === undefined || (!isLast && nowMs < this.#savedMs + LOOK_MS)) return;
    this.#savedMs = nowMs;
    this.#options.cursor.save(this.#cursor);
  }
}
