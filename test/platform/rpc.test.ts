/**
 * Rules that apply to every method: authorisation, the format of errors, the protocol's version,
 * positions in the log. Methods are read from the descriptors, so a new one is covered without
 * being named here.
 */

import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { test } from 'tap';
import { AuditService } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { IngestService } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../../src/gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import { Policy_Access, Policy_Role, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { type Answer, type RpcWorld, startRpcWorld, VM } from '../support/api-in-process.ts';

const services = [MonitoringService, AlertService, IngestService, AuditService, MaintenanceService];
const methods: DescMethod[] = services.flatMap((service) => service.methods);
const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
const QUERY = '/svc.monitoring.v1.MonitoringService/QueryVMMonitoring';
const CAPABILITY: Readonly<Record<number, string>> = {
  [Policy_Access.READ]: 'monitoring.read',
  [Policy_Access.WRITE]: 'monitoring.write',
  [Policy_Access.COLLECTOR]: 'collector',
};
const UUID = '00000000-0000-4000-8000-000000000001';

/** The smallest body that names a project, so that a call reaches the authorisation. */
function naming(method: DescMethod, project: string): string {
  const resource: Record<string, string> = {
    QueryVMMonitoring: 'vms/vm-1',
    GetVMMonitoring: 'vms/vm-1',
    GetAlertRule: `alertRules/${UUID}`,
    DeleteAlertRule: `alertRules/${UUID}`,
    GetIncident: 'incidents/inc_1',
    ExplainIncident: 'incidents/inc_1',
    GetAlertInstance: 'alertInstances/ins_1',
    ExplainAlertInstance: 'alertInstances/ins_1',
    AcknowledgeIncident: 'incidents/inc_1',
    SnoozeIncident: 'incidents/inc_1',
    UnsnoozeIncident: 'incidents/inc_1',
    GetDestination: 'destinations/dst_1',
    UpdateDestination: 'destinations/dst_1',
    DeleteDestination: 'destinations/dst_1',
    VerifyDestination: 'destinations/dst_1',
    SendTestNotification: 'destinations/dst_1',
    PauseDestination: 'destinations/dst_1',
    ResumeDestination: 'destinations/dst_1',
    RotateWebhookSecret: 'destinations/dst_1',
    GetDelivery: 'deliveries/dlv_1',
  };
  const suffix = resource[method.name];
  return JSON.stringify(
    suffix ? { name: `projects/${project}/${suffix}` } : { projectName: `projects/${project}` },
  );
}

/** Verbs of methods that change state. */
const CHANGES =
  /^(Save|Delete|Create|Write|Update|Verify|SendTest|Pause|Resume|Rotate|Acknowledge|Snooze|Unsnooze|Retire|End)/;

test('API-09: every method declares its access, and mutations match their names', async (t) => {
  for (const method of methods) {
    const { access, mutation, role } = getOption(method, policy);
    t.not(access, Policy_Access.ACCESS_UNSPECIFIED, method.name);
    t.equal(role !== Policy_Role.ROLE_UNSPECIFIED, access === Policy_Access.HUMAN, method.name);
    const changes = CHANGES.test(method.name);
    t.equal(mutation, changes, `${method.name} changes something: ${changes}`);
  }
});

test('Authorisation', async (t) => {
  const world = await startRpcWorld(t);
  // Streams have an envelope of their own: authorisation.test.ts covers them too.
  for (const method of methods.filter(({ methodKind }) => methodKind === 'unary')) {
    const send = (body: string, key: string | null) => world.send(pathOf(method), body, { key });
    const { name } = method;
    await t.test(`${name} is rejected without a credential, before its body is read`, async (t) => {
      for (const body of [
        naming(method, 'demo'),
        '{"malformed',
        `{"x":"${'a'.repeat(2 ** 20)}"}`,
      ]) {
        const answer = await send(body, null);
        t.match(answer, { status: 401, reason: 'MISSING_CREDENTIAL' });
        t.equal(answer.headers['www-authenticate'], 'Bearer');
      }
      t.match(await send('{}', 'nonsense'), { status: 401, reason: 'MALFORMED_CREDENTIAL' });
    });
    if (getOption(method, policy).access === Policy_Access.HUMAN) {
      await t.test(`${name} is rejected for every key`, async (t) => {
        for (const key of Object.values(world.keys)) {
          const answer = await send(naming(method, 'demo'), key);
          t.match(answer, { status: 403, reason: 'HUMAN_OPERATION' });
        }
      });
      continue;
    }
    await t.test(
      `API-16: ${name} is rejected for another project’s key, whether or not it exists`,
      async (t) => {
        const answer = await send(naming(method, 'demo'), world.keys.other);
        t.match(answer, { status: 403, reason: 'PROJECT_BOUNDARY' });
        t.match(await send(naming(method, 'nowhere'), world.keys.other), { status: 403 });
      },
    );
    await t.test(`${name} is rejected for a key without its capability`, async (t) => {
      const { access } = getOption(method, policy);
      const lacking = access === Policy_Access.COLLECTOR ? world.keys.write : world.keys.collector;
      const answer = await send(naming(method, 'demo'), lacking);
      t.match(answer, { status: 403, reason: 'MISSING_CAPABILITY' });
      t.equal(answer.metadata.capability, CAPABILITY[access]);
      if (access !== Policy_Access.WRITE) return;
      t.match(await send(naming(method, 'demo'), world.keys.read), { status: 403 });
    });
    await t.test(`${name} never answers an empty request with an internal error`, async (t) => {
      const { access } = getOption(method, policy);
      const key = access === Policy_Access.COLLECTOR ? world.keys.collector : world.keys.write;
      const answer = await send('{}', key);
      t.match(answer, { status: 400, reason: 'INVALID_FIELD' });
      t.match(answer.metadata.field, /name|projectName/i);
    });
  }
  t.same(world.lines, [], 'nothing was logged: every refusal is the caller’s mistake');
});

interface BadRequest {
  readonly name: string;
  readonly send: (world: RpcWorld) => Promise<Answer>;
  readonly status: number;
  readonly reason?: string;
  readonly field?: string;
  readonly message: RegExp;
}

const json = { 'content-type': 'application/json' };

/** Faults of the envelope; invalid field values are tested beside each method. */
const badRequests: readonly BadRequest[] = [
  {
    name: 'malformed JSON',
    send: (world) => world.send(QUERY, '{"name": '),
    status: 400,
    reason: 'INVALID_FIELD',
    message: /JSON/,
  },
  {
    name: 'JSON that is not an object',
    send: (world) => world.send(QUERY, '[1]'),
    status: 400,
    reason: 'INVALID_FIELD',
    message: /QueryVMMonitoringRequest/,
  },
  {
    name: 'an empty body',
    send: (world) => world.send(QUERY, ''),
    status: 400,
    reason: 'INVALID_FIELD',
    message: /JSON/,
  },
  {
    name: 'text in place of a number',
    send: (world) => world.call('QueryVMMonitoring', { name: VM, stepSeconds: 'sixty' }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'stepSeconds',
    message: /sixty/,
  },
  {
    name: 'a fraction in place of an integer',
    send: (world) => world.call('QueryVMMonitoring', { name: VM, startTimeUnix: '1.5' }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'startTimeUnix',
    message: /1\.5/,
  },
  {
    name: 'an object in place of a list',
    send: (world) => world.call('QueryVMMonitoring', { name: VM, metricIds: {} }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'metricIds',
    message: /Array/,
  },
  {
    name: 'a wrong type deep in a message',
    send: (world) => world.call('SaveAlertRule', { spec: { sustainedSeconds: 'long' } }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'spec.sustainedSeconds',
    message: /long/,
  },
  {
    name: 'an unknown enum value in a mutation',
    send: (world) => world.call('SaveAlertRule', { spec: { severity: 'AWFUL' } }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'spec.severity',
    message: /INFO, WARNING/,
  },
  {
    name: 'a field that a mutation does not have',
    send: (world) => world.call('SaveAlertRule', { spec: { allVMs: true } }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'allVMs',
    message: /unknown/,
  },
  {
    name: 'a misspelt filter of a list',
    send: (world) =>
      world.call('ListIncidents', { projectName: 'projects/demo', severity: ['CRITICAL'] }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'severity',
    message: /unknown/,
  },
  {
    name: 'a misspelt bound of a query',
    send: (world) =>
      world.call('QueryVMMonitoring', {
        name: 'projects/demo/vms/x',
        startTime: 1,
        stepSeconds: 60,
      }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'startTime',
    message: /unknown/,
  },
  {
    name: 'a misspelt filter value of a read',
    send: (world) => world.call('ListIncidents', { projectName: 'projects/demo', state: 'FIRNG' }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'state',
    message: /FIRNG.*FIRING/,
  },
  {
    name: 'a misspelt filter value, compressed',
    send: (world) =>
      world.send(
        '/svc.monitoring.v1.AlertService/ListIncidents',
        gzipSync('{"projectName":"projects/demo","state":"FIRNG"}'),
        { headers: { ...json, 'content-encoding': 'gzip' } },
      ),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'state',
    message: /FIRNG/,
  },
  {
    name: 'a long wrong value, to a client that accepts compressed answers',
    send: (world) =>
      world.send(QUERY, `{"stepSeconds":"${'x'.repeat(5_000)}"}`, {
        headers: { 'accept-encoding': 'gzip' },
      }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'stepSeconds',
    message: /^.{1,500}$/,
  },
  {
    name: 'a body over 256 KiB',
    send: (world) => world.send(QUERY, `{"name":"${'a'.repeat(2 ** 20)}"}`),
    status: 400,
    reason: 'REQUEST_TOO_LARGE',
    message: /256 KiB/,
  },
  {
    name: 'a body that decompresses to over 256 KiB',
    send: (world) =>
      world.send(QUERY, gzipSync(`{"name":"${'a'.repeat(2 ** 21)}"}`), {
        headers: { 'content-encoding': 'gzip' },
      }),
    status: 400,
    reason: 'REQUEST_TOO_LARGE',
    message: /256 KiB/,
  },
  {
    name: 'another version of the protocol',
    send: (world) => world.send(QUERY, '{}', { headers: { 'connect-protocol-version': '2' } }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'Connect-Protocol-Version',
    message: /"2"/,
  },
  {
    name: 'an invalid position',
    send: (world) => world.send(QUERY, '{}', { headers: { 'svc-sequence': ','.repeat(32) } }),
    status: 400,
    reason: 'INVALID_FIELD',
    field: 'svc-sequence',
    message: /32 tokens/,
  },
  {
    name: 'an unsupported content type',
    send: (world) => world.send(QUERY, '{}', { headers: { 'content-type': 'application/grpc' } }),
    status: 415,
    reason: 'UNSUPPORTED_MEDIA_TYPE',
    message: /grpc/,
  },
  {
    name: 'an unknown method',
    send: (world) => world.send('/svc.monitoring.v1.AlertService/SaveAlertRules', '{}'),
    status: 404,
    reason: 'UNKNOWN_PATH',
    message: /SaveAlertRules is not a method/,
  },
  {
    name: 'an unknown service',
    send: (world) => world.send('/svc.shell.v1.ShellService/Run', '{}'),
    status: 404,
    reason: 'UNKNOWN_PATH',
    message: /not a method/,
  },
];

test('API-11: a bad request is answered with its reason, field and message', async (t) => {
  const world = await startRpcWorld(t);
  for (const { name, send, status, reason, field, message } of badRequests) {
    await t.test(name, async (t) => {
      const answer = await send(world);
      t.equal(answer.status, status);
      t.equal(answer.reason, reason);
      t.equal(answer.metadata.field, field);
      t.match(answer.body.message, message);
      t.notMatch(JSON.stringify(answer.body), /node_modules|\.ts:|at \w+ \(/, 'no stack trace');
    });
  }
  await t.test('GET is answered with the method to use', async (t) => {
    const { statusCode, headers, body } = await world.app.inject({ method: 'GET', url: QUERY });
    t.equal(statusCode, 405);
    t.equal(headers.allow, 'POST');
    t.match(body, /takes POST, not GET/);
  });
  t.same(world.lines, [], 'none of them is logged as a fault');
});

test('Accepted requests', async (t) => {
  const world = await startRpcWorld(t);
  await t.test(
    'API-11: fields have either spelling, and reads by name ignore others',
    async (t) => {
      const request = { project_name: 'projects/demo', state: 'FIRING' };
      t.match(await world.call('ListIncidents', request), { status: 200, body: { incidents: [] } });
      const limits = { projectName: 'projects/demo', tomorrow: true };
      t.equal((await world.call('GetProjectLimits', limits)).status, 200);
    },
  );
  await t.test(
    'API-12: protocol version 1 and a missing version header are accepted',
    async (t) => {
      const request = { projectName: 'projects/demo' };
      const headers = { 'connect-protocol-version': '1' };
      t.equal((await world.call('ListAlertRules', request, { headers })).status, 200);
      t.equal((await world.call('ListAlertRules', request)).status, 200);
    },
  );
  await t.test('a compressed request gets a compressed answer', async (t) => {
    const body = gzipSync('{"projectName":"projects/demo"}');
    const headers = { 'content-encoding': 'gzip', 'accept-encoding': 'gzip' };
    const path = '/svc.monitoring.v1.MonitoringService/ListMetricDescriptors';
    const answer = await world.send(path, body, { headers });
    t.equal(answer.status, 200);
    t.equal(answer.headers['content-encoding'], 'gzip');
  });
});

test('Positions in the log', async (t) => {
  const world = await startRpcWorld(t);
  const list = (headers: Record<string, string> = {}) =>
    world.call('ListAlertRules', { projectName: 'projects/demo' }, { headers });
  const { tokenOf, sequenceOf, current } = world.positions;
  const position = () => world.host.appliedSequence();
  const positionIn = (answer: { headers: Readonly<Record<string, unknown>> }) =>
    sequenceOf(String(answer.headers['svc-sequence']));

  t.equal(positionIn(await list()), position(), 'answers include it');
  const refused = await world.send(QUERY, '{"bad', {});
  t.equal(positionIn(refused), position(), 'and so do errors');
  const reached = await list({ 'svc-sequence': current() });
  t.equal(reached.status, 200, 'a reached position needs no wait');
  const digits = await list({ 'svc-sequence': String(position()) });
  t.equal(digits.status, 200, 'a plain number is not a position, and is ignored');

  const sequence = position() + 1;
  const next = tokenOf(sequence);
  let isAnswered = false;
  const waiting = list({ 'svc-sequence': next }).then((answer) => {
    isAnswered = true;
    return answer;
  });
  await world.clock.advance(1_000);
  t.notOk(isAnswered, 'a later position delays the answer');
  await world.issue('demo', ['monitoring.read']);
  const later = positionIn(await waiting) ?? 0;
  t.ok(later >= sequence, 'and is returned');

  const never = list({ 'svc-sequence': tokenOf(999_999) });
  while (world.gate.running('projects/demo', 'position') === 0) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await world.clock.advance(5_000);
  const answer = await never;
  t.match(answer, { status: 503, reason: 'NOT_READY' }, 'but not for ever');
  t.ok(answer.headers['retry-after']);

  const patience = { 'svc-sequence': tokenOf(999_999), 'connect-timeout-ms': '1' };
  const impatient = await list(patience);
  t.match(
    impatient,
    { status: 504, reason: 'QUERY_TIMEOUT' },
    'nor longer than the client’s deadline',
  );

  const stranger = { key: null, headers: { 'svc-sequence': tokenOf(999_999) } };
  const unknown = await world.call('EnrolAgent', { enrolmentToken: 'x' }, stranger);
  t.match(unknown, { status: 401 }, 'a caller that is not admitted does not wait at all');
  for (const answer of [unknown, await world.send(QUERY, '{}', { key: null })]) {
    t.notOk('svc-sequence' in answer.headers, 'and gets no position');
  }
});

test('API-28: no answer may be cached, whether data, a refusal or a secret', async (t) => {
  const world = await startRpcWorld(t);
  const person = await world.signedInAs('demo', 'OWNER');
  const account = await world.account('demo', ['monitoring.read']);
  const made = {
    parent: `projects/demo/serviceAccounts/${account}`,
    requestId: randomUUID(),
    displayName: 'k',
    capabilities: ['monitoring.read'],
  };
  const answers = [
    await world.call('CreateKey', made, { person }),
    await world.call('ListAlertRules', { projectName: 'projects/demo' }),
    await world.call('ListAlertRules', { projectName: 'projects/demo' }, { key: null }),
    await world.send(QUERY, '{"bad', {}),
  ];
  t.same(
    answers.map(({ status, headers }) => [status, headers['cache-control']]),
    [200, 200, 401, 400].map((status) => [status, 'no-store']),
  );
});
