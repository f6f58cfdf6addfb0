/** Who has been mailed a notice: written by the mailer, read wherever a notice may still wait. */
import type { ProjectView } from '../platform/host/host-port.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    ownersTold: NoticeMails;
  }
}

/** Body of a record of kind `ownersTold` (its name on disk), under the notice's id. Members are ids. */
export interface NoticeMails {
  /** The raising of the notice that it speaks of, Unix ms. */
  readonly raisedMs: number;
  /** Nobody is tried any more. Absent in records of an older version, written when it was so. */
  readonly isOver?: boolean;
  /** Whose mail was taken. */
  readonly told?: readonly string[];
  /** Whose mail will not be taken, or was not within the day. */
  readonly untold?: readonly string[];
}

/** How far the mails of a notice are that was raised at `raisedMs`. */
export function noticeMailsOf(
  view: Pick<ProjectView, 'record'>,
  id: string,
  raisedMs: number,
): Required<Omit<NoticeMails, 'raisedMs'>> {
  const record = view.record('ownersTold', id)?.body;
  if (record?.raisedMs !== raisedMs) return { isOver: false, told: [], untold: [] };
  const { isOver = true, told = [], untold = [] } = record;
  return { isOver, told, untold };
}
