/**
 * Reading a week of 200 VMs, compared with Prometheus and VictoriaMetrics: the same samples, the
 * same expressions, one client on loopback, in turn, in one run. Also the memory and disk usage of
 * each system, and its rate of ingestion.
 *
 * `node bench/reading.ts [--folder F] [--vms 200] [--days 7] [--rounds 101]`: with a folder the
 * data stays there, and a later run within the hour reuses it.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { sameAnswers } from './reading/answers.ts';
import {
  type DatasetOptions,
  fillOurs,
  fillPeer,
  ingestOurs,
  type Loaded,
} from './reading/dataset.ts';
import { type Read, readsUntil } from './reading/expressions.ts';
import {
  folderBytes,
  missingProgram,
  type RunningSystem,
  residentMiB,
  SYSTEM_NAMES,
  type SystemName,
  startSystem,
} from './reading/systems.ts';
import { type Scope, withScope } from './support/scope.ts';

interface Options {
  readonly vms: number;
  readonly days: number;
  readonly rounds: number;
  readonly folder?: string;
}

/** Metadata stored with the data of a reusable folder. */
interface Prepared {
  readonly endMs: number;
  readonly loaded: Partial<Record<SystemName, Loaded>>;
}

const CLIENTS = 8;
const MIX_MS = 10_000;
const COLD_ROUNDS = 3;
const WARM_UP_ROUNDS = 30;

/** Prints the tables; creating the data takes minutes. */
export async function run(options: Options = { vms: 200, days: 7, rounds: 101 }): Promise<void> {
  const missing = missingProgram();
  if (missing !== undefined) {
    console.log(`Not measured: ${missing}`);
    return;
  }
  await withScope(async (scope) => {
    const folder = options.folder ?? mkdtempSync(`${tmpdir()}/reading-bench-`);
    if (!options.folder) scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const prepared = await prepare(options, folder);
    const reads = readsUntil(prepared.endMs / 1000);
    const cold = await measureCold(folder, reads);
    const systems = await startAll(scope, folder);
    const restarted = systems.map(({ pid }) => residentMiB(pid));
    console.table(await sameAnswers(systems, reads));
    const warm = await measureWarm(systems, reads, options.rounds);
    printReads(reads, warm, cold);
    console.table(await measureMixes(systems, reads));
    console.table(
      systems.map((system, i) => {
        const loaded = prepared.loaded[system.name];
        const bytes = folderBytes(join(folder, system.name));
        const samples = prepared.loaded.Prometheus?.samples ?? 0;
        return {
          system: system.name,
          'bytes per sample on disk': round(bytes / samples, 2),
          'resident after a restart, MiB': round(restarted[i] ?? 0, 0),
          'resident after the reads, MiB': round(residentMiB(system.pid), 0),
          'loaded, M samples/s': loaded ? round(loaded.samples / loaded.seconds / 1e6, 2) : '',
          'CPU s per M samples': loaded ? round((loaded.cpuSeconds / loaded.samples) * 1e6, 2) : '',
        };
      }),
    );
  });
}

async function prepare(options: Options, folder: string): Promise<Prepared> {
  const note = join(folder, 'prepared.json');
  if (existsSync(note)) return JSON.parse(readFileSync(note, 'utf8')) as Prepared;
  // A multiple of half an hour, so that steps of all systems are at the same times.
  const endMs = Math.floor(Date.now() / 1_800_000) * 1_800_000;
  const of = (name: SystemName): DatasetOptions => ({
    ...options,
    endMs,
    folder: join(folder, name),
  });
  for (const name of SYSTEM_NAMES) mkdirSync(join(folder, name), { recursive: true });
  await fillOurs(of('ours'));
  const loaded = {
    ours: await ingestOurs(join(folder, 'ingest')),
    Prometheus: await fillPeer('Prometheus', of('Prometheus'), labelsOfOurs),
    VictoriaMetrics: await fillPeer('VictoriaMetrics', of('VictoriaMetrics'), labelsOfOurs),
  };
  process.stderr.write('\n');
  const prepared = { endMs, loaded };
  writeFileSync(note, JSON.stringify(prepared));
  return prepared;
}

/** The labels that our service gives each VM, so that the peers get the same. */
function labelsOfOurs(vm: string) {
  return { project: 'demo', vm, vm_name: vm, datacenter: 'DC-1' };
}

async function startAll(scope: Scope, folder: string): Promise<RunningSystem[]> {
  const systems: RunningSystem[] = [];
  for (const name of SYSTEM_NAMES) systems.push(await startSystem(scope, name, join(folder, name)));
  return systems;
}

type Timings = ReadonlyMap<SystemName, readonly number[][]>;

/** First responses after a start with empty file caches, ms: every system alone, a few starts. */
async function measureCold(folder: string, reads: readonly Read[]): Promise<Timings> {
  const timings = new Map<SystemName, number[][]>();
  for (const name of SYSTEM_NAMES) {
    const took = reads.map((): number[] => []);
    timings.set(name, took);
    for (let n = 0; n < COLD_ROUNDS; n++) {
      dropFileCaches();
      await withScope(async (scope) => {
        const system = await startSystem(scope, name, join(folder, name));
        const client = new Client(system, 1);
        scope.teardown(() => client.close());
        // Each start begins with another read, so that the cost of the first one is spread.
        for (const i of rotated(reads, n * 5)) took[i]?.push(await client.time(reads[i] as Read));
        await client.close();
        await system.stop();
      });
    }
  }
  return timings;
}

function rotated(list: readonly unknown[], by: number): number[] {
  return list.map((_, i) => (i + by) % list.length);
}

/** Linux, as root; elsewhere "cold" only means a new process. */
function dropFileCaches(): void {
  try {
    execFileSync('sync');
    writeFileSync('/proc/sys/vm/drop_caches', '1');
  } catch {
    console.log('The file caches could not be emptied');
  }
}

/** One read after another, each sent to the systems in turn, ms. */
async function measureWarm(
  systems: readonly RunningSystem[],
  reads: readonly Read[],
  rounds: number,
): Promise<Timings> {
  const clients = systems.map((system) => new Client(system, 1));
  const timings = new Map(systems.map(({ name }) => [name, reads.map((): number[] => [])]));
  for (const [i, read] of reads.entries()) {
    for (let n = -WARM_UP_ROUNDS; n < rounds; n++) {
      for (const client of clients) {
        const ms = await client.time(read);
        if (n >= 0) timings.get(client.name)?.[i]?.push(ms);
      }
    }
  }
  for (const client of clients) await client.close();
  return timings;
}

/** Requests per second of eight clients: the light reads in turn, and all of them. */
async function measureMixes(systems: readonly RunningSystem[], reads: readonly Read[]) {
  const lines = [];
  for (const system of systems) {
    const light = await rateOf(
      system,
      reads.filter((read) => read.light),
    );
    const all = await rateOf(system, reads);
    lines.push({ system: system.name, 'light mix, requests/s': light, 'all, requests/s': all });
  }
  return lines;
}

async function rateOf(system: RunningSystem, reads: readonly Read[]): Promise<number> {
  const client = new Client(system, CLIENTS);
  const endMs = performance.now() + MIX_MS;
  let done = 0;
  let next = 0;
  const work = async () => {
    while (performance.now() < endMs) {
      await client.time(reads[next++ % reads.length] as Read);
      done++;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));
  await client.close();
  return Math.round((done / MIX_MS) * 1000);
}

/** Reuses its connections; checks only the status. */
class Client {
  readonly name: SystemName;
  readonly #pool: Pool;
  readonly #system: RunningSystem;

  constructor(system: RunningSystem, connections: number) {
    this.name = system.name;
    this.#system = system;
    this.#pool = new Pool(system.origin, { connections });
  }

  /** Time until the last byte of the response, ms. Throws unless the status is 200. */
  async time(read: Read): Promise<number> {
    const startedMs = performance.now();
    const { headers } = this.#system;
    const path = this.#system.urlOf(read);
    const { statusCode, body } = await this.#pool.request({ path, method: 'GET', headers });
    if (statusCode !== 200) {
      throw new Error(`${this.name}, ${read.name}: ${statusCode} ${await body.text()}`);
    }
    for await (const _ of body);
    return performance.now() - startedMs;
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }
}

function printReads(reads: readonly Read[], warm: Timings, cold: Timings): void {
  const lines = reads.map(({ name }, i) => {
    const line: Record<string, string | number> = { read: name };
    const medians = SYSTEM_NAMES.map((system) => quantile(warm.get(system)?.[i] ?? [], 0.5));
    const [ours = 0, ...peers] = medians;
    for (const [n, system] of SYSTEM_NAMES.entries())
      line[`${system}, ms`] = round(medians[n] ?? 0, 2);
    line['better peer / ours'] = round(Math.min(...peers) / ours, 2);
    for (const system of SYSTEM_NAMES) {
      line[`p99 ${system}`] = round(quantile(warm.get(system)?.[i] ?? [], 0.99), 1);
    }
    for (const system of SYSTEM_NAMES) {
      line[`cold ${system}`] = round(quantile(cold.get(system)?.[i] ?? [], 0.5), 1);
    }
    return line;
  });
  console.table(lines);
}

function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

if (import.meta.main) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { folder: text, vms: text, days: text, rounds: text } });
  await run({
    vms: Number(values.vms ?? 200),
    days: Number(values.days ?? 7),
    rounds: Number(values.rounds ?? 101),
    ...(values.folder !== undefined && { folder: values.folder }),
  });
}
