/**
 * Real vmagent and VictoriaMetrics with the configuration of docs/reading.md (only its intervals are
 * shorter). Each discovers the shards of a real program and stores their samples at their own times.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { onOwnPorts, PortTaken, saysPortTaken } from '../../support/places.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';

/** Age of a sample at its write that makes it leave the export some scrapes later, ms. */
const LEAVING_MS = 70_000;
/** A stale marker, as an export of VictoriaMetrics has it. */
const STALE = 'null';
/** One more than a shard holds. */
const VMS = 501;
/** A scrape on a busy machine may take longer than its short interval. */
const LATE = /deadline exceeded|Client\.Timeout/;
const MEMORY = 'svc_vm_memory_total_bytes';

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [seconds: number, value: string])[];
}

/** The file of the guide for this program, in short intervals. */
function configurationFor({ demo }: Program, keyFile: string): string {
  return codeBlock('reading.md', '# vmagent.yml')
    .replaceAll('https://monitoring.example.com', demo.baseUrl)
    .replaceAll('/etc/vmagent/vm-monitoring.key', keyFile)
    .replace('scrape_interval: 60s', 'scrape_interval: 5s')
    .replace('scrape_timeout: 10s', 'scrape_timeout: 5s');
}

interface Running {
  readonly origin: string;
  readonly log: () => string;
}

/** Starts one of the programs on a port of its own, and waits until it answers. */
function start(
  t: Test,
  name: 'vmagent' | 'victoria-metrics',
  args: readonly string[],
): Promise<Running> {
  return onOwnPorts(1, async ([port = 0]) => {
    const listen = `-httpListenAddr=127.0.0.1:${port}`;
    const child = spawn(componentPath(name), [...args, listen, '-loggerLevel=INFO'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-20_000);
    });
    const gone = once(child, 'close');
    process.once('exit', () => child.kill('SIGKILL'));
    t.teardown(async () => {
      child.kill('SIGKILL');
      await gone;
    });
    const origin = `http://127.0.0.1:${port}`;
    await until(`${name} answers`, async () => {
      if (child.exitCode !== null && saysPortTaken(log)) throw new PortTaken(name, log);
      if (child.exitCode !== null) throw new Error(`${name} ended:\n${log}`);
      return (await fetch(`${origin}/health`).catch(() => undefined))?.ok || undefined;
    });
    return { origin, log: () => log };
  });
}

/** Stored samples of a selector, as they were stored. */
async function exported({ origin }: Running, selector: string): Promise<Series[]> {
  // New samples can be searched after a second, or after a flush.
  await fetch(`${origin}/internal/force_flush`);
  const body = new URLSearchParams({ 'match[]': selector });
  const text = await (await fetch(`${origin}/api/v1/export`, { method: 'POST', body })).text();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const { metric, values, timestamps } = JSON.parse(line);
      const samples = timestamps.map((ms: number, i: number) => [ms / 1000, String(values[i])]);
      return { metric, values: samples };
    });
}

test(
  'API-04: vmagent and VictoriaMetrics scrape what was written, with the files of the guide',
  needs('vmagent', 'victoria-metrics'),
  async (t) => {
    t.setTimeout(600_000);
    const program = await startProgram(t, dataFolder(t), { SVC_COLLECT: 'none' });
    const folder = dataFolder(t);
    const keyFile = join(folder, 'vm-monitoring.key');
    writeFileSync(keyFile, `${program.demo.apiKey}\n`, { mode: 0o600 });
    const config = join(folder, 'vmagent.yml');
    writeFileSync(config, configurationFor(program, keyFile));
    const scrape = [`-promscrape.config=${config}`, '-promscrape.httpSDCheckInterval=1s'];
    const written = await writeFleet(program);

    const storage = (name: string) => `-storageDataPath=${join(folder, name)}`;
    const scraping = await start(t, 'victoria-metrics', [...scrape, storage('scraping')]);
    const receiving = await start(t, 'victoria-metrics', [storage('receiving')]);
    const target = `-remoteWrite.url=${receiving.origin}/api/v1/write`;
    const queue = `-remoteWrite.tmpDataPath=${join(folder, 'queue')}`;
    const agent = await start(t, 'vmagent', [...scrape, target, queue]);

    for (const [name, server] of Object.entries({
      VictoriaMetrics: scraping,
      vmagent: receiving,
    })) {
      const stored = await until(`${name} has every VM`, async () => {
        const series = await exported(server, MEMORY);
        return series.length === VMS ? series : undefined;
      });
      const wrong = stored.filter(({ metric, values: [first] }) => {
        const sample = written.get(metric.vm ?? '');
        return first?.[0] !== (sample?.atMs ?? 0) / 1000 || Number(first[1]) !== sample?.value;
      });
      t.same(wrong.slice(0, 3), [], `${name} stores the samples at their own times`);
      const instances = new Set(stored.map(({ metric }) => metric.instance));
      t.same([...instances].sort(), ['demo/shard-0', 'demo/shard-1'], name);
    }
    const leaving = { atMs: Date.now() - LEAVING_MS, value: 1 };
    await write(program, new Map([['leaving', leaving]]));
    for (const server of [scraping, receiving]) {
      await until('the silent series ends', async () => {
        const [series] = await exported(server, `${MEMORY}{vm="leaving"}`);
        return series?.values.at(-1)?.[1] === STALE || undefined;
      });
    }
    for (const { log } of [scraping, agent]) {
      const complaints = log()
        .split('\n')
        .filter((line) => /\t(warn|error|fatal)\t.*scrap/.test(line) && !LATE.test(line));
      t.same(complaints, []);
    }
  },
);

/** One sample of each VM, at odd milliseconds. Returns them by VM. */
async function writeFleet(program: Program) {
  const now = Date.now();
  const written = new Map<string, Sample>();
  for (let i = 0; i < VMS; i++) written.set(`vm-${i}`, { atMs: now - i, value: i + 0.5 });
  await write(program, written);
  return written;
}

interface Sample {
  readonly atMs: number;
  readonly value: number;
}

async function write({ demo, call }: Program, samples: ReadonlyMap<string, Sample>) {
  const rows = Array.from(samples, ([vmName, { atMs, value }]) => ({
    vmName,
    observedUnixMs: String(atMs),
    values: [{ series: MEMORY, value }],
  }));
  const { projectName, collectorKey } = demo;
  const request = { projectName, rows };
  const { status, body } = await call(
    'ingest.v1.IngestService/WriteSamples',
    request,
    collectorKey,
  );
  if (status !== 200) throw new Error(JSON.stringify(body));
}
