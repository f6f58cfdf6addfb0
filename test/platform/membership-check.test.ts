/**
 * A member's status in its cluster as `/readyz` and the metrics show it, over a membership with
 * given answers. membership.test.ts covers the membership itself.
 */
import { test } from 'tap';
import { callerReport, createHealth, operatorReport } from '../../src/platform/health.ts';
import { silentLog } from '../../src/platform/log.ts';
import { membershipCheck, watchMembership } from '../../src/platform/membership-check.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { Membership } from '../../streams/platform/membership/membership.ts';
import { type MemberView, SHARES } from '../../streams/platform/membership/roster.ts';
import { soleMember } from '../../streams/platform/membership/sole-member.ts';

const SEEN_MS = Date.UTC(2026, 10, 1, 12, 0, 0);

function view(status: MemberView['status'], host: string, pid: number): MemberView {
  const facts = { node: `node-${pid}`, host, pid, startedMs: 0, address: null, version: '1' };
  const progress = { applied: 0, decided: 0, floor: 0, heard: {}, unfit: [] };
  const record = { life: 1, turn: 1, clockMs: 0, clockAheadMs: 0, knows: 0, seenMs: SEEN_MS };
  const state = status === 'unreachable' || status === 'unfit' ? 'acting' : status;
  return { ...facts, ...progress, ...record, state, status, shares: [] };
}

function member(given: Partial<Membership>): Membership {
  return { ...soleMember('node-1'), isAlone: false, ...given };
}

const check = (given: Partial<Membership>) => membershipCheck(member(given), new VirtualClock(0))();

test('DUR-26: a clock over 2 s off is degraded, and rejected beyond 10 s', async (t) => {
  t.same(check({ clockAheadMs: () => 2_000 }), { state: 'ready' });
  t.match(check({ clockAheadMs: () => 3_000 }), {
    state: 'degraded',
    reason:
      'The clock of this machine is 3.0 s ahead of the clock of NATS: set it, e.g. with NTP. ' +
      'From 10 s on, this member decides nothing',
  });
  t.match(check({ clockAheadMs: () => -3_210 }), {
    state: 'degraded',
    reason: 'The clock of this machine is 3.2 s behind the clock of NATS',
  });
  const refusal = () => 'The clock of this machine is 15 s ahead of the clock of NATS';
  t.match(check({ refusal, clockAheadMs: () => 15_000 }), {
    state: 'notReady',
    reason: refusal(),
    summary: 'This member is not in its cluster',
  });
});

test('DUR-35: where most members agree on the time, the nats-server is named', async (t) => {
  const of = (aheads: readonly number[], refusal?: string) => {
    const members = () =>
      aheads.map((clockAheadMs, n) => ({ ...view('acting', `vm-${n}`, n), clockAheadMs }));
    const given = { members, clockAheadMs: () => aheads[0] ?? 0, refusal: () => refusal };
    return membershipCheck(member(given), new VirtualClock(0), () => 'nats-2')();
  };
  t.match(of([3_000, 3_400, 0]), {
    state: 'degraded',
    summary: 'The clock of a nats-server is wrong',
    reason:
      'The clock of nats-server nats-2 is 3.0 s behind the clocks of most of the 3 members: set it, ' +
      'e.g. with NTP. From 10 s on, they decide nothing',
  });
  t.match(of([-4_000, -4_000]), { reason: /nats-2 is 4\.0 s ahead of the clocks/ });
  t.match(of([3_000, 0, 0]), { reason: /The clock of this machine is 3\.0 s ahead/ });
  t.match(of([3_000]), { reason: /The clock of this machine/ }, 'one member shows nothing');
  t.match(of([3_000, -3_000, 0]), { reason: /The clock of this machine/ }, 'no two members agree');
  t.match(of([15_000, 15_000, 15_100], 'The clock of this machine is 15 s ahead'), {
    state: 'notReady',
    reason: /The clock of nats-server nats-2 is 15\.0 s behind/,
  });
  t.match(of([0, 0, 0], 'cut off'), { state: 'notReady', reason: 'cut off' });
});

test('DUR-26: a cut-off member is not ready, whatever it knows of the others', async (t) => {
  const refusal = () => 'This member may have been replaced, and does not act until it knows: x';
  const members = () => [view('unreachable', 'b', 2)];
  t.match(check({ refusal, members }), { state: 'notReady', reason: /does not act until/ });
});

test('DUR-26: only operators see the host of a silent member and since when', async (t) => {
  const both = [view('unreachable', 'vm-b', 42), view('unreachable', 'vm-c', 43)];
  const members = () => [view('acting', 'vm-a', 1), view('gone', 'vm-d', 4), ...both];
  const log = silentLog;
  const health = createHealth({ clock: new VirtualClock(0), log });
  t.teardown(() => health.close());
  health.watch({ kind: 'cluster' }, membershipCheck(member({ members }), new VirtualClock(0)));
  t.same(operatorReport(health.report()), {
    ready: true,
    serving: true,
    parts: [
      {
        name: 'cluster',
        state: 'degraded',
        reason:
          'Unreachable: the member on vm-b (process 42) since 2026-11-01T12:00:00.000Z; the member ' +
          'on vm-c (process 43) since 2026-11-01T12:00:00.000Z. Others act in their place',
      },
    ],
  });
  t.notMatch(JSON.stringify(callerReport(health.report())), /vm-|2026/);
  t.match(check({ members: () => [view('gone', 'b', 2), view('joining', 'c', 3)] }), {
    state: 'ready',
  });
  const unfit = { ...view('unfit', 'vm-e', 5), standsDown: 'The data disk is full' };
  t.match(check({ members: () => [unfit] }), {
    state: 'degraded',
    reason: /^Standing down: the member on vm-e \(process 5\): The data disk is full\. Others act/,
    summary: 'A member stands down',
  });
});

test('DUR-26: projects without a member are degraded after 15 s, until a member serves them', async (t) => {
  const clock = new VirtualClock(0);
  let shares = SHARES.slice(0, 60);
  const members = () => [{ ...view('acting', 'a', 1), shares }];
  const checked = membershipCheck(member({ members }), clock);
  t.match(checked(), { state: 'ready' });
  await clock.advance(15_000);
  t.match(checked(), { state: 'ready' }, 'they may be in transit between members');
  await clock.advance(1_000);
  t.match(checked(), {
    state: 'degraded',
    reason: /^5 of 65 shares of the projects have no owner/,
  });
  shares = [...SHARES];
  t.match(checked(), { state: 'ready' });
  const alone = membershipCheck(soleMember('node-1'), clock);
  await clock.advance(60_000);
  t.match(alone(), { state: 'ready' }, 'a single process owns all of them');
});

test('members by status, shares and the clock are metrics of a cluster only', async (t) => {
  const clock = new VirtualClock(0);
  const textOf = async (given: Partial<Membership>): Promise<string> => {
    const metrics = createMetrics({ clock, version: 'test' });
    const health = createHealth({ clock, log: silentLog });
    watchMembership({ clock, health, metrics }, member(given));
    const text = await metrics.text();
    metrics.close();
    health.close();
    return text;
  };
  const text = await textOf({
    members: () => [view('acting', 'a', 1), view('acting', 'b', 2), view('unreachable', 'c', 3)],
    owns: (project) => project === '_system',
    epochOf: (partition) => (partition < 20 ? 7 : undefined),
    clockAheadMs: () => -1_250,
  });
  t.match(text, /^svc_members\{status="acting"\} 2$/m);
  t.match(text, /^svc_members\{status="unreachable"\} 1$/m);
  t.match(text, /^svc_members\{status="gone"\} 0$/m);
  t.match(text, /^svc_shares_owned 21$/m);
  t.match(text, /^svc_member_clock_ahead_seconds -1\.25$/m);
  t.notMatch(await textOf({ isAlone: true }), /svc_members|svc_shares|svc_member_/);
});
