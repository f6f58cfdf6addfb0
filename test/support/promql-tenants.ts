/**
 * Two worlds for tests of tenancy: one in which the project `demo` is alone, and one that it shares
 * with projects that have the same VMs and series and some of their own. The first is the oracle:
 * both must answer each request with the same bytes, before and after the others' data change.
 */
import type { Test } from 'tap';
import { START_MS } from './host-in-memory.ts';
import type { Answered, Sent } from './promql-routes.ts';
import { type PromqlServer, rowsOf, startPromqlServer } from './promql-server.ts';

/** Unix seconds at which the worlds' clocks stop. */
export const NOW = START_MS / 1000;
/** A gauge that all projects have. */
export const M = 'svc_vm_memory_free_bytes';

export interface Requested extends Sent {
  /** Path below the base. */
  readonly path: string;
}

export type Tenants = Awaited<ReturnType<typeof startTenants>>;

export async function startTenants(t: Test) {
  const alone = await startPromqlServer(t);
  // One project's load must not delay another's queries, so they need their own threads.
  const shared = await startPromqlServer(t, undefined, { hasWorkers: true });
  for (const world of [alone, shared]) {
    for (const [i, vm] of ['vm-1', 'vm-2'].entries()) {
      const values = (row: number) => ownValues(10 * i + row);
      await world.writeTo('demo', rowsOf(vm, { count: 21, values }));
    }
  }
  let round = 1;
  for (const project of ['other', 'third']) await writeSecrets(shared, project, round);
  const otherKey = await shared.issue('other', ['monitoring.read', 'monitoring.write']);

  async function displayedIn(
    { send }: PromqlServer,
    requests: readonly Requested[],
  ): Promise<Answered[]> {
    const answers: Answered[] = [];
    for (const { path, ...sent } of requests) answers.push(await send(path, sent));
    return answers;
  }

  /** Answers of the shared world, asserted to equal those of the world with `demo` alone. */
  async function sameAsAlone(t: Test, requests: readonly Requested[]): Promise<Answered[]> {
    const expected = await displayedIn(alone, requests);
    const before = await displayedIn(shared, requests);
    await writeSecrets(shared, 'other', ++round);
    const after = await displayedIn(shared, requests);
    for (const [i, { path, body }] of requests.entries()) {
      const name = `${decodeURIComponent(path)} ${body ?? ''}`;
      const parts = (answer: Answered | undefined) => [answer?.status, answer?.text];
      t.same(parts(before[i]), parts(expected[i]), name);
      t.same(parts(after[i]), parts(expected[i]), `${name}, after others wrote`);
      t.notMatch(after[i]?.text, /secret_metric_\d|Secret|666\d\d\d/, name);
    }
    return after;
  }

  /**
   * Asserts the same for each expression over a range and as an instant. Resolves with the instant
   * answers.
   */
  async function sameExpressions(t: Test, expressions: readonly string[]) {
    await sameAsAlone(t, expressions.map(range));
    const answers = await sameAsAlone(t, expressions.map(instant));
    return answers.map(({ status, body }) => ({ status, result: body.data?.result ?? body.error }));
  }

  return { shared, otherKey, sameAsAlone, sameExpressions };
}

export function instant(query: string): Requested {
  return { path: `/api/v1/query?${new URLSearchParams({ query, time: String(NOW) })}` };
}

function range(query: string): Requested {
  const times = { start: String(NOW - 600), end: String(NOW), step: '60' };
  return { path: `/api/v1/query_range?${new URLSearchParams({ query, ...times })}` };
}

function ownValues(value: number) {
  return [
    { series: M, value },
    { series: 'svc_vm_cpu_seconds_total', value: 30 * value },
    { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value },
  ];
}

/** Writes the same VMs and series with other values, and VMs, series and labels of their own. */
async function writeSecrets(world: PromqlServer, project: string, round: number): Promise<void> {
  const secret = (value: number) => [
    ...ownValues(666_000 + value),
    { series: 'secret_metric', value: 666_000 + value },
    { series: `secret_metric_${round}`, labels: { secret_label: `secret-${round}` }, value: 1 },
  ];
  for (const vm of ['vm-1', 'vm-2', `vm-secret-${round}`]) {
    const row = { displayName: `Secret ${round}` };
    await world.writeTo(project, rowsOf(vm, { count: 20 + round, values: secret, row }));
  }
}
