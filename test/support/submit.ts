/** Decisions that a test makes itself, where no command of a room makes them. */
import type { Host, Submission } from '../../actors/platform/host/host-port.ts';
import { tester } from './counting-node.ts';

/** Commits what `decide` decides in a project. */
export function submit<T>(
  host: Pick<Host, 'submit'>,
  { project, by = tester }: Pick<Submission<T>, 'project'> & Partial<Pick<Submission<T>, 'by'>>,
  decide: Submission<T>['decide'],
) {
  return host.submit<T>({ project, by, decide });
}
