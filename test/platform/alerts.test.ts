/**
 * The alert rules for operators (docs/operations/alerts.yml): promtool 3.5.3 accepts them and
 * evaluates them against sample series, and a running service exposes every metric that they read.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { parse } from 'yaml';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { componentPath, needs } from '../support/components.ts';
import { dataFolder } from '../support/program.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const text = readFileSync(join(root, 'docs/operations/alerts.yml'), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

const rules: readonly Rule[] = parse(text).groups[0].rules;

test('promtool accepts the alert rules', needs('promtool 3.5.3'), async (t) => {
  const promtool = componentPath('promtool 3.5.3');
  const check = ['check', 'rules', '--lint-fatal', 'docs/operations/alerts.yml'];
  t.match((await promisify(execFile)(promtool, check, { cwd: root })).stdout, 'SUCCESS');
});

test(
  'alert rules fire on their fault, and not on a quiet service or one dead endpoint',
  needs('promtool 3.5.3'),
  async (t) => {
    const cases = 'test/platform/alerts.promtool.yml';
    const promtool = componentPath('promtool 3.5.3');
    await t.resolves(promisify(execFile)(promtool, ['test', 'rules', cases], { cwd: root }));
    const tried = readFileSync(join(root, cases), 'utf8');
    const untried = rules.filter(({ alert }) => !tried.includes(`alertname: ${alert}\n`));
    t.same(untried, [], 'each rule has a case');
  },
);

test('a running service exposes every metric that the alert rules read', async (t) => {
  const { settings } = loadConfig([], {
    SVC_DATA: dataFolder(t),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    SVC_COLLECT: 'none',
  });
  const service = await createService({ settings, log: silentLog });
  t.teardown(() => service.stop());
  const answer = await fetch(service.metricsUrl ?? '');
  const types = (await answer.text()).matchAll(/^# TYPE (\w+) /gm);
  const there = new Set(Array.from(types, ([, name]) => name));
  // Metrics of Prometheus, of an audit sink and of members.
  for (const name of [
    ...(['up', 'svc_audit_export_failures_total'] as const),
    ...(['svc_snapshot_failures_total', 'svc_snapshot_timestamp_seconds'] as const),
  ]) {
    t.notOk(there.has(name), name);
    there.add(name);
  }
  const requested = rules.flatMap(({ expr }) => expr.match(/\b(svc|process)_\w+|\bup\b/g) ?? []);
  t.ok(requested.length >= rules.length);
  t.same(new Set(requested).difference(there), new Set());
  for (const file of ['src/audit/open-audit.ts', 'src/service/snapshots.ts']) {
    const source = readFileSync(join(root, file), 'utf8');
    t.ok(
      requested.some((name) => source.includes(`'${name}'`)),
      file,
    );
  }
});
