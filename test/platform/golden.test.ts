/**
 * Rows of earlier versions: golden/v<n>.json holds, for each machine, one row of every state as
 * version n wrote it, with an event and its result. Today's machines must accept them for ever.
 * Rows of a version are written once, by `TAP_SNAPSHOT=1 node test/platform/golden.test.ts`, and
 * never again: a machine that no longer accepts them needs an up-caster.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { nextStep, upcast } from '../../actors/platform/host/rows.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type {
  MachineDefinition,
  MachineRow,
  StateValueJson,
} from '../../machines/platform/definition.ts';
import { chartOf, statesIn } from '../../src/audit/drawing/chart.ts';
import type { ModelEvent } from './machines/model.ts';
import { models } from './machines/models.ts';
import { leavesOf, walk } from './machines/walk.ts';

interface GoldenRow extends MachineRow {
  /** An event that the row accepted then, and the state it led to; null in a final state. */
  readonly event: ModelEvent | null;
  readonly to: StateValueJson;
}

type Golden = Readonly<Record<string, readonly GoldenRow[]>>;

const folder = fileURLToPath(new URL('golden', import.meta.url));
if (process.env.TAP_SNAPSHOT === '1') writeMissing();

for (const file of readdirSync(folder).sort()) {
  const version = Number(/^v(\d+)\.json$/.exec(file)?.[1]);
  const golden: Golden = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  for (const [name, rows] of Object.entries(golden)) {
    test(`DUR-11: ${name} rows of version ${version} load and still change state`, async (t) => {
      const definition = definitionOf(name);
      for (const row of rows) {
        const { value, context } = upcast(definition, { ...row, version });
        const snapshot = definition.machine.resolveState({ value, context });
        t.same(snapshot.value, value, JSON.stringify(value));
        t.same(snapshot.context, context);
        t.equal(snapshot.status, row.event === null ? 'done' : 'active');
        if (row.event === null) continue;
        const from = { value, context, timers: [] };
        const next = nextStep(definition, from, row.event, row.event.at);
        const to = upcast(definition, { value: row.to, context: row.context, version });
        t.same(next?.value, to.value, `${row.event.type} of ${JSON.stringify(value)}`);
      }
    });
  }
}

test('a row of an older version has the current fields once it is loaded', async (t) => {
  const fields = (context: object) => Object.keys(context).sort();
  for (const definition of machineDefinitions.values()) {
    const { name, version } = definition;
    const [present] = rowsOf(version, name);
    for (let old = 1; old < version; old++) {
      for (const row of rowsOf(old, name)) {
        const { context } = upcast(definition, { ...row, version: old });
        t.same(fields(context), fields(present?.context ?? {}), `${name} of version ${old}`);
      }
    }
  }
  t.ok(rowsOf(1, 'credential').length > 0);
});

test('the golden rows cover every state of every machine in its current version', async (t) => {
  for (const definition of machineDefinitions.values()) {
    const { name, version } = definition;
    const covered = new Set(rowsOf(version, name).flatMap(({ value }) => leavesOf(value)));
    const leaves = statesIn(chartOf(definition).root)
      .filter(({ children }) => children.length === 0)
      .map(({ id }) => id.slice(name.length + 1));
    t.same([...covered].sort(), leaves.sort(), name);
  }
});

function rowsOf(version: number, name: string): readonly GoldenRow[] {
  const file = join(folder, `v${version}.json`);
  const golden: Golden = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  return golden[name] ?? [];
}

/** Adds the rows of machines whose current version has none. */
function writeMissing(): void {
  mkdirSync(folder, { recursive: true });
  for (const definition of machineDefinitions.values()) {
    const file = join(folder, `v${definition.version}.json`);
    const golden: Golden = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    if (golden[definition.name]) continue;
    const added = { ...golden, [definition.name]: goldenRows(definition) };
    writeFileSync(file, `${JSON.stringify(added, null, 2)}\n`);
  }
}

/** For each state value, the first row of the walk and the first event that changes its state. */
function goldenRows(definition: MachineDefinition): GoldenRow[] {
  const model = models.get(definition.name);
  if (!model) throw new Error(`No model of ${definition.name}`);
  const { rows, edges } = walk(definition, model);
  const byValue = new Map(rows.toReversed().map((row) => [JSON.stringify(row.value), row]));
  return [...byValue.values()].toReversed().map((row) => {
    const moves = edges.filter(({ from, taken }) => from === row && taken.length > 0);
    const move = moves.find(({ to }) => String(to.value) !== String(row.value)) ?? moves[0];
    const { value, context } = row;
    return { value, context, event: move?.event ?? null, to: move?.to.value ?? value };
  });
}

function definitionOf(name: string): MachineDefinition {
  const definition = machineDefinitions.get(name);
  if (!definition) throw new Error(`No machine ${name}, which has golden rows`);
  return definition;
}
