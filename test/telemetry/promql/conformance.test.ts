/**
 * The engine against scripts of expressions and their answers: scripts that Prometheus's authors
 * wrote for their own engine, and ours for cases that those omit.
 */
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { listScripts, runFile } from './script/run-folder.ts';

const own = fileURLToPath(new URL('scripts', import.meta.url));
for (const file of listScripts(own)) {
  test(`${file}, one of our scripts: every evaluation gives the stated answer`, async (t) => {
    checkFile(t, own, file);
  });
}

// Listed by name, so that a missing file fails.
const upstream = [
  'aggregators',
  'at_modifier',
  'collision',
  'duration_expression',
  'functions',
  'histograms',
  'literals',
  'name_label_dropping',
  'operators',
  'range_queries',
  'selectors',
  'staleness',
  'subquery',
  'trig_functions',
];
for (const name of upstream) {
  const title = `${name}.test of Prometheus: every evaluation gives Prometheus’s answer`;
  test(title, needs('shared folder'), async (t) => {
    const folder = `${componentPath('shared folder')}/conformance/promql`;
    checkFile(t, folder, `${name}.test`);
  });
}

test('all Prometheus scripts are run', needs('shared folder'), async (t) => {
  const found = listScripts(`${componentPath('shared folder')}/conformance/promql`);
  const core = found.filter((file) => !file.startsWith('optional/'));
  t.same(
    core,
    upstream.map((name) => `${name}.test`),
  );
});

function checkFile(t: Test, folder: string, file: string): void {
  const { outcomes, fault } = runFile(folder, file);
  t.equal(fault, null, 'the whole script was run');
  const failed = outcomes.filter(({ differences }) => differences.length > 0);
  t.same(failed, [], `${outcomes.length} evaluations`);
  t.ok(outcomes.length > 0, 'it had evaluations');
}
