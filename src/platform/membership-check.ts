/**
 * This member's state in its cluster, in `/readyz` and in the metrics: whether it may act at all,
 * how far its clock is off, whether other members have fallen silent without signing off or stand
 * down, and whether projects are without an owner.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import {
  CLOCK_REFUSED_MS,
  type MemberStatus,
  type MemberView,
  SHARES,
} from '../../streams/platform/membership/roster.ts';
import { faulty, type HealthCheck, ready } from './health.ts';
import type { RoomBase } from './room-base.ts';

/** Difference to the clock of NATS from which a calendar clock is reported, ms. */
const CLOCK_DEGRADED_MS = 2_000;
/** Shares without an owner for this long are not just passing from one member to another, ms. */
const UNOWNED_MS = 15_000;

const STATUSES: readonly MemberStatus[] = ['joining', 'acting', 'unfit', 'gone', 'unreachable'];

/**
 * Watches until the service closes. A single process has no metrics of members.
 *
 * @param leader the nats-server whose clock members compare theirs with, as that of `CLUSTER`
 */
export function watchMembership(
  { clock, health, metrics }: Pick<RoomBase, 'clock' | 'health' | 'metrics'>,
  member: Membership,
  leader: () => string | undefined = () => undefined,
): void {
  health.watch({ kind: 'cluster' }, membershipCheck(member, clock, leader));
  if (member.isAlone) return;
  metrics.gauge(
    'svc_members',
    'Members of the cluster, as this one sees them; ended members count for an hour',
    ['status'],
    (gauge) => {
      const members = Map.groupBy(member.members(), ({ status }) => status);
      for (const status of STATUSES) gauge.set({ status }, members.get(status)?.length ?? 0);
    },
  );
  metrics.gauge(
    'svc_shares_owned',
    'Shares of the projects that this member owns now',
    [],
    (gauge) => gauge.set(ownedShares(member)),
  );
  metrics.gauge(
    'svc_member_clock_ahead_seconds',
    'Time by which the clock of this machine is ahead of the clock of NATS; negative: behind',
    [],
    (gauge) => gauge.set(member.clockAheadMs() / 1000),
  );
}

function ownedShares(member: Membership): number {
  return SHARES.filter((share) =>
    share === SYSTEM_PROJECT ? member.owns(share) : member.epochOf(share) !== undefined,
  ).length;
}

/**
 * Not ready: it may decide nothing, and vouches for no credential. Degraded: its clock is off, some
 * projects have no owner, or another member is unreachable and others act in its place.
 */
export function membershipCheck(
  member: Pick<Membership, 'isAlone' | 'refusal' | 'clockAheadMs' | 'members'>,
  clock: Pick<Clock, 'elapsed'>,
  leader: () => string | undefined = () => undefined,
): HealthCheck {
  let ownedMs = clock.elapsed();
  return () => {
    const unowned = unownedShares(member);
    if (unowned === 0) ownedMs = clock.elapsed();
    const refusal = member.refusal();
    const aheadMs = member.clockAheadMs();
    const isServers = Math.abs(aheadMs) > CLOCK_DEGRADED_MS && doMostAgree(member, aheadMs);
    const wrong = isServers ? serverSentence(member, aheadMs, leader()) : undefined;
    if (refusal !== undefined) {
      const isOfClock = wrong !== undefined && Math.abs(aheadMs) > CLOCK_REFUSED_MS;
      const reason = isOfClock ? wrong : refusal;
      return { state: 'notReady', reason, summary: 'This member is not in its cluster' };
    }
    if (wrong !== undefined) {
      return { state: 'degraded', reason: wrong, summary: 'The clock of a nats-server is wrong' };
    }
    if (Math.abs(aheadMs) > CLOCK_DEGRADED_MS) return faulty('degraded', clockSentence(aheadMs));
    if (clock.elapsed() - ownedMs > UNOWNED_MS) {
      const sentence = `${unowned} of ${SHARES.length} shares of the projects have no owner`;
      const hint = 'Run "svc admin members": is one of them of the newest version?';
      return { state: 'degraded', reason: `${sentence}. ${hint}`, summary: sentence };
    }
    const silent = member.members().filter(({ status }) => status === 'unreachable');
    if (silent.length > 0) {
      const reason = `Unreachable: ${silent.map(silence).join('; ')}. Others act in their place`;
      return { state: 'degraded', reason, summary: 'Other members are unreachable' };
    }
    const unfit = member.members().filter(({ status }) => status === 'unfit');
    if (unfit.length === 0) return ready;
    const reason = `Standing down: ${unfit.map(fault).join('; ')}. Others act in their place if they can`;
    return { state: 'degraded', reason, summary: 'A member stands down' };
  };
}

/** From the roster; 0 for a single process. */
function unownedShares(member: Pick<Membership, 'isAlone' | 'members'>): number {
  if (member.isAlone) return 0;
  return SHARES.length - member.members().flatMap(({ shares }) => shares).length;
}

const LIVE: readonly MemberStatus[] = ['joining', 'acting', 'unfit'];

/** True if the clocks of most members, of two at least, agree with this one. */
function doMostAgree(member: Pick<Membership, 'members'>, aheadMs: number): boolean {
  const live = liveMembers(member);
  const agreeing = live.filter((one) => Math.abs(one.clockAheadMs - aheadMs) <= CLOCK_DEGRADED_MS);
  return agreeing.length >= 2 && agreeing.length * 2 > live.length;
}

function liveMembers(member: Pick<Membership, 'members'>): readonly MemberView[] {
  return member.members().filter(({ status }) => LIVE.includes(status));
}

function serverSentence(
  member: Pick<Membership, 'members'>,
  aheadMs: number,
  leader = 'that leads CLUSTER',
): string {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  // The members are ahead of a server that is behind.
  const side = aheadMs > 0 ? 'behind' : 'ahead of';
  return (
    `The clock of nats-server ${leader} is ${seconds} s ${side} the clocks of most of the ` +
    `${liveMembers(member).length} members: set it, e.g. with NTP. From 10 s on, they decide nothing`
  );
}

function clockSentence(aheadMs: number): string {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return (
    `The clock of this machine is ${seconds} s ${side} the clock of NATS: set it, e.g. with NTP. ` +
    'From 10 s on, this member decides nothing'
  );
}

function fault({ host, pid, standsDown }: MemberView): string {
  return `the member on ${host} (process ${pid}): ${standsDown}`;
}

function silence({ host, pid, seenMs }: MemberView): string {
  return `the member on ${host} (process ${pid}) since ${new Date(seenMs).toISOString()}`;
}
