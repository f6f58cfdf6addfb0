/**
 * A real Prometheus, with the configuration that docs/reading.md offers for pasting (only its
 * intervals are shorter), discovers the shards of a real program and scrapes them while samples
 * arrive over the network. Every sample that it stores must have been written.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';
import { startPrometheus } from '../../support/prometheus.ts';

const WRITE = 'ingest.v1.IngestService/WriteSamples';
/** One more than a shard holds. */
const VMS = 501;
/** Age of a sample at its write that makes it leave the exports during the test, ms. */
const LEAVING_MS = 84_000;
/** The sources of these tests do not send them: they are computed from other series. */
const COMPUTED = new Set(['svc_vm_cpu_utilization_pct', 'svc_vm_memory_used_bytes']);
const settings = { SVC_COLLECT: 'none' };

type Reading = readonly [series: string, labels: Record<string, string>, value: number];

interface Row {
  readonly vmName: string;
  readonly displayName: string;
  readonly observedUnixMs: number;
  readonly vcpus?: number;
  readonly state?: 'RUNNING';
  readonly readings: readonly Reading[];
}

interface QueriedSeries {
  readonly metric: Readonly<Record<string, string>>;
  /** Sample of an instant vector: seconds and text. */
  readonly value?: readonly [number, string];
  /** Samples of a range selector. */
  readonly values?: readonly (readonly [number, string])[];
}

/** An instant query; `time` in Unix seconds. */
type Query = (expression: string, time?: string) => Promise<readonly QueriedSeries[]>;

/** Instant queries over any server. Each throws the error together with its expression. */
function queriesOf(post: (parameters: Record<string, string>) => Promise<unknown>): Query {
  return async (expression, time) => {
    const parameters = { query: expression, ...(time === undefined ? {} : { time }) };
    const answer = (await post(parameters)) as {
      readonly data?: { readonly result: readonly QueriedSeries[] };
    };
    if (answer.data) return answer.data.result;
    throw new Error(`${expression}: ${JSON.stringify(answer)}`);
  };
}

/** Written samples, as Prometheus would report them: `labels @ ms` to value. */
class Written {
  readonly samples = new Map<string, number>();
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  async write(rows: readonly Row[]): Promise<void> {
    const { projectName, collectorKey } = this.#program.demo;
    const messages = rows.map(({ readings, ...row }) => ({
      ...row,
      values: readings.map(([series, labels, value]) => ({ series, labels, value })),
    }));
    const { status, body } = await this.#program.call(
      WRITE,
      { projectName, rows: messages },
      collectorKey,
    );
    if (status !== 200) throw new Error(`WriteSamples: ${JSON.stringify(body)}`);
    for (const row of rows) this.#record(row);
  }

  #record({ vmName, displayName, observedUnixMs, vcpus, state, readings }: Row): void {
    const own = { project: 'demo', datacenter: 'DC-1', vm: vmName, vm_name: displayName };
    const all: readonly Reading[] = [
      ...readings,
      ...(vcpus === undefined ? [] : [['svc_vm_vcpus', {}, vcpus] as const]),
      ...(state === undefined ? [] : [['svc_vm_running', {}, 1] as const]),
      ['svc_vm_last_observation_timestamp_seconds', {}, observedUnixMs / 1000],
    ];
    for (const [name, labels, value] of all) {
      this.samples.set(sampleKey({ __name__: name, ...own, ...labels }, observedUnixMs), value);
    }
  }
}

function sampleKey(labels: Readonly<Record<string, string>>, timeMs: number): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(sorted)} @ ${timeMs}`;
}

/** Readings that are hard to format: long fractions, large and small numbers, odd labels. */
function readingsAt(round: number): readonly Reading[] {
  return [
    ['svc_vm_cpu_seconds_total', {}, 1e6 + round / 3],
    ['svc_vm_memory_total_bytes', {}, 2 ** 53],
    ['svc_vm_memory_free_bytes', {}, 2 ** 53 - round],
    ['svc_vm_network_receive_bytes_total', { interface: 'a' }, round === 2 ? 0 : 5e-324 * round],
    ['svc_vm_network_transmit_bytes_total', { interface: 'a' }, round * 1e21],
    ['svc_vm_disk_read_bytes_total', { device: 'vda' }, round * 4096],
    ['svc_vm_disk_read_bytes_total', { device: 'vd "b"\\\n\0' }, round * 512],
    ['svc_vm_filesystem_used_bytes', { mountpoint: '/ü', fstype: 'ext4' }, round],
  ];
}

/** The guide's configuration for this program with short intervals, with one job per format. */
function configurationFor(program: Program, keyFile: string): string {
  const pasted = codeBlock('reading.md', '# prometheus.yml')
    .replaceAll('https://monitoring.example.com', program.demo.baseUrl)
    .replaceAll('/etc/prometheus/vm-monitoring.key', keyFile);
  const hasty = pasted
    .replace('scrape_interval: 60s', 'scrape_interval: 500ms')
    .replace('scrape_timeout: 10s', 'scrape_timeout: 500ms')
    .replace('refresh_interval: 60s', 'refresh_interval: 1s');
  const asText = hasty
    .slice(hasty.indexOf('  - job_name'))
    .replace('vm-monitoring\n', 'as-text\n    scrape_protocols: [PrometheusText0.0.4]\n');
  return hasty + asText;
}

test(
  'API-04: Prometheus scrapes exactly the written samples',
  needs('prometheus 3.5.3'),
  async (t) => {
    t.setTimeout(840_000);
    const program = await startProgram(t, dataFolder(t), settings);
    const folder = dataFolder(t);
    const keyFile = join(folder, 'vm-monitoring.key');
    writeFileSync(keyFile, `${program.demo.apiKey}\n`, { mode: 0o600 });
    const written = new Written(program);
    await writeFleet(written);
    const server = await startPrometheus({
      program: componentPath('prometheus 3.5.3'),
      folder,
      config: configurationFor(program, keyFile),
    });
    t.teardown(() => server.kill());
    // A test that times out has no teardown, so its processes are also ended at exit.
    process.once('exit', () => void server.kill());
    const query = queriesOf((parameters) => server.post('query', parameters));
    const writing = keepWriting(written);
    t.teardown(() => writing.stop());

    await until('both jobs have scraped a few rounds', async () => {
      const scraped = await query('count_over_time(svc_vm_cpu_seconds_total{vm="vm-0"}[1m]) > 4');
      return scraped.length === 2 || undefined;
    });
    await shardsAreUp(t, query);
    await written.write([silentSince(Date.now() - LEAVING_MS)]);
    const leaving = 'svc_vm_memory_total_bytes{vm="leaving"}';
    await until('the silent series ends', async () => {
      const seen = await query(`count_over_time(${leaving}[10m])`);
      return (seen.length === 2 && (await query(leaving)).length === 0) || undefined;
    });
    await writing.stop();

    const ours = queriesOf((parameters) => askPromql(program, parameters));
    const history = samplesIn(await ours('{__name__=~"svc_vm_.+"}[10m]'));
    for (const job of ['vm-monitoring', 'as-text']) {
      const stored = await query(`{__name__=~"svc_vm_.+", job="${job}"}[10m]`);
      const { compared, unknown } = compare(written, stored);
      const absent = [...samplesIn(stored)].filter(([key, value]) => history.get(key) !== value);
      t.same(absent.slice(0, 5), [], `${job}: all its samples are in ours, unchanged`);
      t.same(unknown, [], `${job}: only written samples`);
      t.ok(compared > 2 * VMS, `${job}: ${compared} samples`);
    }
    await instantsAgree(t, query, ours);
    // After a scrape that timed out, Prometheus marks its series as stale and then rejects earlier
    // readings. On a busy machine half a second is not always enough.
    const missed = await query('min_over_time(up[10m]) == 0');
    const complaints = server
      .log()
      .split('\n')
      .filter((line) => /level=(WARN|ERROR)/.test(line));
    const expected = missed.length > 0 ? /out-of-order samples/ : /^$/;
    const others = complaints.filter((line) => !expected.test(line));
    t.same(others, [], 'it reports no problems');
  },
);

/** Queries the program's own PromQL URL. */
async function askPromql({ demo }: Program, parameters: Record<string, string>): Promise<unknown> {
  const url = `${demo.baseUrl}/v1/monitoring/projects/demo/promql/api/v1/query`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.apiKey}` },
    body: new URLSearchParams(parameters),
  });
  return answer.json();
}

/** At the time of a scraped sample both agree on every series of the VM. */
async function instantsAgree(t: Test, query: Query, ours: Query): Promise<void> {
  const [scraped] = await query('svc_vm_cpu_seconds_total{vm="vm-0",job="vm-monitoring"}[1m]');
  const times = (scraped?.values ?? []).slice(-8).map(([seconds]) => String(seconds));
  t.equal(times.length, 8, 'at the newest scrapes');
  for (const time of times) {
    const federated = await query('{__name__=~"svc_vm_.+",vm="vm-0",job="vm-monitoring"}', time);
    const own = await ours('{__name__=~"svc_vm_.+",vm="vm-0"}', time);
    t.same(samplesIn(federated), samplesIn(own), `at ${time}`);
  }
}

/** Every sample of an answer by series and time, without the labels that scraping adds. */
function samplesIn(series: readonly QueriedSeries[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { metric, value, values = value ? [value] : [] } of series) {
    const { job: _job, instance: _instance, ...labels } = metric;
    for (const [seconds, text] of values) {
      found.set(sampleKey(labels, Math.round(seconds * 1000)), text);
    }
  }
  return found;
}

async function shardsAreUp(t: Test, query: Query): Promise<void> {
  // A single scrape may be late on a busy machine; each must have arrived once.
  const total = 'count_over_time(svc_vm_memory_total_bytes{job="vm-monitoring"}[10m])';
  await until(`${VMS} VMs are scraped`, async () => {
    const [vms] = await query(`count(count by (vm) (${total}))`);
    return vms?.value?.[1] === String(VMS) || undefined;
  });
  const up = await query('max_over_time(up{job="vm-monitoring"}[10m])');
  t.same(
    up.map(({ metric, value }) => [metric.instance, value?.[1]]).sort(),
    [
      ['demo/shard-0', '1'],
      ['demo/shard-1', '1'],
    ],
    'every shard was found',
  );
}

async function writeFleet(written: Written): Promise<void> {
  const now = Date.now();
  const rows = Array.from({ length: VMS }, (_, i) => ({
    vmName: `vm-${i}`,
    displayName: `machine ${i}`,
    observedUnixMs: now - i,
    readings: [['svc_vm_memory_total_bytes', {}, i / 7]] as const,
  }));
  await written.write(rows);
}

/** The last row of a VM before its silence. */
function silentSince(observedUnixMs: number): Row {
  const named = { vmName: 'leaving', displayName: 'leaving', observedUnixMs };
  return { ...named, readings: [['svc_vm_memory_total_bytes', {}, 1]] };
}

/** Writes rows of one VM, at odd milliseconds, until it is stopped. */
function keepWriting(written: Written): { stop(): Promise<void> } {
  let isStopped = false;
  const run = async () => {
    for (let round = 1; !isStopped; round++) {
      const observedUnixMs = Date.now() - (round % 7);
      const machine = { vcpus: 2, state: 'RUNNING' } as const;
      const named = { vmName: 'vm-0', displayName: 'machine 0', observedUnixMs, ...machine };
      await written.write([{ ...named, readings: readingsAt(round) }]);
      await new Promise((resolve) => setTimeout(resolve, 137));
    }
  };
  const ended = run();
  return {
    stop: async () => {
      isStopped = true;
      await ended;
    },
  };
}

/**
 * Compares every stored sample with the written one, except for computed series. Lists at most ten
 * unwritten samples.
 */
function compare(written: Written, stored: readonly QueriedSeries[]) {
  const unknown: string[] = [];
  let compared = 0;
  for (const { metric, values = [] } of stored) {
    const { job: _job, instance: _instance, ...labels } = metric;
    if (COMPUTED.has(labels.__name__ ?? '')) continue;
    for (const [seconds, value] of values) {
      const key = sampleKey(labels, Math.round(seconds * 1000));
      compared++;
      if (written.samples.get(key) === Number(value)) continue;
      if (unknown.length < 10)
        unknown.push(`${key}: ${value} instead of ${written.samples.get(key)}`);
    }
  }
  return { compared, unknown };
}

test('promtool accepts the configuration of the guide', needs('promtool 3.5.3'), async (t) => {
  const folder = dataFolder(t);
  const keyFile = join(folder, 'vm-monitoring.key');
  writeFileSync(keyFile, 'a key\n', { mode: 0o600 });
  const file = join(folder, 'prometheus.yml');
  const pasted = codeBlock('reading.md', '# prometheus.yml');
  writeFileSync(file, pasted.replaceAll('/etc/prometheus/vm-monitoring.key', keyFile));
  const printed = execFileSync(componentPath('promtool 3.5.3'), ['check', 'config', file], {
    timeout: 600_000,
  });
  t.match(String(printed), /SUCCESS/);
});
