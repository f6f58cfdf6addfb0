/**
 * Readings that arrive and are not stored, by project, VM and cause: rejected here, or left out by
 * their source because they cannot be stored. Kept in memory, for the project's notice and for the
 * operator. A cause that does not recur within 15 min is over.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { ProjectShares } from '../../platform/project-shares.ts';
import { vmOfRow } from './ingest.ts';
import type { Ingest, WriteAnswer, WriteRequest } from './ingest-port.ts';
import { messageOf, type Rejection, type RejectReason } from './rejections.ts';

/** One cause, for one series or field of one VM. Times are Unix ms. */
export interface RefusedReading {
  /** Id of the VM; '' = the row named none. */
  readonly vm: string;
  /** The series or the field; '' = the row. */
  readonly series: string;
  readonly reason: RejectReason;
  readonly message: string;
  /** The collector: resource name of its key, or the name of a source of this node. */
  readonly sender: string;
  readonly times: number;
  readonly sinceMs: number;
  readonly lastMs: number;
}

/** Time without such a reading after which the cause is over, ms. */
const OVER_MS = 15 * 60_000;
/** Maximum number of causes of all projects together. */
const NOTED_MAX = 20_000;
/** Maximum number of causes recorded per request; a hostile sender may always send new ones. */
const NOTED_OF_REQUEST_MAX = 100;

/** Causes in the form of the sent data, which the sender or the guest has to change. */
const FORM_REASONS: ReadonlySet<RejectReason> = new Set([
  ...(['NOT_FINITE', 'NO_VALUE', 'UNREADABLE', 'BAD_VM_NAME', 'BAD_SERIES'] as const),
  ...(['BAD_LABEL', 'RESERVED_NAME', 'BAD_FIELD', 'TOO_LARGE'] as const),
]);

/**
 * True if the project has to change something. Other causes are reported elsewhere, or are not
 * faults.
 */
export function isOfForm({ reason }: Pick<RefusedReading, 'reason'>): boolean {
  return FORM_REASONS.has(reason);
}

export interface RefusedReadingsOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Called with the number of left-out readings of a request, by cause. */
  readonly onLeftOut: (reason: RejectReason, count: number) => void;
}

export class RefusedReadings {
  readonly #options: RefusedReadingsOptions;
  readonly #recorded = new ProjectShares<RefusedReading>(NOTED_MAX);

  constructor(options: RefusedReadingsOptions) {
    this.#options = options;
  }

  /** Wraps ingest and records its rejections. */
  recording(ingest: Ingest): Ingest {
    return {
      write: async (request) => {
        const answer = await ingest.write(request);
        this.#record(request, answer);
        return answer;
      },
    };
  }

  /** Current causes, oldest first. */
  of(project: string): readonly RefusedReading[] {
    const fromMs = this.#options.clock.now() - OVER_MS;
    const [, entries] = [...this.#recorded.shares()].find(([of]) => of === project) ?? [];
    return [...(entries?.values() ?? [])]
      .filter(({ lastMs }) => lastMs >= fromMs)
      .sort((a, b) => a.sinceMs - b.sinceMs);
  }

  /** Projects with causes, current or over. */
  projects(): readonly string[] {
    return [...this.#recorded.shares()].map(([project]) => project);
  }

  #record(request: WriteRequest, { rejected }: WriteAnswer): void {
    const { leftOut = [] } = request;
    // Rows of VMs that another collector reports are counted per VM where its sources are known.
    const causes = rejected.filter(({ reason }) => reason !== 'REPORTED_ELSEWHERE');
    for (const one of causes.slice(0, NOTED_OF_REQUEST_MAX)) {
      this.#put(request, vmOfRow(request, one.row) ?? one.vm ?? '', one);
    }
    for (const one of leftOut.slice(0, NOTED_OF_REQUEST_MAX)) this.#put(request, one.vm, one);
    for (const { reason } of leftOut) this.#options.onLeftOut(reason, 1);
  }

  #put({ project, reach, source }: WriteRequest, vm: string, rejection: Rejection): void {
    const { series, reason } = rejection;
    const sender = reach?.name ?? source ?? '';
    const key = JSON.stringify([sender, vm, series, reason]);
    const nowMs = this.#options.clock.now();
    const before = this.#recorded.get(project, key);
    const goesOn = before !== undefined && nowMs - before.lastMs <= OVER_MS;
    this.#recorded.put(project, key, {
      vm,
      series,
      reason,
      sender,
      message: messageOf(rejection),
      lastMs: nowMs,
      times: goesOn ? before.times + 1 : 1,
      sinceMs: goesOn ? before.sinceMs : nowMs,
    });
  }
}
