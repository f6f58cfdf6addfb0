/**
 * How one group is aggregated: its members' columns come one after the other, and each adds itself
 * to all steps of the group at once.
 */
import type { Column } from '../../values.ts';

export interface Accumulator {
  /** Members come in a fixed order; what depends on it is then the same each time. */
  add(member: Column): void;
  /** The group's column; nothing is added after. */
  finish(): Column;
}
