/**
 * A project never sees another's series, whatever it queries: each way in which an expression has
 * read another tenant's metrics elsewhere is a test with its `TEN` id. For requests, see
 * `tenancy-requests.test.ts`.
 */
import t, { test } from 'tap';
import { instant, M, NOW, startTenants } from '../../support/promql-tenants.ts';

const tenants = await startTenants(t);

test('the others see their own series, so equal answers are not equal by being empty', async (t) => {
  const theirs = async (query: string) => {
    const answer = await tenants.shared.send(instant(query).path, {
      project: 'other',
      key: tenants.otherKey,
    });
    return answer.body.data.result;
  };
  t.equal((await theirs(M)).length, 3);
  t.equal((await theirs('secret_metric')).length, 3);
  t.same(await theirs(`count({project="demo"})`), []);
  t.equal((await tenants.shared.send(instant(M).path)).body.data.result.length, 2);
});

test('TEN-01: tenant label matchers (=, !=, =~, !~, "", twice) select within the project', async (t) => {
  const seen = await tenants.sameExpressions(t, [
    `${M}{project="other"}`,
    `${M}{project!="demo"}`,
    `${M}{project=~"other|third"}`,
    `${M}{project!~"demo"}`,
    `${M}{project=""}`,
    `${M}{project="demo",project="other"}`,
    `${M}{project=~"oth.*",project=~".+"}`,
    `${M}{project="demo"}`,
    `${M}{project=~".+"}`,
    `${M}{project=~"other|demo"}`,
    `${M}{project!="other"}`,
    `${M}{tenant_id="other"}`,
    `${M}{__tenant_id__="other"}`,
    `${M}{__project__!="demo"}`,
  ]);
  const counts = seen.map(({ result }) => result.length);
  t.same(counts, [0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, 0, 2]);
});

test('TEN-02: {__name__=~".+"}, {"metric"}, quoted and escaped names select within the project', async (t) => {
  const seen = await tenants.sameExpressions(t, [
    '{__name__=~".+"}',
    '{__name__!=""}',
    'count({__name__=~".+"})',
    '{"secret_metric"}',
    `{"${M}"}`,
    `{"${M}", "project"="other"}`,
    `{"${M}", "\\x70roject"="other"}`,
    `{"${M}", "\\u0070roject"!="demo"}`,
    `{'${M}', 'project'=~'other'}`,
    '{__name__="secret_metric"}',
    '{"__name__"="secret_metric", "project"="other"}',
    '{"sécret.métrique"}',
  ]);
  t.same(seen[4]?.result.length, 2);
  for (const i of [3, 5, 6, 7, 8, 9, 10, 11]) t.same(seen[i]?.result, [], String(i));
});

test('TEN-03: set operators and joins add no other project’s series or labels', async (t) => {
  const theirs = `${M}{project="other"}`;
  const seen = await tenants.sameExpressions(t, [
    `${M} or secret_metric`,
    `secret_metric or ${M}`,
    `${theirs} or ${theirs}`,
    `${M} and on() ${theirs}`,
    `${theirs} and on(vm) ${M}`,
    `${M} unless on(vm) secret_metric`,
    `secret_metric unless ${M}`,
    `${M} * on(vm) group_left(secret_label, project) secret_metric_1`,
    `${M} + on(vm) group_left(project) ${theirs}`,
    `${M} + ignoring(project, __name__) group_right ${theirs}`,
    `${M} - ignoring(project) ${theirs}`,
    `${M} > bool on(vm) ${theirs}`,
  ]);
  t.same(
    seen.map(({ result }) => result.length),
    [2, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0],
  );
});

test('TEN-04: nested subqueries, @ and offset select within the project', async (t) => {
  await tenants.sameExpressions(t, [
    `max_over_time(secret_metric[1h:1m])`,
    `max_over_time(${M}{project=~".+"}[1h:1m])`,
    `max_over_time(max_over_time(${M}[10m:1m])[1h:2m])`,
    `max_over_time((${M} or secret_metric)[1h:1m] @ ${NOW} offset 1m)`,
    `${M} @ 0`,
    `${M} @ ${NOW}`,
    `${M} @ start() or secret_metric @ end()`,
    `secret_metric offset -5m`,
    `${M} offset 5m`,
    `sum_over_time(secret_metric[1w] offset -1d)`,
  ]);
});

test('TEN-05: grouping by or forging the tenant label shows no other project', async (t) => {
  const forged = `label_replace(${M}, "project", "other", "", "")`;
  const seen = await tenants.sameExpressions(t, [
    `sum by (project) (${M})`,
    `sum without (project) (${M})`,
    `count by (project) ({__name__!=""})`,
    `topk(10, {__name__=~".+"}) by (project)`,
    `count_values by (project) ("project", ${M})`,
    forged,
    `${forged} + on(project, vm) group_left secret_metric`,
    `${forged} or ${M}{project="other"}`,
    `label_join(${M}, "project", "", "vm")`,
    `label_replace(secret_metric, "project", "demo", "", "")`,
    `sum by (secret_label) ({__name__!=""})`,
  ]);
  t.match(seen[0]?.result, [{ metric: { project: 'demo' } }]);
  t.equal(seen[0]?.result.length, 1);
  t.match(seen[5]?.result, [{ metric: { project: 'other' } }, { metric: { project: 'other' } }]);
  t.same(seen[9]?.result, []);
});

test('TEN-06: absent, absent_over_time, scalar and literals reveal no other project', async (t) => {
  const seen = await tenants.sameExpressions(t, [
    'absent(secret_metric)',
    'absent(secret_metric{project="other"})',
    'absent_over_time(secret_metric[1h])',
    'scalar(secret_metric)',
    'present_over_time(secret_metric[1h])',
    'vector(scalar(secret_metric{project="other"}))',
    'timestamp(secret_metric)',
    '1',
    'vector(1)',
    'time()',
  ]);
  t.match(seen[0]?.result, [{ value: [NOW, '1'] }], 'absent here, whichever project has it');
  t.match(seen[2]?.result, [{ value: [NOW, '1'] }]);
  t.same(seen[3]?.result, [NOW, 'NaN']);
});

test('TEN-07: info() is refused in any form', async (t) => {
  const seen = await tenants.sameExpressions(t, [
    `info(${M})`,
    `info(${M}, {project="other"})`,
    `info(${M}, {__name__=~".+"})`,
  ]);
  t.same(
    seen.map(({ status }) => status),
    [400, 400, 400],
  );
});

test('TEN-08: syntax that only the parser supports is refused', async (t) => {
  const seen = await tenants.sameExpressions(t, [
    `${M} fill(0)`,
    `${M} + fill_left(0) ${M}`,
    `${M}[5m] anchored`,
    `rate(${M}[5m] smoothed)`,
    `limitk(1, ${M})`,
    `limit_ratio(0.5, ${M})`,
    `${M}{project="demo" or project="other"}`,
    `{project="other" or vm="vm-1"}`,
    `WITH (x = ${M}) x`,
    `${M} keep_metric_names`,
    `sort_by_label(${M}, "project")`,
    `${M}{}.project`,
    `SELECT 1`,
    `${M}; secret_metric`,
    `${M} # comment\n{`,
  ]);
  for (const { status } of seen) t.equal(status, 400);
});
