/**
 * A service whose `history.db` was removed: it starts, rereads the rows that the sample log still
 * has, and reports the missing ones. While the file exists, it reports nothing.
 */
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import {
  appendEntry,
  partitionSubject,
  pastEntries,
  SAMPLES_STREAM,
  samplesSpec,
} from '../../actors/telemetry/sample-log.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { createLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { reportHistoryGap } from '../../src/telemetry/history-gap.ts';
import { type Clock, systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { RETENTION_MS } from '../../streams/telemetry/entry.ts';
import { batchOf, START_MS } from '../support/evaluation-scenario.ts';
import { type Demo, dataFolder, until } from '../support/program.ts';

const HOUR = 3_600_000;

function clockBehind(byMs: number): Clock {
  return { ...systemClock, now: () => systemClock.now() - byMs };
}

async function start(t: Test, folder: string, behindMs = 0) {
  const { settings } = loadConfig([], {
    SVC_DATA: folder,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
  });
  const clock = clockBehind(behindMs);
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'warn', readable: false, clock, write });
  const service = await createService({ settings, log, ports: { clock } });
  t.teardown(() => service.stop());
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
  const post = async (method: string, key: string, body: object) => {
    const answer = await fetch(`${service.address}/svc.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return {
    lines,
    stop: () => service.stop(),
    /** Writes one row per minute, the last one now. Each value is the row's age in minutes. */
    async write(rows: number): Promise<void> {
      const answer = await post('ingest.v1.IngestService/WriteSamples', demo.collectorKey, {
        projectName: demo.projectName,
        rows: Array.from({ length: rows }, (_, i) => ({
          vmName: 'vm-1',
          observedUnixMs: String(clock.now() - i * 60_000),
          values: [{ series: 'svc_vm_memory_total_bytes', value: i + 1 }],
        })),
      });
      t.equal(answer.status, 200);
    },
    /** Points of the last 12 hours, and the reasons of gaps between them. */
    async answer(): Promise<{ points: number; gaps: readonly string[] }> {
      const end = Math.floor(clock.now() / 1000);
      const answer = await post('monitoring.v1.MonitoringService/QueryVMMonitoring', demo.apiKey, {
        name: `${demo.projectName}/vms/vm-1`,
        metricIds: ['memory_total_bytes'],
        startTimeUnix: String(end - 12 * 3600),
        endTimeUnix: String(end),
        stepSeconds: 30,
      });
      t.equal(answer.status, 200, 'the query is answered');
      const [series] = (answer.body.series ?? []) as { points: unknown[] }[];
      const { gaps = [] } = (answer.body.quality ?? {}) as { gaps?: { reason: string }[] };
      return { points: series?.points.length ?? 0, gaps: gaps.map(({ reason }) => reason) };
    },
    async points(): Promise<number> {
      return (await this.answer()).points;
    },
  };
}

/** Writes the whole log into chunks and truncates the log, as happens over hours. */
async function flushAndCut(folder: string): Promise<void> {
  const storage = () => join(folder, 'samples.db');
  const stream = openEmbeddedStream({ storage, clock: systemClock });
  const { identity, lastSequence } = await stream.state(SAMPLES_STREAM);
  const history = openHistory({
    folder,
    clock: systemClock,
    logIdentity: identity,
    background: false,
  });
  for await (const { entry, partition, sequence } of pastEntries(stream, { sequence: 1 })) {
    if (entry.kind === 'batch') history.append(entry.batch, { partition, sequence });
    else history.pass({ partition, sequence });
  }
  await history.flush();
  await history.close();
  await stream.truncate({ stream: SAMPLES_STREAM, belowSequence: lastSequence + 1 });
  await stream.close();
}

test('DUR-19: a removed history.db is restored from the log, and the rest is reported', async (t) => {
  const folder = dataFolder(t);
  const first = await start(t, folder, 6 * HOUR);
  await first.write(20);
  await first.stop();
  await flushAndCut(folder);

  const second = await start(t, folder);
  await second.write(5);
  t.equal(
    await until('all rows', async () => ((await second.points()) === 25 ? 25 : undefined)),
    25,
  );
  t.same(second.lines, [], 'nothing is missing or reported');
  t.notOk((await second.answer()).gaps.includes('HISTORY_LOST'));
  await second.stop();
  const kept = `${folder}-kept.db`;
  copyFileSync(join(folder, 'history.db'), kept);
  t.teardown(() => rmSync(kept, { force: true }));

  for (const name of readdirSync(folder)) {
    if (name.startsWith('history.db')) rmSync(join(folder, name));
  }
  const third = await start(t, folder);
  t.match(third.lines.join(), /history\.db was removed or is an older copy: readings are missing/);
  const reported = JSON.parse(third.lines[0] ?? '{}') as { beforeMs?: number; afterMs?: number };
  t.equal(reported.afterMs, undefined, 'there is nothing in chunks');
  t.ok(
    Math.abs((reported.beforeMs ?? 0) - systemClock.now()) < 60_000,
    'the log begins with the 5',
  );
  t.equal(
    await until('the log to be read', async () => ((await third.points()) >= 5 ? 5 : undefined)),
    5,
  );
  t.equal(await third.points(), 5, 'rows in the log are restored, and nothing is made up');
  t.ok((await third.answer()).gaps.includes('HISTORY_LOST'), 'the answer reports the loss');
  await third.stop();

  copyFileSync(kept, join(folder, 'history.db'));
  const fourth = await start(t, folder);
  t.same(fourth.lines, [], 'the restored copy matches the log');
  t.equal(
    await until('the log to be read', async () =>
      (await fourth.points()) === 25 ? 25 : undefined,
    ),
    25,
  );
  await fourth.stop();
});

/** Partition with a long window, partition whose log is cut, and one that is new. */
const [LONG, CUT, NEW] = [17, 18, 19];

/**
 * The report of a member whose history knows the log below `floor`. Entry 2i - 1 of the log is of
 * one partition, and entry 2i of another, stored at hour i - 1 of the last ten.
 */
async function reported(t: Test, floor: number) {
  const clock = new VirtualClock(START_MS);
  const stream = openEmbeddedStream({ storage: ':memory:', clock });
  t.teardown(() => stream.close());
  await stream.ensure(samplesSpec);
  const batch = batchOf(0, [{ at: 0, cpu: 1 }]);
  for (let hour = 0; hour < 10; hour++) {
    for (const partition of [LONG, CUT])
      await appendEntry(stream, partition, { kind: 'batch', batch });
    await clock.advance(HOUR);
  }
  await appendEntry(stream, NEW, { kind: 'batch', batch });
  const subject = partitionSubject(CUT);
  await stream.truncate({ stream: SAMPLES_STREAM, subject, belowSequence: 13 });
  const lost: unknown[] = [];
  const history = {
    retentionMs: RETENTION_MS,
    newestFloor: () => floor,
    stored: async () => ({ newestMs: START_MS }) as never,
    recordLost: (stretch: unknown) => void lost.push(stretch),
  };
  const log = createLog({ level: 'warn', readable: false, clock, write: () => {} });
  const samples = await stream.state(SAMPLES_STREAM);
  await reportHistoryGap({ history, stream, samples, nowMs: clock.now() }, log);
  return lost;
}

test('DUR-19: a member that was away reports what it lost in a partition whose log was cut', async (t) => {
  const toMs = START_MS + 6 * HOUR;
  t.same(await reported(t, 9), [{ fromMs: START_MS - 2 * HOUR, toMs }], 'away for six hours');
});

test('DUR-19: gaps in truncated partitions are no loss to a member that has read them', async (t) => {
  t.same(await reported(t, 14), []);
  t.same(await reported(t, 20), [], 'nor is the first entry of a new partition');
});
