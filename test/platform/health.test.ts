/**
 * Readiness: how the states of parts become sentences, which states make the service unready, and
 * that each change is logged once, even without a request.
 */
import { tmpdir } from 'node:os';
import { test } from 'tap';
import { createDiskSpace } from '../../src/platform/disk-space.ts';
import {
  actingFault,
  addHealthGauges,
  callerReport,
  createHealth,
  diskCheck,
  faulty,
  historyCheck,
  hostCheck,
  operatorReport,
  type PartHealth,
  partCheck,
  publicReport,
  ready,
  starting,
  streamCheck,
} from '../../src/platform/health.ts';
import { createLog, silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

test('a check that throws is not ready; changes are logged without a request', async (t) => {
  const clock = new VirtualClock(0);
  const logged: string[] = [];
  const write = (line: string): void => void logged.push(line);
  const log = createLog({ level: 'info', readable: false, clock, write });
  const health = createHealth({ clock, log });
  t.teardown(() => health.close());
  const broken = { is: true };
  const forget = health.watch({ kind: 'database' }, () => {
    if (broken.is) throw new Error('database is locked');
    return ready;
  });
  await clock.advance(2_000);
  t.match(logged.join(''), /database is locked/);
  broken.is = false;
  await clock.advance(2_000);
  t.match(logged.join(''), /database is ready again/);
  t.throws(() => health.watch({ kind: 'database' }, () => ready), /already watched/);
  forget();
  t.same(health.report(), { ready: true, serving: true, parts: [] });
});

test('a fault that only prevents acting makes a member stand down, but not stop answering', async (t) => {
  const health = createHealth({ clock: new VirtualClock(0), log: silentLog });
  t.teardown(() => health.close());
  const states: Record<string, PartHealth> = {};
  const check = (kind: string) => () => states[kind] ?? ready;
  health.watch({ kind: 'secrets', neededFor: 'acting' }, check('secrets'));
  health.watch({ kind: 'disk' }, check('disk'));
  health.watch({ kind: 'cluster' }, check('cluster'));
  t.match(health.report(), { ready: true, serving: true });
  states.secrets = faulty('degraded', 'Secrets are late');
  t.match(health.report(), { ready: true, serving: true });
  t.equal(actingFault(health.report()), undefined, 'a degraded part works');
  states.secrets = starting('Secrets are being read');
  t.match(health.report(), { ready: false, serving: true });
  t.equal(actingFault(health.report()), undefined, 'a part that starts has no fault');
  states.secrets = faulty('notReady', 'Secrets do not arrive');
  t.match(health.report(), { ready: false, serving: true });
  t.equal(actingFault(health.report()), 'Secrets do not arrive');
  states.secrets = ready;
  states.cluster = faulty('notReady', 'Cut off');
  t.match(health.report(), { ready: false, serving: false });
  t.equal(actingFault(health.report()), undefined, 'others decide about a member that is cut off');
  states.disk = { state: 'notReady', reason: '/srv has 3 MiB free', summary: 'The disk is full' };
  t.equal(actingFault(health.report()), 'The disk is full', 'no path of this host');
});

test('a starting part is logged as information, a failed one as an error', async (t) => {
  const clock = new VirtualClock(0);
  const logged: string[] = [];
  const write = (line: string): void => void logged.push(line);
  const log = createLog({ level: 'info', readable: false, clock, write });
  const health = createHealth({ clock, log });
  t.teardown(() => health.close());
  let state: 'starting' | 'retrying' = 'starting';
  const host = { health: () => ({ state, reason: 'EVENTS is gone' }), latestCommitMs: () => 0 };
  health.watch({ kind: 'commits' }, hostCheck(host, clock));
  t.equal(health.report().ready, false);
  t.match(logged.splice(0), [/"level":"info".*being read; no action is needed/]);
  state = 'retrying';
  t.equal(health.report().ready, false);
  t.match(logged, [/"level":"error".*EVENTS is gone/]);
});

test('the checks describe the parts in sentences, and list those that make the service unready', async (t) => {
  const disk = (mib: number) =>
    diskCheck('/d', () => ({ freeBytes: mib * 2 ** 20, reserveBytes: 512 * 2 ** 20 }))();
  const unavailable = { state: 'unavailable', reason: 'disk is full' } as const;
  const part = { sinceMs: 0, failures: 1, restarts: 3 };
  const running = [
    { ...part, name: 'evaluator', state: 'restarting' as const, lastError: 'x is undefined' },
    { ...part, name: 'deliverer', state: 'running' as const, lastError: null },
  ];
  const supervision = { healthOf: (of: string) => running.find(({ name }) => name === of) };
  const clock = new VirtualClock(1_000_000);
  const host = (state: 'ready' | 'starting' | 'retrying' | 'stopped', latestMs = 0) => {
    const health = () => ({ state, reason: 'EVENTS is gone' });
    return hostCheck({ health, latestCommitMs: () => latestMs }, clock);
  };
  const cases: [PartHealth, object][] = [
    [disk(5_000), ready],
    [
      disk(400),
      {
        state: 'degraded',
        reason: /400 MiB free, less than the 512 of SVC_DISK_RESERVE: changes of the projects that/,
      },
    ],
    [
      disk(100),
      {
        state: 'degraded',
        reason: /100 MiB free.*all projects.*svc admin limits show/,
        summary: 'The data disk is nearly full: changes of all projects are refused',
      },
    ],
    [disk(31), { state: 'notReady', reason: /free some space/ }],
    [streamCheck({ health: () => ({ state: 'available' }) })(), ready],
    [
      streamCheck({ health: () => unavailable })(),
      { state: 'notReady', reason: /unavailable: disk is full/ },
    ],
    [historyCheck({ stats: () => ({ incompleteProjects: 0 }) })(), ready],
    [
      historyCheck({ stats: () => ({ incompleteProjects: 7 }) })(),
      { state: 'degraded', reason: /no room in memory for rows of 7 projects/ },
    ],
    [
      historyCheck({ stats: () => ({ incompleteProjects: 7, fault: 'disk is full' }) })(),
      { state: 'degraded', reason: /disk is full/ },
    ],
    [host('ready')(), ready],
    [host('ready', 1_010_000)(), ready],
    // Beyond a minute, commits follow the clock.
    [host('ready', 4_600_000)(), ready],
    [
      host('ready', 1_060_000)(),
      { state: 'degraded', reason: /^The clock was set back: .* late, by up to 60 s\. / },
    ],
    [host('starting')(), { state: 'notReady', reason: /no action is needed/ }],
    [host('retrying')(), { state: 'notReady', reason: /retrying soon: EVENTS is gone/ }],
    [host('stopped')(), { state: 'notReady', reason: /has stopped: EVENTS is gone/ }],
    [
      partCheck(supervision, { name: 'evaluator', essential: true })(),
      { state: 'notReady', reason: 'evaluator is restarting (restarts: 3): x is undefined' },
    ],
    [partCheck(supervision, { name: 'evaluator', essential: false })(), { state: 'degraded' }],
    [partCheck(supervision, { name: 'deliverer', essential: true })(), ready],
    [partCheck(supervision, { name: 'ingest', essential: true })(), { reason: /not started yet/ }],
  ];
  for (const [health, expected] of cases) t.match(health, expected);
  const real = createDiskSpace({ folder: tmpdir(), reserveMib: 512, clock });
  t.match(
    diskCheck(tmpdir(), real)().state,
    /ready|degraded|notReady/,
    'a real file system answers',
  );
});

test('a report hides names and reasons from callers, and all but states from strangers', async (t) => {
  const log = createLog({
    level: 'silent',
    readable: false,
    clock: new VirtualClock(0),
    write: () => {},
  });
  const health = createHealth({ clock: new VirtualClock(0), log });
  t.teardown(() => health.close());
  const stderr = 'root@hv-7.corp: Permission denied (publickey /root/.ssh/id_ed25519)';
  const summary = 'A collector cannot read all of its source';
  health.watch({ kind: 'stream' }, () => ready);
  health.watch({ kind: 'collector', name: 'collector host' }, () => ready);
  health.watch({ kind: 'collector', name: 'collector qemu+ssh://root@hv-7.corp' }, () => ({
    state: 'degraded',
    reason: stderr,
    summary,
  }));
  health.watch({ kind: 'disk' }, () => {
    throw new Error('ENOENT /srv/secret');
  });
  const report = health.report();
  t.same(publicReport(report), {
    ready: false,
    serving: false,
    parts: [
      { name: 'stream', state: 'ready' },
      { name: 'collector', state: 'degraded' },
      { name: 'disk', state: 'notReady' },
    ],
  });
  t.same(callerReport(report).parts.slice(1), [
    { name: 'collector', state: 'degraded', reason: summary },
    { name: 'disk', state: 'notReady', reason: 'The check of this part failed' },
  ]);
  t.same(operatorReport(report).parts.slice(2), [
    { name: 'collector qemu+ssh://root@hv-7.corp', state: 'degraded', reason: stderr },
    { name: 'disk', state: 'notReady', reason: 'ENOENT /srv/secret' },
  ]);
});

test('alert rules read readiness and the state of each kind of part from metrics', async (t) => {
  const clock = new VirtualClock(0);
  const metrics = createMetrics({ clock, version: 'test' });
  const health = createHealth({ clock, log: silentLog });
  t.teardown(() => [health.close(), metrics.close()]);
  addHealthGauges(metrics, health);
  const stateOf = (state: 'degraded' | 'notReady') => () => ({ state, reason: 'r', summary: 's' });
  const forget = health.watch({ kind: 'stream' }, stateOf('notReady'));
  health.watch({ kind: 'disk' }, () => ready);
  health.watch({ kind: 'collector', name: 'collector 1' }, () => ready);
  health.watch({ kind: 'collector', name: 'collector 2' }, stateOf('degraded'));
  const displayed = async () => (await metrics.text()).match(/^svc_(ready|part_state).*$/gm);
  t.same(await displayed(), [
    'svc_ready 0',
    'svc_part_state{part="stream"} 2',
    'svc_part_state{part="disk"} 0',
    'svc_part_state{part="collector"} 1',
  ]);
  forget();
  t.same(await displayed(), [
    'svc_ready 1',
    'svc_part_state{part="disk"} 0',
    'svc_part_state{part="collector"} 1',
  ]);
});
