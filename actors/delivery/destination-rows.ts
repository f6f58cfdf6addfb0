/** Readers of destination rows, shared by everything that changes destinations. */
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { NoticeBody } from '../alerting/notices.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';

/** The row of a destination that is not deleted. Throws a `Refusal` NOT_FOUND. */
export function livingRow(view: ProjectView, id: string): Instance<'destination'> {
  const row = view.instance('destination', id);
  if (row && !row.final) return row;
  throw new Refusal('NOT_FOUND', `There is no destination ${id} in the project`);
}

/**
 * The row as committed. For a repeated old request, the destination may have been deleted since.
 */
export function committedRow(
  host: Pick<Host, 'view'>,
  project: string,
  id: string,
): Instance<'destination'> {
  const row = host.view(project).instance('destination', id);
  if (row) return row;
  throw new Error(`The destination ${id} was committed but has no row`);
}

/** The context of a destination's row, in its newest version. */
export function destinationOf({
  context,
}: Pick<Instance<'destination'>, 'context'>): DestinationContext {
  return context;
}

/** Key of the notice that messages are rejected. */
export function refusedNotice(id: string): Pick<NoticeBody, 'kind' | 'subject'> {
  return { kind: 'MESSAGES_REFUSED', subject: { collection: 'destinations', id } };
}

/** Key of the notice about an automatic pause. */
export function pausedNotice(id: string): Pick<NoticeBody, 'kind' | 'subject'> {
  return { kind: 'DESTINATION_PAUSED', subject: { collection: 'destinations', id } };
}
