/** The record of who has been mailed a notice: written by the mailer, read wherever a notice may still be waiting. */
import type { ProjectView } from '../host-port.ts';

/** Body of a record of kind `ownersTold`, under the notice's id. Members are ids. */
export interface OwnersToldBody {
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
export function toldOf(
  view: Pick<ProjectView, 'record'>,
  id: string,
  raisedMs: number,
): Required<Omit<OwnersToldBody, 'raisedMs'>> {
  const record = view.record('ownersTold', id)?.body as OwnersToldBody | undefined;
  if (record?.raisedMs !== raisedMs) return { isOver: false, told: [], untold: [] };
  const { isOver = true, told = [], untold = [] } = record;
  return { isOver, told, untold };
}
