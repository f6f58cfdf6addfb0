/**
 * Every authenticated method and route of a project without a free slot answers 429 with
 * `Retry-After`. The lists are read from the descriptors and the routes, so a new one without the
 * gate fails here.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { getOption } from '@bufbuild/protobuf';
import type { FastifyInstance } from 'fastify';
import { type Test, test } from 'tap';
import { DEFAULT_LIMITS, setLimits } from '../../actors/platform/project-limits.ts';
import { AuditService } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../../src/gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MonitoringService } from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import { Policy_Access, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { ProjectService } from '../../src/gen/svc/project/v1/project_pb.ts';
import { CALL_CLASSES, classOfMethod, classRules } from '../../src/platform/gate/call-classes.ts';
import {
  type Pass,
  type ProjectGate,
  WAITING_CALL_BYTES,
} from '../../src/platform/gate/project-gate.ts';
import { SEQUENCE_HEADER } from '../../src/platform/http/sequence.ts';
import { addExportRoutes } from '../../src/telemetry/export/export-routes.ts';
import { Exporter } from '../../src/telemetry/export/exporter.ts';
import { addPromqlRoutes } from '../../src/telemetry/prometheus-api/routes.ts';
import { encodeData } from '../../src/telemetry/query/promql/promql-json.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { cookieHeaders, startRpcWorld, type WorldParts } from '../support/api-in-process.ts';
import { openStream } from '../support/connect-stream.ts';
import { submit } from '../support/submit.ts';

const services = [
  AlertService,
  AuditService,
  AutomationService,
  IngestService,
  MonitoringService,
  ProjectService,
];

function post(
  { app }: Awaited<ReturnType<typeof startRpcWorld>>,
  url: string,
  payload: object,
  headers: Readonly<Record<string, string>>,
) {
  return app.inject({ method: 'POST', url, payload, headers });
}

/** Takes every slot of a tenant; returns a function that releases them. */
async function takeAll(gate: ProjectGate, tenant: string): Promise<() => void> {
  const passes: Pass[] = [];
  const over = new AbortController();
  for (const kind of CALL_CLASSES) {
    const { running, waiting, unit } = classRules[kind].slots(DEFAULT_LIMITS);
    for (let i = 0; i < running; i++) {
      // Streams are also bounded per caller.
      const caller = { tenant, name: `holder ${i}` };
      passes.push(await gate.enter(caller, kind, new AbortController().signal));
    }
    const [calls, bytes] = unit === 'calls' ? [waiting, 0] : [2, waiting / 2 - WAITING_CALL_BYTES];
    for (let i = 0; i < calls; i++) {
      void gate.enter({ tenant, name: `waits ${i}` }, kind, over.signal, bytes).catch(() => {});
    }
  }
  return () => {
    over.abort();
    for (const { release } of passes) release();
  };
}

test('Every method of the protocol is rejected while its project has no free slot', async (t) => {
  const world = await startRpcWorld(t);
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await world.signedInAs('demo', 'OWNER');
  await takeAll(world.gate, 'projects/demo');
  await takeAll(world.gate, `people/${owner.person}`);
  for (const service of services) {
    for (const method of service.methods) {
      const { access } = getOption(method, policy);
      // Without a caller there is no project: these calls are bounded by address.
      if (access === Policy_Access.NONE) continue;
      const key = access === Policy_Access.COLLECTOR ? world.keys.collector : world.keys.write;
      const headers =
        access === Policy_Access.HUMAN ? cookieHeaders(owner) : { authorization: `Bearer ${key}` };
      const path = `/${service.typeName}/${method.name}`;
      if (classOfMethod(method) === 'stream') {
        const stream = await openStream(url, path, { projectName: 'projects/demo' }, headers);
        t.equal((await stream.ended).reason, 'TOO_MANY_REQUESTS', path);
        continue;
      }
      const answer = await world.app.inject({ method: 'POST', url: path, headers, payload: {} });
      t.equal(answer.statusCode, 429, `${path} ${answer.body}`);
      t.match(answer.headers['retry-after'], /^[1-9]\d*$/, path);
      const { code, details } = answer.json();
      t.equal(code, 'resource_exhausted');
      t.match(details[0].debug, {
        reason: 'TOO_MANY_REQUESTS',
        metadata: { limit: 'concurrency' },
      });
    }
  }
});

test('A member’s call takes a slot of the project that it names', async (t) => {
  const world = await startRpcWorld(t);
  const owner = await world.signedInAs('demo', 'OWNER');
  const list = (projectName: string) =>
    post(
      world,
      '/svc.project.v1.ProjectService/ListMembers',
      { projectName },
      cookieHeaders(owner),
    );
  const release = await takeAll(world.gate, 'projects/demo');
  t.equal((await list('projects/demo')).statusCode, 429);
  release();
  await takeAll(world.gate, 'projects/other');
  t.equal((await list('projects/demo')).statusCode, 200);
  t.equal((await list('projects/other')).statusCode, 403, 'another project’s slots are unaffected');
});

/** Routes of a project as they are registered: method and path. */
function projectRoutes(app: FastifyInstance): string[] {
  const routes: string[] = [];
  app.addHook('onRoute', ({ method, url }) => {
    if (!url.includes(':project')) return;
    for (const one of [method].flat()) routes.push(`${one} ${url}`);
  });
  return routes;
}

/** Liveness probes, which are answered without a credential. */
const PROBES = /\/-\/(healthy|ready)$/;

test('Every route of a project is rejected while it has no free slot', async (t) => {
  let routes: string[] = [];
  const world = await startRpcWorld(t, undefined, (app, parts) => {
    routes = projectRoutes(app);
    addReaderRoutes(t, app, parts);
  });
  await world.app.ready();
  await takeAll(world.gate, 'projects/demo');
  const seen = new Set<string>();
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ');
    if (PROBES.test(path)) continue;
    const url = path.replace(':project', 'demo').replace(':label', '__name__');
    const answer = await world.app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${world.keys.read}` },
    });
    // An unsupported method is rejected before any other check.
    if (answer.statusCode === 405) continue;
    t.equal(answer.statusCode, 429, `${route} ${answer.body}`);
    t.match(answer.headers['retry-after'], /^[1-9]\d*$/, route);
    if (path.includes('/promql/')) t.match(answer.json(), { errorType: 'too_many_requests' });
    else t.match(answer.body, /ErrorInfo.*"TOO_MANY_REQUESTS"/);
    seen.add(path);
  }
  t.equal(seen.size, 17, 'scrape-targets, export and the fifteen of PromQL');
});

function addReaderRoutes(test: Test, app: FastifyInstance, parts: WorldParts): void {
  const exporter = new Exporter(parts);
  test.teardown(() => exporter.close());
  addExportRoutes(app, { ...parts, exporter, origin: () => 'http://127.0.0.1' });
  const answer = { status: 200, body: encodeData([]), encoding: 'identity' } as const;
  const health = { report: () => ({ ready: true, parts: [] }) };
  void addPromqlRoutes(app, {
    ...parts,
    health,
    queries: { lookbackMs: () => 300_000, run: async () => answer },
  });
}

test('Waits for a position in the log are bounded too, and hold no other slot', async (t) => {
  const world = await startRpcWorld(t);
  const ask = (sequence: string, key = world.keys.read) =>
    post(
      world,
      '/svc.monitoring.v1.AlertService/ListAlertRules',
      { projectName: 'projects/demo' },
      { authorization: `Bearer ${key}`, [SEQUENCE_HEADER]: sequence },
    );
  const beyond = world.positions.tokenOf(world.host.appliedSequence() + 1_000);
  const waiting = Array.from({ length: 64 }, (_, i) =>
    ask(beyond, i % 2 === 0 ? world.keys.read : world.keys.write),
  );
  while (world.gate.running('projects/demo', 'position') < 64) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  t.equal((await ask(beyond)).statusCode, 429);
  t.equal(world.gate.running('projects/demo', 'call'), 0);
  t.equal(
    (await ask(world.positions.current())).statusCode,
    200,
    'a position that is reached needs no wait',
  );
  await world.clock.advance(5_000);
  t.same(new Set((await Promise.all(waiting)).map(({ statusCode }) => statusCode)), new Set([503]));
  t.equal(world.gate.running('projects/demo', 'position'), 0);
});

test('A neighbour’s call is answered after a few of the 64 ListTransitions calls of two keys', async (t) => {
  const world = await startRpcWorld(t);
  const order: string[] = [];
  const ask = async (who: string, key: string, path: string, payload: object) => {
    const headers = { authorization: `Bearer ${key}` };
    const { statusCode } = await world.app.inject({
      method: 'POST',
      url: path,
      headers,
      payload,
    });
    order.push(`${who} ${statusCode}`);
  };
  // All of them run at once, so only the turns on the main thread protect the neighbour.
  await submit(
    world.host,
    { project: 'demo', by: { kind: 'operator', name: 'test' } },
    (draft) => ({ ...setLimits(draft, { concurrency: 64 }) }),
  );
  const flood = Array.from({ length: 64 }, (_, i) =>
    ask(
      'flood',
      i % 2 === 0 ? world.keys.read : world.keys.write,
      '/svc.audit.v1.AuditService/ListTransitions',
      {
        projectName: 'projects/demo',
        pageSize: 1_000,
      },
    ),
  );
  await new Promise<void>((resolve) => setImmediate(resolve));
  await ask('neighbour', world.keys.other, '/svc.monitoring.v1.AlertService/ListAlertRules', {
    projectName: 'projects/other',
  });
  const place = order.indexOf('neighbour 200');
  t.ok(place >= 0 && place <= 16, `after ${place} of 64`);
  await Promise.all(flood);
  t.equal(order.filter((one) => one === 'flood 200').length, 64, 'each of them is answered');
});

test('A collector for all projects is its own tenant', async (t) => {
  const world = await startRpcWorld(t);
  const { key } = await world.collector(SYSTEM_PROJECT);
  await takeAll(world.gate, 'projects/demo');
  const answer = await post(
    world,
    '/svc.ingest.v1.IngestService/WriteSamples',
    { projectName: 'projects/demo', rows: [] },
    { authorization: `Bearer ${key}` },
  );
  t.not(answer.statusCode, 429, answer.body);
});

test('A batch over the rate of a project is rejected whole, and accepted once it fits', async (t) => {
  const world = await startRpcWorld(t);
  const limit = (samplesPerSecond: number) =>
    submit(world.host, { project: 'demo', by: { kind: 'operator', name: 'test' } }, (draft) => ({
      ...setLimits(draft, { samplesPerSecond }),
    }));
  const write = () =>
    world.app.inject({
      method: 'POST',
      url: '/svc.ingest.v1.IngestService/WriteSamples',
      headers: { authorization: `Bearer ${world.keys.collector}` },
      payload: {
        projectName: 'projects/demo',
        batchId: 'one',
        rows: [
          {
            vmName: 'vm-1',
            observedUnixMs: String(world.clock.now()),
            values: [{ series: 'svc_vm_memory_total_bytes', value: 1 }],
          },
        ],
      },
    });
  await limit(0);
  const refused = await write();
  t.equal(refused.statusCode, 429, refused.body);
  t.equal(refused.headers['retry-after'], '600');
  t.match(refused.json().details[0].debug, { metadata: { limit: 'samplesPerSecond' } });
  t.equal(world.host.view('demo').record('vm', 'vm-1'), undefined, 'none of it is stored');
  await limit(10);
  const taken = await write();
  t.equal(taken.statusCode, 200, 'the same batch under the same id');
  t.match(taken.json(), { accepted: '1', duplicates: '0' });
});

test('Bodies that never end hold no slot, and the owner can revoke the key that sends them', async (t) => {
  const world = await startRpcWorld(t);
  const url = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 }));
  const owner = await world.signedInAs('demo', 'OWNER');
  const sockets = Array.from({ length: 129 }, () => connect(Number(url.port), url.hostname));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  const head = [
    'POST /svc.monitoring.v1.AlertService/ListAlertRules HTTP/1.1',
    'host: localhost',
    'content-type: application/json',
    'content-length: 100',
    `authorization: Bearer ${world.keys.read}`,
    '',
    '{',
  ].join('\r\n');
  const refused = Promise.race(sockets.map((socket) => once(socket, 'data')));
  for (const socket of sockets) socket.write(head);
  t.match(String((await refused)[0]), / 429 /, 'beyond the bound on bodies per caller');
  t.equal(world.gate.running('projects/demo', 'call'), 0);
  const list = (key: string) =>
    post(
      world,
      '/svc.monitoring.v1.AlertService/ListAlertRules',
      { projectName: 'projects/demo' },
      { authorization: `Bearer ${key}` },
    );
  t.equal((await list(world.keys.write)).statusCode, 200, 'another key of the project');
  const members = await post(
    world,
    '/svc.project.v1.ProjectService/ListMembers',
    { projectName: 'projects/demo' },
    cookieHeaders(owner),
  );
  t.equal(members.statusCode, 200, 'and the owner');
});

test('Changes made by people have slots that no key can take', async (t) => {
  const revoke = AutomationService.method.revokeKey;
  t.equal(classOfMethod(revoke), 'change');
  for (const service of services) {
    for (const method of service.methods) {
      const { access, mutation } = getOption(method, policy);
      const isPeoples = mutation && access === Policy_Access.HUMAN;
      t.equal(classOfMethod(method) === 'change', isPeoples, method.name);
    }
  }
});

test('Each body is parsed in its project’s turn once it has arrived', async (t) => {
  const steps: string[] = [];
  const world = await startRpcWorld(t, ({ gate }) => ({
    gate: {
      running: (tenant, kind) => gate.running(tenant, kind),
      counts: () => gate.counts(),
      turn: async (tenant) => {
        await gate.turn(tenant);
        steps.push('turn');
      },
      takeBody: (...of) => {
        const { release } = gate.takeBody(...of);
        steps.push('body');
        return {
          release: () => {
            steps.push('body has come');
            release();
          },
        };
      },
      enter: async (...of) => {
        const pass = await gate.enter(...of);
        steps.push('slot and turn');
        return pass;
      },
    },
  }));
  const body = JSON.stringify({ projectName: 'projects/demo' });
  const ask = async (payload: string | Buffer, headers: Record<string, string>, path: string) => {
    steps.length = 0;
    const answer = await world.app.inject({
      method: 'POST',
      url: path,
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    });
    t.equal(answer.statusCode, 200, answer.body);
    return [...steps];
  };
  const key = { authorization: `Bearer ${world.keys.read}` };
  const rules = '/svc.monitoring.v1.AlertService/ListAlertRules';
  t.same(await ask(body, key, rules), ['body', 'slot and turn', 'body has come']);
  const packed = { ...key, 'content-encoding': 'gzip' };
  const gzip = await ask(gzipSync(body), packed, rules);
  t.same(gzip, ['body', 'slot and turn', 'body has come', 'turn'], 'again once unpacked');
  const owner = cookieHeaders(await world.signedInAs('demo', 'OWNER'));
  const people = await ask(body, owner, '/svc.project.v1.ProjectService/ListMembers');
  t.same(people, ['body', 'turn', 'body has come', 'slot and turn'], 'people’s too');
});

test('Unpacked bytes count against the rate, also for a collector of all projects', async (t) => {
  const world = await startRpcWorld(t);
  const used = () => world.ingestRates.used('demo').ingestBytesPerSecond;
  const body = JSON.stringify({ projectName: 'projects/demo', rows: [], batchId: '' }).padEnd(
    20_000,
  );
  const write = async (key: string) => {
    const before = used();
    const answer = await world.app.inject({
      method: 'POST',
      url: '/svc.ingest.v1.IngestService/WriteSamples',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      payload: gzipSync(body),
    });
    t.equal(answer.statusCode, 200, answer.body);
    return used() - before;
  };
  t.equal(await write(world.keys.collector), 2_000, '20,000 bytes in ten seconds');
  const { key } = await world.collector(SYSTEM_PROJECT);
  await submit(world.host, { project: 'demo', by: { kind: 'operator', name: 'test' } }, (draft) =>
    draft.putRecord({ kind: 'project', id: 'demo', body: { displayName: 'demo' } }),
  );
  t.equal(await write(key), 2_000);
});
