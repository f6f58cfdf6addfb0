/**
 * A server for tests of the PromQL URL: everything that `api-in-process.ts` runs, over real
 * history. It listens on 127.0.0.1, because paths and hang-ups are under test.
 */
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import { addPromqlRoutes } from '../../src/telemetry/prometheus-api/routes.ts';
import { createPromqlQueries } from '../../src/telemetry/query/promql/promql-queries.ts';
import type { QueryThreads } from '../../src/telemetry/query/threads/query-threads.ts';
import {
  type SampleRow,
  startRpcWorld,
  type ThreadOptions,
  type WorldParts,
} from './api-in-process.ts';
import { START_MS } from './host-in-memory.ts';
import { type Answered, exchange, formBody, type Sent } from './promql-routes.ts';

export type PromqlServer = Awaited<ReturnType<typeof startPromqlServer>>;

/**
 * Starts a server that ends with the test. Its clock stops at `START_MS` until it is advanced.
 * `addMore` adds routes beside those of PromQL.
 */
export async function startPromqlServer(
  t: Test,
  addMore: (app: FastifyInstance, parts: WorldParts) => void = () => {},
  options: ThreadOptions = {},
) {
  const stale = new Set<string>();
  let threads: Pick<QueryThreads, 'counts'> | undefined;
  const world = await startRpcWorld(
    t,
    () => ({}),
    (app, parts) => {
      threads = parts.threads;
      void addPromqlRoutes(app, {
        ...parts,
        queries: queriesOf(parts, stale),
        health: { report: () => ({ ready: true }) },
      });
      addMore(app, parts);
    },
    options,
  );
  const { app, issue, call, settled, keys } = world;
  await app.listen({ host: '127.0.0.1', port: 0 });
  const baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const collectors = new Map([['demo', keys.collector]]);

  /** Writes rows through `WriteSamples`, stored when it resolves. Resolves with the answer. */
  async function writeTo(project: string, rows: readonly SampleRow[]) {
    const key = collectors.get(project) ?? (await issue(project, ['collector']));
    collectors.set(project, key);
    const named = rows.map(({ vm = 'vm-1', ...row }) => ({ vmName: vm, ...row }));
    const request = { projectName: `projects/${project}`, rows: named };
    const answer = await call('WriteSamples', request, { key });
    if (answer.status !== 200) throw new Error(`Not written: ${JSON.stringify(answer.body)}`);
    await settled();
    return answer.body;
  }

  /** `path` is below `/v1/monitoring/projects/<project>/promql`, by default of `demo`. */
  function send(path: string, sent: Sent & { readonly project?: string } = {}): Promise<Answered> {
    const { method = 'GET', body, headers = {}, key = keys.read, project = 'demo' } = sent;
    return exchange(baseUrl, {
      method,
      body,
      path: `/v1/monitoring/projects/${project}/promql${path}`,
      headers: { ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    });
  }
  const api = (path: string, sent?: Parameters<typeof send>[1]) => send(`/api/v1/${path}`, sent);
  const post = (path: string, form: Readonly<Record<string, string>> | string) =>
    api(path, { method: 'POST', ...formBody(new URLSearchParams(form).toString()) });
  /** `data` of a query at a Unix time in seconds, default `START_MS`. */
  async function query(expression: string, time = START_MS / 1000) {
    const { status, body } = await post('query', { query: expression, time: String(time) });
    if (status !== 200) throw new Error(`${expression}: ${JSON.stringify(body)}`);
    return body.data;
  }
  const running = () => threads?.counts.running ?? 0;
  return { ...world, baseUrl, stale, running, writeTo, send, api, post, query };
}

function queriesOf(parts: WorldParts, stale: ReadonlySet<string>) {
  const { threads, clock, host, log, alertingRules } = parts;
  return createPromqlQueries({
    threads,
    clock,
    log,
    retentionMs: parts.history.retentionMs,
    recordsRevision: () => host.appliedSequence(),
    lookbackMs: () => 300_000,
    staleDatacenters: () => [...stale],
    pendingAlerts: alertingRules.pending,
  });
}

/**
 * Rows of a VM every 30 s up to `endMs`, oldest first; `values` gives those of the i-th of `count`.
 */
export function rowsOf(
  vm: string,
  options: {
    readonly count: number;
    readonly endMs?: number;
    readonly values: (i: number) => NonNullable<SampleRow['values']>;
    readonly row?: Partial<SampleRow>;
  },
): SampleRow[] {
  const { count, endMs = START_MS, values, row = {} } = options;
  return Array.from({ length: count }, (_, i) => ({
    vm,
    observedUnixMs: endMs - (count - 1 - i) * 30_000,
    values: values(i),
    ...row,
  }));
}
