/** Route of `svc admin members`: the members of the cluster, as this one sees them. */
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
  /** The one that answers. */
  readonly isSelf: boolean;
  /** Position in EVENTS up to which it has applied, by its last record. */
  readonly applied: number;
  /** Positions by which that is behind the member that is furthest; null: it is not there. */
  readonly lag: number | null;
  /** Shares of the projects that it holds. */
  readonly shares: number;
  /** It holds the one of what belongs to no project. */
  readonly hasSystem: boolean;
  /** How far its calendar clock is ahead of the clock of NATS, at least; negative: behind. */
  readonly clockAheadMs: number;
}

/** Answer of `MEMBERS_PATH`. */
export interface MembersAnswer {
  /** The streams are embedded: there is no other, and none is listed. */
  readonly isAlone: boolean;
  /** Why the member that answers may not act now, so that what it says of others may be old. */
  readonly refusal?: string;
  /** By their start. */
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
  const { applied, shares, clockAheadMs } = view;
  const isThere = status === 'joining' || status === 'acting';
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
    version,
  };
}
