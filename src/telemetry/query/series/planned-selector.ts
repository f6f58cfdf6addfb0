/** A selector as a thread keeps it for a project: its plan, and what it found last time. */
import type { Matcher } from '../../promql/matcher.ts';
import type { Weighed } from '../project-cache.ts';
import { MatchPlan } from './match-plan.ts';
import type { ReadableKeys } from './readable-key.ts';
import { VmFinds } from './vm-finds.ts';

/** Of the objects, and of the plan's lists of what it matches in each layout of rows. */
const PLAN_BYTES = 2_000;

export class PlannedSelector implements Weighed {
  readonly plan: MatchPlan;
  readonly finds = new VmFinds();
  readonly #matchers: readonly Matcher[];

  constructor(matchers: readonly Matcher[], keys: ReadableKeys) {
    this.plan = new MatchPlan(matchers, keys);
    this.#matchers = matchers;
  }

  get bytes(): number {
    return this.#matchers.reduce((sum, { bytes }) => sum + bytes, PLAN_BYTES + this.finds.bytes);
  }
}
