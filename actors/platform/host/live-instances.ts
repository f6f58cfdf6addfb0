/**
 * Every instance of a machine in a project, live or ended, read page by page, each in a turn of the
 * event loop of its own: 10,000 read at once would delay requests and samples by 50 to 140 ms.
 */

import type { MachineName } from '../../../machines/audit/registry.ts';
import { itemsOf } from '../../../streams/platform/commit/page.ts';
import { itemsInTurns } from '../../../streams/platform/operators.ts';
import type { Instance, ProjectView } from './host-port.ts';

/** Rows read in one turn, which takes 1 to 3 ms. */
const PAGE = 200;

/**
 * Commits may be applied between two pages: each row is as it was when its page was read, so
 * decisions based on it are repeated at the head.
 */
export function liveInstances<M extends MachineName>(
  view: ProjectView,
  machine: M,
): AsyncGenerator<Instance<M>, void, undefined> {
  return itemsInTurns(PAGE, (page) => view.instances(machine, { ...page, final: false }));
}

/** Instances in a final state, oldest first; otherwise like `liveInstances`. */
export function endedInstances<M extends MachineName>(
  view: ProjectView,
  machine: M,
): AsyncGenerator<Instance<M>, void, undefined> {
  return itemsInTurns(PAGE, (page) => view.instances(machine, { ...page, final: true }));
}

/** All live instances of a machine in one synchronous read: for few instances, within a decision. */
export function allInstances<M extends MachineName>(view: ProjectView, machine: M): Instance<M>[] {
  return [...itemsOf(1_000, (page) => view.instances(machine, { ...page, final: false }))];
}
