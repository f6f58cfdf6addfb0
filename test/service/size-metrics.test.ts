/**
 * The metrics of sizes, on a virtual clock: how far readers of the sample log are behind, how many
 * series ten thousand projects make, and that an absent copy has no time.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { LimitName } from '../../actors/platform/project-limits.ts';
import type { LimitUse } from '../../src/platform/gate/limit-use.ts';
import { silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { type CopyTimes, openSizeMetrics, type SizeParts } from '../../src/service/size-metrics.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { type StreamState, StreamUnavailable } from '../../streams/platform/stream.ts';
import { openStore } from '../support/history-from-log.ts';
import { dataFolder, until } from '../support/program.ts';

const START = Date.UTC(2026, 0, 1);

function use(name: LimitName, used: number | undefined, limit = 100): LimitUse {
  return { name, limit, used, unit: '', description: '' };
}

/** Starts the parts with these facts, and reads samples as text. */
function measured(t: Test, given: Partial<SizeParts> = {}) {
  const clock = new VirtualClock(START);
  const metrics = createMetrics({ clock, version: 'test' });
  const history = openStore({ folder: t.testdir(), clock });
  const state = { lastSequence: 0, messages: 0 } as StreamState;
  const parts = openSizeMetrics({
    metrics,
    clock,
    history,
    stream: { state: async () => state },
    readers: { history: () => 0, evaluator: () => 0 },
    host: { projects: () => ['_system', 'a', 'b'] },
    registry: { countOf: (project) => (project === 'a' ? 3 : 4) },
    limitUse: { of: () => [] },
    disks: { data: () => ({ freeBytes: 5_000, reserveBytes: 1_000 }) },
    copies: { backup: () => undefined, checkpoint: () => undefined },
    ...given,
  });
  const ending = new AbortController();
  const running = parts.map((part) => part.run(ending.signal));
  t.teardown(async () => {
    ending.abort();
    await Promise.all(running);
    metrics.close();
    await history.close();
  });
  return {
    clock,
    history,
    /** Samples of a metric, without its name. */
    async samples(name: string): Promise<string[]> {
      const lines = (await metrics.text()).split('\n');
      return lines
        .filter((line) => new RegExp(`^${name}[{ ]`).test(line))
        .map((line) => line.slice(name.length).trim());
    },
  };
}

test('memory, disks and fleet are shown with their bounds', async (t) => {
  const { samples } = measured(t);
  t.same(await samples('svc_projects'), ['2'], 'without the system project');
  t.same(await samples('svc_vms'), ['7']);
  t.same(await samples('svc_series'), ['0']);
  t.same(await samples('svc_head_max_bytes'), [String(2 ** 30)]);
  t.same(await samples('svc_disk_free_bytes'), ['{disk="data"} 5000']);
  t.same(await samples('svc_disk_reserve_bytes'), ['{disk="data"} 1000']);
  const apart = { freeBytes: 7, reserveBytes: 9 };
  const both = measured(t, { disks: { data: () => apart, history: () => apart } });
  t.same(await both.samples('svc_disk_free_bytes'), ['{disk="data"} 7', '{disk="history"} 7']);
});

test('a copy that does not exist has no time', async (t) => {
  const none = () => undefined;
  let backup: CopyTimes['backup'] = none;
  const { samples } = measured(t, { copies: { backup: () => backup(), checkpoint: none } });
  t.same(await samples('svc_backup_timestamp_seconds'), []);
  t.same(await samples('svc_snapshot_timestamp_seconds'), []);
  t.same(await samples('svc_checkpoint_timestamp_seconds'), []);
  backup = () => START;
  t.same(await samples('svc_backup_timestamp_seconds'), [String(START / 1000)]);
  const times = { snapshot: () => START + 1000, checkpoint: () => START + 2000 };
  const all = measured(t, { copies: { backup, ...times } });
  t.same(await all.samples('svc_snapshot_timestamp_seconds'), [String(START / 1000 + 1)]);
  t.same(await all.samples('svc_checkpoint_timestamp_seconds'), [String(START / 1000 + 2)]);
});

test('the lag of a reader is the time since it had handled everything in the log', async (t) => {
  let [last, evaluated] = [100, 100];
  let isGone = false;
  const { clock, samples } = measured(t, {
    stream: {
      async state() {
        if (isGone) throw new StreamUnavailable('gone', 'unknown');
        return { identity: 'log', firstSequence: 11, lastSequence: last, messages: last - 10 };
      },
    },
    readers: { history: () => last, evaluator: () => evaluated },
  });
  const seconds = () => samples('svc_sample_log_lag_seconds');
  await clock.advance(10_000);
  t.same(await seconds(), ['{reader="history"} 0', '{reader="evaluator"} 0']);
  t.same(await samples('svc_sample_log_entries'), ['90']);
  last = 150;
  await clock.advance(20_000);
  t.same(await seconds(), ['{reader="history"} 0', '{reader="evaluator"} 20']);
  t.match(await samples('svc_sample_log_lag_entries'), [
    '{reader="history"} 0',
    '{reader="evaluator"} 50',
  ]);
  isGone = true;
  await clock.advance(20_000);
  t.same((await seconds()).length, 2, 'the figures stay while the stream does not answer');
  isGone = false;
  evaluated = 150;
  await clock.advance(5_000);
  t.same(await seconds(), ['{reader="history"} 0', '{reader="evaluator"} 0']);
  await clock.advance(3_600_000);
  last = 151;
  await clock.advance(3_600_000);
  const [, lag = ''] = await seconds();
  t.match(lag, /^\{reader="evaluator"\} (595|600)$/, 'at most ten minutes');
});

test('ten thousand projects make as many series as fifty near a limit', async (t) => {
  const projects = Array.from({ length: 10_000 }, (_, i) => `p${i}`);
  const { clock, samples } = measured(t, {
    host: { projects: () => ['_system', ...projects] },
    limitUse: {
      of(project) {
        const n = Number(project.slice(1));
        const rules = n < 200 ? 60 + n / 8 : 10;
        return [
          use('rules', rules),
          use('vms', n === 7 ? 60 : 0),
          use('series', undefined),
          use('headBytes', 5, 0),
        ];
      },
    },
  });
  t.same(await samples('svc_project_limit_used_ratio'), [], 'nothing before the first round');
  await clock.advance(101_000);
  const shown = await samples('svc_project_limit_used_ratio');
  t.equal(shown.length, 50);
  t.ok(shown.includes('{project="p199",limit="rules"} 0.84875'), 'the highest first');
  t.same(await samples('svc_projects_near_limit'), [
    '{limit="rules"} 39',
    '{limit="vms"} 0',
    '{limit="series"} 0',
    '{limit="headBytes"} 0',
  ]);
});

test('a project that falls below half of its limit is no longer named', async (t) => {
  let used = 60;
  const { clock, samples } = measured(t, {
    host: { projects: () => ['a'] },
    limitUse: { of: () => [use('vms', used)] },
  });
  await clock.advance(1_000);
  t.same(await samples('svc_project_limit_used_ratio'), ['{project="a",limit="vms"} 0.6']);
  used = 40;
  await clock.advance(60_000);
  t.same(await samples('svc_project_limit_used_ratio'), []);
});

test('a running service shows the bound that its settings give', async (t) => {
  const data = dataFolder(t);
  const { settings } = loadConfig([], {
    SVC_DATA: data,
    SVC_HISTORY_DATA: join(data, 'history'),
    SVC_HEAD_MIB: '64',
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    SVC_COLLECT: 'none',
  });
  const service = await createService({ settings, log: silentLog });
  t.teardown(() => service.stop());
  const lagging = /svc_sample_log_lag_seconds\{reader="evaluator"\} 0\n/;
  const text = await until('the first look at the log', async () => {
    const answer = await (await fetch(service.metricsUrl ?? '')).text();
    return lagging.test(answer) ? answer : undefined;
  });
  t.match(text, /^svc_head_max_bytes 67108864$/m);
  t.match(text, /^svc_disk_free_bytes\{disk="history"\} \d+$/m);
  t.match(text, /^svc_open_permissions\{what="history_folder"\} 0$/m);
  t.match(text, /^svc_projects 1$/m);
  t.notMatch(text, /^svc_backup_timestamp_seconds /m);
});
