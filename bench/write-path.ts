/**
 * The write path of `WriteSamples` in this process, from the bytes of requests to evaluated entries
 * in history's head: without HTTP, senders, other threads. CPU per sample, of many short rounds, so
 * that the fastest ones are hardly disturbed by other work. With `-- --beside FOLDER`, a clone of
 * another version is measured in turn in the same process: only its ratio to this one counts.
 */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type RowSchema, WriteSamplesRequestSchema } from '../src/gen/svc/ingest/v1/ingest_pb.ts';
import { EXPANDED_SERIES } from '../streams/telemetry/metrics/catalogue.ts';
import { parseLabels, splitSeriesKey } from '../streams/telemetry/samples/batch.ts';
import type { openAlertingWorld } from '../test/support/alerting-on-host.ts';
import { FLEET_SERIES, fleetVm } from '../test/support/fleet.ts';
import { type Scope, withScope } from './support/scope.ts';

const ROUNDS = 80;
/** Rounds until VMs are registered and the compiler has settled; not counted. */
const WARM_UP = 10;
const START_MS = Date.UTC(2026, 0, 1) - 3_600_000;
/** Values of a row: those that a hypervisor reports. */
const SERIES = FLEET_SERIES.filter((key) => !EXPANDED_SERIES.has(key.split('{', 1)[0] ?? ''));

interface Shape {
  readonly what: string;
  readonly projects: number;
  /** VMs of each project, and rows of a request. */
  readonly vms: number;
  readonly rows: number;
  /** Requests that are sent at once. */
  readonly atOnce: number;
}

const shapes: readonly Shape[] = [
  { what: 'batches of 500 rows', projects: 1, vms: 2_000, rows: 500, atOnce: 1 },
  { what: '20 VMs in each of 100 projects', projects: 100, vms: 20, rows: 20, atOnce: 4 },
  { what: 'rows of one VM, 64 at once', projects: 1, vms: 512, rows: 1, atOnce: 64 },
];

/** Prints a table with a row for each shape and build. */
export async function run(flags: readonly string[] = []): Promise<void> {
  const beside = flags[0] === '--beside' ? flags[1] : undefined;
  const here = new URL('..', import.meta.url).href;
  const roots = [here, ...(beside === undefined ? [] : [`${pathToFileURL(beside).href}/`])];
  const table: Record<string, string>[] = [];
  for (const shape of shapes) {
    table.push(...(await withScope((scope) => measure(scope, shape, roots))));
  }
  console.table(table);
}

async function measure(scope: Scope, shape: Shape, roots: readonly string[]) {
  const builds: Build[] = [];
  for (const root of roots) builds.push(await Build.open(scope, root));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const groups = requestsOf(shape, round);
    // Each build is the first one in every other round.
    for (const build of round % 2 === 0 ? builds : builds.toReversed()) {
      await build.write(groups, round >= WARM_UP);
    }
  }
  return builds.map((build) => ({
    what: shape.what,
    build: fileURLToPath(build.root),
    ...build.figures(),
  }));
}

/** One build with a world of its own. */
class Build {
  readonly root: string;
  readonly #parts: Awaited<ReturnType<typeof partsOf>>;
  /** CPU of each round, µs per sample. */
  readonly #costs: number[] = [];

  constructor(root: string, parts: Awaited<ReturnType<typeof partsOf>>) {
    this.root = root;
    this.#parts = parts;
  }

  static async open(scope: Scope, root: string): Promise<Build> {
    return new Build(root, await partsOf(scope, root));
  }

  /** Sends one group after the other, and waits until the last entry has been evaluated. */
  async write(groups: readonly (readonly Buffer[])[], isCounted: boolean): Promise<void> {
    const { world, evaluator } = this.#parts;
    const before = process.cpuUsage();
    let [samples, last] = [0, 0];
    for (const group of groups) {
      for (const answer of await Promise.all(group.map((body) => this.#send(body)))) {
        if (answer.rejected.length > 0) throw new Error(JSON.stringify(answer.rejected[0]));
        samples += answer.accepted;
        last = Math.max(last, answer.sequence);
      }
      // Passes the distance between writes that several requests share.
      await world.clock.advance(5);
    }
    await world.until('all is evaluated', () => evaluator.throughSequence() >= last);
    const { user, system } = process.cpuUsage(before);
    if (isCounted) this.#costs.push((user + system) / samples);
  }

  figures() {
    const sorted = this.#costs.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(3);
    return { 'CPU µs a sample, least': at(0), 'tenth percentile': at(0.1), median: at(0.5) };
  }

  #send(body: Buffer) {
    const { decoder, world } = this.#parts;
    const write = decoder.decode(body, (name) => name.slice('projects/'.length), true);
    if (write === undefined) throw new Error('A request does not have the plain form');
    const reach = { name: 'collector', datacenter: null, vm: null };
    return world.ingest.write({ ...write, reach });
  }
}

/** The parts of one build, imported from its own files. */
async function partsOf(scope: Scope, root: string) {
  // Another version has the same modules; a change of their interface fails here.
  const load = async <T>(path: string) => (await import(`${root}${path}`)) as T;
  const worlds = await load<{ openAlertingWorld: typeof openAlertingWorld }>(
    'test/support/alerting-on-host.ts',
  );
  type Decoders = typeof import('../src/telemetry/api/write-samples-decoder.ts');
  const { WriteSamplesDecoder } = await load<Decoders>(
    'src/telemetry/api/write-samples-decoder.ts',
  );
  type Heads = typeof import('../sqlite/telemetry/history/head/head.ts');
  const { Head } = await load<Heads>('sqlite/telemetry/history/head/head.ts');
  type Codecs = typeof import('../streams/telemetry/entry-codec.ts');
  const { decoded } = await load<Codecs>('streams/telemetry/entry-codec.ts');
  // The world uses only the teardown of a test.
  const world = await worlds.openAlertingWorld(scope as Parameters<typeof openAlertingWorld>[0]);
  const { evaluator, log } = await world.startEvaluator();
  const head = new Head({ flushedSequenceOf: () => 0 });
  log.entries.subscribe((logged) => {
    const { entry, partition, sequence } = decoded(logged);
    if (entry.kind === 'batch') head.append(entry.batch, { partition, sequence });
  });
  return { world, evaluator, decoder: new WriteSamplesDecoder() };
}

/** The requests of a round, in groups that are sent at once. */
function requestsOf({ projects, vms, rows, atOnce }: Shape, round: number): Buffer[][] {
  const bodies: Buffer[] = [];
  for (let project = 0; project < projects; project++) {
    for (let vm = 0; vm < vms; vm += rows) bodies.push(requestOf(project, { vm, rows, round }));
  }
  const groups: Buffer[][] = [];
  for (let i = 0; i < bodies.length; i += atOnce) groups.push(bodies.slice(i, i + atOnce));
  return groups;
}

function requestOf(
  project: number,
  { vm, rows, round }: { readonly vm: number; readonly rows: number; readonly round: number },
): Buffer {
  const values = SERIES.map((key, n) => {
    const { name, labels } = splitSeriesKey(key);
    return { series: name, labels: parseLabels(labels), value: 1e6 * n + round * (100 + n) + 0.25 };
  });
  const message = create(WriteSamplesRequestSchema, {
    projectName: `projects/p${project}`,
    rows: Array.from(
      { length: rows },
      (_, i): MessageInitShape<typeof RowSchema> => ({
        vmName: fleetVm(vm + i),
        observedUnixMs: BigInt(START_MS + round * 1_000),
        bootId: `b0075eed-0000-4000-8000-${String(vm + i).padStart(12, '0')}`,
        sequence: BigInt(round + 1),
        vcpus: 4,
        state: 1,
        values,
      }),
    ),
  });
  return Buffer.from(toBinary(WriteSamplesRequestSchema, message));
}
