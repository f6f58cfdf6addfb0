/**
 * The limits of each project for code that looks at every request: read from the projection once,
 * and again after a commit that changes them. Bounded by the number of projects.
 */

import type { Host } from './host/host-port.ts';
import { LIMITS_KIND, limitsOf, type ProjectLimits } from './project-limits.ts';

export class ProjectLimitsReader {
  readonly #host: Pick<Host, 'view' | 'onApplied'>;
  readonly #limits = new Map<string, ProjectLimits>();

  constructor(host: Pick<Host, 'view' | 'onApplied'>) {
    this.#host = host;
    host.onApplied(({ commit: { project, decisions } }) => {
      if (!this.#limits.has(project)) return;
      const isChanged = decisions.some(({ records }) =>
        records.some(({ kind }) => kind === LIMITS_KIND),
      );
      if (isChanged) this.#limits.delete(project);
    });
  }

  /** What holds for the project now: what the operator has set, else the defaults. */
  of(project: string): ProjectLimits {
    let limits = this.#limits.get(project);
    if (limits === undefined) {
      limits = limitsOf(this.#host.view(project));
      this.#limits.set(project, limits);
    }
    return limits;
  }
}
