/**
 * Known ways in which one tenant has read another's metrics in other systems, as requests: the
 * tenant label in every form, operators and functions that copy or forge labels, syntax of other
 * dialects, repeated parameters, paths that two parts of a program read differently, headers of
 * other products.
 */
import type { Tenant } from './tenants.ts';
import type { Header } from './wire.ts';

export interface PromqlRequested {
  readonly method: string;
  readonly path: string;
  /** Form-encoded body. */
  readonly form?: string;
  readonly headers?: readonly Header[];
}

/** Expressions that have crossed tenant borders in some system. */
function trickyExpressions(victim: Tenant): string[] {
  const { id, canary } = victim;
  const metric = 'svc_vm_cpu_utilization_pct';
  const matchers = [
    `project="${id}"`,
    `project!="x"`,
    `project=~"${id}|x"`,
    `project=~".+"`,
    'project!~"x"',
    'project=""',
    `project="x",project="${id}"`,
    `tenant_id="${id}"`,
    `__tenant_id__="${id}"`,
    `__project__="${id}"`,
    'vm=~".+"',
    'vm_name=~".+"',
    `"project"="${id}"`,
    `project="${id}" or vm="x"`,
    `project=~"(?i)${id.toUpperCase()}"`,
    '__name__=~".+"',
    '__name__!=""',
  ];
  const plain = matchers.flatMap((matcher) => [`{${matcher}}`, `${metric}{${matcher}}`]);
  return [
    ...plain,
    `{"${canary}_metric"}`,
    `${canary}_metric`,
    `{__name__="${canary}_metric"}`,
    `${metric} or {project="${id}"}`,
    `{project="${id}"} and ${metric}`,
    `${metric} unless on() {project="${id}"}`,
    `${metric} * on() group_left(project, vm_name) {project="${id}"}`,
    `max_over_time({project="${id}"}[5m:30s] offset -1m)`,
    `max_over_time(max_over_time({project="${id}"}[1m:30s])[5m:30s])`,
    `{project="${id}"} @ end()`,
    `{project="${id}"} @ start() offset 1m`,
    'count by (project) ({__name__=~".+"})',
    'count without (vm) ({__name__=~".+"})',
    `label_replace(${metric}, "project", "${id}", "", "")`,
    `label_join(${metric}, "project", "", "vm")`,
    `absent({project="${id}"})`,
    `absent_over_time({project="${id}"}[5m])`,
    `scalar({project="${id}"})`,
    `info(${metric})`,
    `info(${metric}, {project="${id}"})`,
    `topk(100, {__name__=~".+"})`,
    `quantile(7, {project="${id}"})`,
    `count_values("project", {__name__=~".+"})`,
    `sort_by_label({__name__=~".+"}, "project")`,
    `limitk(10, {project="${id}"})`,
    `WITH (x = {project="${id}"}) x`,
    `{project="${id}"} keep_metric_names`,
    `${metric}; {project="${id}"}`,
    `${metric} # \n or {project="${id}"}`,
    `{project="${id}"}[5m] smoothed`,
    `histogram_quantile(0.9, {project="${id}"})`,
    'vector(1)',
  ];
}

/** Requests below the attacker's own project, with every parameter that could name another. */
export function promqlRequests(attacker: Tenant, victim: Tenant): PromqlRequested[] {
  const base = `/v1/monitoring/projects/${attacker.id}/promql/api/v1/`;
  const now = Math.floor(Date.now() / 1000);
  const range = `start=${now - 600}&end=${now}&step=60`;
  const requested: PromqlRequested[] = [];
  for (const expression of trickyExpressions(victim)) {
    const text = encodeURIComponent(expression);
    requested.push({ method: 'GET', path: `${base}query?query=${text}` });
    requested.push({ method: 'POST', path: `${base}query`, form: `query=${text}` });
    requested.push({ method: 'POST', path: `${base}query_range`, form: `query=${text}&${range}` });
    requested.push({ method: 'GET', path: `${base}series?match[]=${text}&${range}` });
    requested.push({ method: 'GET', path: `${base}labels?match[]=${text}` });
    requested.push({ method: 'POST', path: `${base}series`, form: `match[]=${text}&match[]=up` });
    requested.push({ method: 'GET', path: `${base}query_exemplars?query=${text}&${range}` });
  }
  const labels = ['project', 'vm', 'vm_name', '__name__', `${victim.canary}_label`, 'tenant_id'];
  for (const label of labels) {
    requested.push({ method: 'GET', path: `${base}label/${label}/values` });
    requested.push({
      method: 'GET',
      path: `${base}label/${label}/values?match[]={project="${victim.id}"}`,
    });
  }
  const own = 'query=svc_vm_cpu_utilization_pct';
  const theirs = encodeURIComponent(`{project="${victim.id}"}`);
  for (const more of [
    `&query=${theirs}`,
    `&project=${victim.id}`,
    `&tenant=${victim.id}`,
    `&query[]=${theirs}`,
    `&db=${victim.id}`,
  ]) {
    requested.push({ method: 'GET', path: `${base}query?${own}${more}` });
    requested.push({ method: 'POST', path: `${base}query?query=${theirs}`, form: `${own}${more}` });
  }
  for (const header of FOREIGN_HEADERS(victim)) {
    requested.push({ method: 'GET', path: `${base}query?query=${theirs}`, headers: [header] });
    requested.push({ method: 'GET', path: `${base}label/project/values`, headers: [header] });
  }
  return requested;
}

/** Headers by which other products choose the tenant. */
export function FOREIGN_HEADERS({ id }: Tenant): Header[] {
  const names = [
    'X-Scope-OrgID',
    'X-Tenant',
    'THANOS-TENANT',
    'AccountID',
    'X-Forwarded-User',
    'X-Project',
  ];
  return [
    ...names.map((name): Header => [name, id]),
    ['X-Original-URI', `/v1/monitoring/projects/${id}/export?shard=0`],
  ];
}

/** Paths to the other project, in every spelling that some parser may accept. */
export function foreignPaths(attacker: Tenant, victim: Tenant): string[] {
  const tails = [
    'promql/api/v1/query?query={__name__=~".%2B"}',
    'promql/api/v1/labels',
    'promql/api/v1/label/vm_name/values',
    'scrape-targets',
    'export?shard=0',
  ];
  const [own, id] = [attacker.id, victim.id];
  const root = '/v1/monitoring/projects';
  const ways = [
    `${root}/${id}`,
    `${root}/${own}/../${id}`,
    `${root}/${own}/%2e%2e/${id}`,
    `${root}/${own}%2f..%2f${id}`,
    `${root}/%${id.charCodeAt(0).toString(16)}${id.slice(1)}`,
    `${root}/${id.toUpperCase()}`,
    `${root}/${id}%00`,
    `${root}/${own},${id}`,
    `${root}/${own};${id}`,
    `${root}/*`,
    `${root}//${id}`,
    `/${root}/${id}`,
    `${root}/${id}/.`,
    `${root}/projects%2F${id}`,
    `${root}/${own}/promql/../../${id}`,
  ];
  return ways.flatMap((way) => tails.map((tail) => `${way}/${tail}`));
}
