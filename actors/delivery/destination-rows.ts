/** Destinations as rows: found, read, and let go of, by everything that changes them. */
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { NoticeBody } from '../alerting/notices.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import type { SealedValues } from './sealed-values.ts';

/** One that was not deleted. Throws a `Refusal` NOT_FOUND. */
export function livingRow(view: ProjectView, id: string): Instance {
  const row = view.instance('destination', id);
  if (row && !row.final) return row;
  throw new Refusal('NOT_FOUND', `There is no destination ${id} in the project`);
}

/** As committed; deleted by now, perhaps, where an old request is sent again. */
export function committedRow(host: Pick<Host, 'view'>, project: string, id: string): Instance {
  const row = host.view(project).instance('destination', id);
  if (row) return row;
  throw new Error(`The destination ${id} was committed and is not there`);
}

export function destinationOf({ context }: Pick<Instance, 'context'>): DestinationContext {
  return context as unknown as DestinationContext;
}

/** The notice that tells of a pause which nobody asked for. */
export function pausedNotice(id: string): Pick<NoticeBody, 'kind' | 'subject'> {
  return { kind: 'DESTINATION_PAUSED', subject: { collection: 'destinations', id } };
}

/** Ends sealed values; harmless where there are none. */
export function forget(sealed: SealedValues, ids: readonly (string | null)[]): void {
  for (const id of ids) if (id !== null) sealed.delete(id);
}

/** Throws what `submit` throws. Only a refusal proves that nothing refers to what was sealed. */
export async function sealedFirst<T>(
  sealed: SealedValues,
  ours: readonly (string | null)[],
  submit: () => Promise<T>,
): Promise<T> {
  try {
    return await submit();
  } catch (error) {
    if (error instanceof Refusal) forget(sealed, ours);
    throw error;
  }
}
