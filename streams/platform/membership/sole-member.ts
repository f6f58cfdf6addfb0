/** Membership of one-host mode: a process that shares its streams with no other. */
import type { Membership, Ownership } from './membership.ts';

/** The only process of its streams: it owns every project, under a lease that never expires. */
export const soleOwner: Ownership = {
  owns: () => true,
  epochOf: () => 0,
  decidedBy: () => undefined,
  onChange: () => () => {},
};

/** The only process of its streams: there is no other member to wait for. */
export function soleMember(node: string): Membership {
  return {
    ...soleOwner,
    node,
    isAlone: true,
    members: () => [],
    clockAheadMs: () => 0,
    refusal: () => undefined,
    report: () => {},
    begin: () => {},
    announce: () => {},
    untilApplied: async () => {},
    heardElsewhere: () => new Map(),
    floorsOf: () => [],
    leave: async () => {},
  };
}
