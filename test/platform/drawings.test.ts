/** The committed drawings, and the required content of the drawing of any machine. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { setup } from 'xstate';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { renderDrawings, staleFiles } from '../../scripts/draw/drawings.ts';
import { chartOf, labelOf, statesIn } from '../../src/audit/drawing/chart.ts';
import { toMermaid } from '../../src/audit/drawing/mermaid.ts';
import type { Box } from '../../src/audit/drawing/picture.ts';
import { layoutOf, toSvg } from '../../src/audit/drawing/svg.ts';

const definitions = [...machineDefinitions.values()];
const drawings = await renderDrawings();

test('the drawings in docs/machines match the machines', async (t) => {
  const folder = fileURLToPath(new URL('../../docs/machines', import.meta.url));
  t.same(staleFiles(drawings, folder), [], 'otherwise run: npm run draw');
});

test('a drawing that differs, is missing or belongs to no machine is stale', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'drawings-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [file, text] of drawings) writeFileSync(join(folder, file), text);
  t.same(staleFiles(drawings, folder), []);
  writeFileSync(join(folder, 'delivery.svg'), '<svg/>');
  writeFileSync(join(folder, 'gone.mmd'), 'stateDiagram-v2');
  rmSync(join(folder, 'README.md'));
  t.same(staleFiles(drawings, folder), ['README.md', 'delivery.svg', 'gone.mmd']);
  t.equal(staleFiles(drawings, join(folder, 'nowhere')).length, drawings.size);
});

test('drawing a machine twice gives the same text', async (t) => {
  for (const definition of definitions) {
    t.equal(toMermaid(definition), toMermaid(definition));
    t.equal(await toSvg(definition), drawings.get(`${definition.name}.svg`), definition.name);
  }
});

for (const definition of definitions) {
  const { name } = definition;
  const chart = chartOf(definition);

  test(`${name}: both drawings contain every state and every event`, async (t) => {
    const mermaid = toMermaid(definition);
    const svg = await toSvg(definition);
    for (const { id, name, description } of statesIn(chart.root).slice(1)) {
      t.ok(svg.includes(`>${name}</text>`), id);
      t.ok(mermaid.includes(id.split('.').slice(1).join('_')), id);
      t.ok(svg.includes(escaped(`${name}: ${description}`)), `tooltip of ${id}`);
    }
    for (const arrow of chart.arrows) {
      t.ok(mermaid.includes(labelOf(arrow)), `Mermaid has ${labelOf(arrow)}`);
      t.ok(svg.includes(`${escaped(arrow.description)}</title>${labelOf(arrow)}</text>`));
    }
  });

  test(`${name}: no label overlaps another label or a state, and all of it fits the canvas`, async (t) => {
    const { width, height, states, arrows } = await layoutOf(chart);
    const leaves = states.filter(({ kind }) => kind === 'ATOMIC' || kind === 'FINAL');
    const boxes = [...leaves.map(({ box }) => box), ...arrows.map(({ label }) => label)].filter(
      (box) => box !== undefined,
    );
    for (const [i, box] of boxes.entries()) {
      t.ok(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height);
      t.same(
        boxes.slice(i + 1).filter((other) => overlap(box, other)),
        [],
      );
    }
    t.equal(states.length, statesIn(chart.root).length - 1);
    t.ok(arrows.every(({ points }) => points.length >= 2));
  });
}

test('markup in a text is drawn as text', async (t) => {
  const machine = setup({}).createMachine({
    id: 'odd',
    initial: 'a',
    states: { a: { description: 'Less < more & "quotes"; done: yes.', on: { go: 'a' } } },
  });
  const definition = { name: 'odd', version: 1, description: '<b>', machine };
  const svg = await toSvg({ ...definition, upcasters: {}, publicFields: [] });
  t.match(svg, 'Less &lt; more &amp; &quot;quotes&quot;; done: yes.');
  t.match(svg, '&lt;b&gt;');
  const mermaid = toMermaid({ ...definition, upcasters: {}, publicFields: [] });
  t.match(mermaid, "a : Less < more & 'quotes', done - yes.");
});

function overlap(a: Box, b: Box): boolean {
  const apart =
    a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
  return !apart;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
