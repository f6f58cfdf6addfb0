/** Route of `svc admin members`: the members of the cluster, as seen by this one. */
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import type { MemberView } from '../../streams/platform/membership/roster.ts';
import type { AdminRoutes } from './admin-server.ts';

export const MEMBERS_PATH = '/v1/members';

export interface ListedMember
  extends Pick<
    MemberView,
    'node' | 'host' | 'pid' | 'address' | 'status' | 'version' | 'startedMs' | 'seenMs'
  > {
  /** Fault for which it stands down; absent: it does not. */
  readonly standsDown?: string;
  /** The member that responds. */
  readonly isSelf: boolean;
  /** Position in EVENTS that it has applied, according to its last record. */
  readonly applied: number;
  /** Positions by which it is behind the furthest member; null if it is not running. */
  readonly lag: number | null;
  /** Number of project shares that it holds. */
  readonly shares: number;
  /** True if it holds the share of everything that belongs to no project. */
  readonly hasSystem: boolean;
  /** Minimum ms by which its calendar clock is ahead of the clock of NATS; negative: behind. */
  readonly clockAheadMs: number;
}

/** Response of `MEMBERS_PATH`. */
export interface MembersAnswer {
  /** The streams are embedded: there are no other members, and none are listed. */
  readonly isAlone: boolean;
  /**
   * The reason why the responding member may not act now, so that its data about others may be old.
   */
  readonly refusal?: string;
  /** Sorted by start. */
  readonly members: readonly ListedMember[];
}

export function memberRoutes(
  member: Pick<Membership, 'isAlone' | 'node' | 'members' | 'refusal'>,
): AdminRoutes {
  return {
    async [MEMBERS_PATH](): Promise<MembersAnswer> {
      const refusal = member.refusal();
      const views = member.members();
      const newest = Math.max(...views.map(({ applied }) => applied));
      return {
        isAlone: member.isAlone,
        ...(refusal !== undefined && { refusal }),
        members: views.map((view) => listed(view, newest, member.node)),
      };
    },
  };
}

function listed(view: MemberView, newest: number, self: string): ListedMember {
  const { node, host, pid, address, status, version, startedMs, seenMs } = view;
  const { applied, shares, clockAheadMs, standsDown } = view;
  const isThere = status === 'joining' || status === 'acting' || status === 'unfit';
  return {
    node,
    isSelf: node === self,
    address,
    host,
    pid,
    status,
    startedMs,
    seenMs,
    applied,
    lag: isThere ? newest - applied : null,
    shares: shares.length,
    hasSystem: shares.includes(SYSTEM_PROJECT),
    clockAheadMs,
    ...(standsDown !== undefined && { standsDown }),
    version,
  };
}
