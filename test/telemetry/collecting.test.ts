/**
 * The collectors of this node when their project exceeds its rate: rows wait with their own times
 * and are stored later, discarded rows are counted, and each event is logged once.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import type { ProjectReads } from '../../actors/platform/host/host-port.ts';
import type { WriteRequest } from '../../actors/telemetry/ingest/ingest-port.ts';
import { createHealth } from '../../src/platform/health.ts';
import { type Log, silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { startCollecting } from '../../src/service/collecting.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { fleetDomain, type Libvirts, virshOf } from '../support/recorded-fleet.ts';

const INTERVAL_MS = 30_000;
const nothing = { record: () => undefined } as unknown as ProjectReads;

test('rows refused by a rate limit are kept, then counted; refused readings are logged once', async (t) => {
  const clock = new VirtualClock(START_MS);
  const metrics = createMetrics({ clock, version: '1.2.3' });
  const lines: string[] = [];
  const note = (facts: object, message: string) => {
    // Health logs its own line for the same fault.
    if ('part' in facts && 'reason' in facts) lines.push(message);
  };
  const log: Log = { debug() {}, info() {}, warn: note, error: note, child: () => log };
  const health = createHealth({ clock, log });
  let isOver = true;
  let offers = 0;
  const stored: number[] = [];
  const ingest = {
    async write({ rows }: WriteRequest) {
      offers++;
      if (isOver)
        throw new Refusal('TOO_MANY_REQUESTS', 'over the rate', { retryAfterSeconds: '9' });
      stored.push(...rows.map(({ observedMs }) => observedMs));
      const rejected = [{ row: 0, series: 'svc_vm_load1', reason: 'LIMIT_EXCEEDED' as const }];
      return { accepted: 1, duplicates: 0, rejected, sequence: 1 };
    },
  };
  const env = { SVC_COLLECT: 'host', SVC_DATA: t.testdir() };
  const { settings } = loadConfig([], env);
  const collecting = await startCollecting({
    base: { settings, clock, random: seededRandom(1), metrics, health, log },
    ingest,
    registry: { vmsOf: () => new Map(), sources: { nameOf: () => '', isOthers: () => false } },
    host: {
      submit: () => Promise.reject(new Error('Nothing is submitted here')),
      view: () => nothing,
    },
  });
  t.teardown(async () => {
    await collecting.stop();
    health.close();
    metrics.close();
  });
  /** The source reads real files. A round has ended when its rows have been offered. */
  const offered = async (before: number) => {
    for (let turn = 0; offers === before; turn++) {
      if (turn > 100_000) throw new Error('No round ended');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const before = offers;
      await clock.advance(INTERVAL_MS);
      await offered(before);
    }
  };
  await offered(0);
  const dropped = async () =>
    Number(/^svc_collector_rows_dropped_total (\d+)$/m.exec(await metrics.text())?.[1]);
  await rounds(10);
  t.equal(await dropped(), 0, 'they wait');
  await rounds(20);
  const lost = await dropped();
  t.ok(lost > 0, 'more than ten minutes of rows do not wait');
  t.equal(lines.filter((line) => /over the rate/.test(line)).length, 1);
  t.equal(lines.filter((line) => /dropped \d+ rows/.test(line)).length, 1);
  isOver = false;
  await rounds(3);
  t.ok(stored.length > 20, `${stored.length} stored`);
  t.same(
    stored,
    [...new Set(stored)].sort((a, b) => a - b),
    'in order, at their own times',
  );
  t.equal(lines.filter((line) => /is not stored: LIMIT_EXCEEDED/.test(line)).length, 1);
});

test('SRC-15: domains of a mapping reach their projects without the demo project', async (t) => {
  const clock = new VirtualClock(START_MS);
  const metrics = createMetrics({ clock, version: '1.2.3' });
  const health = createHealth({ clock, log: silentLog });
  const [web, db, stray] = [fleetDomain(1, 'web'), fleetDomain(2, 'db'), fleetDomain(3, 'stray')];
  const [near, far] = ['qemu:///system', 'qemu+ssh://host-b/system'];
  const libvirts: Libvirts = { [near]: [web, stray], [far]: [db] };
  const data = t.testdir();
  const mapping = join(data, 'collect.map');
  const map = (...rules: string[]) =>
    writeFileSync(mapping, `source ${near}\nsource ${far}\n${rules.join('\n')}`);
  map('name web project shop', 'name db project nowhere');
  const written: string[] = [];
  const submitted: string[] = [];
  const env = { SVC_COLLECT_MAP: mapping, SVC_DEMO: 'off', SVC_DATA: data };
  const { settings } = loadConfig([], env);
  const collecting = await startCollecting({
    base: { settings, clock, random: seededRandom(1), metrics, health, log: silentLog },
    run: virshOf(libvirts),
    ingest: {
      async write({ project, source, rows }: WriteRequest) {
        for (const { displayName } of rows) written.push(`${project} ${displayName} ${source}`);
        return { accepted: 1, duplicates: 0, rejected: [], sequence: 1 };
      },
    },
    registry: { vmsOf: () => new Map(), sources: { nameOf: () => '', isOthers: () => false } },
    host: {
      submit: async ({ project }) => {
        submitted.push(project);
        return { answer: { retired: [], refused: [] } } as never;
      },
      view: (project) =>
        ({ record: () => (project === 'nowhere' ? undefined : {}) }) as unknown as ProjectReads,
    },
  });
  t.teardown(async () => {
    await collecting.stop();
    health.close();
    metrics.close();
  });
  const settle = async () => {
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  await settle();
  t.same(collecting.watches, [`2 libvirts by the mapping ${mapping}`]);
  t.same(written, ['shop web libvirt qemu:///system']);
  t.match(health.report().parts, [
    { name: 'collector fleet', health: { state: 'degraded', reason: 'no project nowhere' } },
  ]);
  t.match(await metrics.text(), /^svc_collector_unmatched_domains 1$/m);
  map('name * project blog');
  collecting.reload();
  written.length = 0;
  await clock.advance(INTERVAL_MS);
  await settle();
  t.same(written.sort(), [
    'blog db libvirt qemu+ssh://host-b/system',
    'blog stray libvirt qemu:///system',
    'blog web libvirt qemu:///system',
  ]);
  t.same(submitted, ['shop'], 'the moved VM is retired in its old project');
  t.match(health.report().parts, [{ name: 'collector fleet', health: { state: 'ready' } }]);
});
