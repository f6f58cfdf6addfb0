/**
 * null in the JSON of a request. Every number, enum value and boolean of every method is tried;
 * fields are read from the descriptors, so a new one is covered without being named here.
 */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { test } from 'tap';
import { AuditService } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { AutomationService } from '../../src/gen/svc/iam/v1/automation_pb.ts';
import { IngestService } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MaintenanceService } from '../../src/gen/svc/monitoring/v1/maintenance_pb.ts';
import { MonitoringService } from '../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import { Policy_Access, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { ProjectService } from '../../src/gen/svc/project/v1/project_pb.ts';
import { type RpcWorld, startRpcWorld } from '../support/api-in-process.ts';
import { cpuSpec } from '../support/rule-spec.ts';

const services = [
  AuditService,
  AutomationService,
  AlertService,
  MaintenanceService,
  MonitoringService,
  ProjectService,
  IngestService,
];
const methods: readonly DescMethod[] = services.flatMap((service) => service.methods);

interface Place {
  /** Path as the refusal names it. */
  readonly path: string;
  readonly json: unknown;
}

/** Fields of a message in which null would become a number, an enum value or a boolean. */
function* placesOf(message: DescMessage): Generator<Place> {
  for (const field of message.fields) {
    const { jsonName: name } = field;
    for (const { path, json } of placesIn(field)) {
      yield { path: `${name}${path}`, json: { [name]: json } };
    }
    if (isNumber(field) && field.name !== name) yield { path: name, json: { [field.name]: null } };
  }
}

function* placesIn(field: DescField): Generator<Place> {
  if (field.fieldKind === 'message') {
    for (const { path, json } of placesOf(field.message)) yield { path: `.${path}`, json };
  } else if (field.fieldKind === 'list') {
    yield { path: '[0]', json: [null] };
    if (field.listKind !== 'message') return;
    for (const { path, json } of placesOf(field.message))
      yield { path: `[0].${path}`, json: [json] };
  } else if (field.fieldKind === 'map') {
    yield { path: '.a', json: { a: null } };
  } else if (isNumber(field)) yield { path: '', json: null };
}

function isNumber({ fieldKind, scalar }: DescField): boolean {
  if (fieldKind === 'enum') return true;
  const isText = scalar === ScalarType.STRING || scalar === ScalarType.BYTES;
  return fieldKind === 'scalar' && !isText;
}

/** A caller that the gate admits. */
async function callersOf(world: RpcWorld) {
  const person = await world.signedInAs('demo', 'OWNER');
  return (method: DescMethod) => {
    const { access } = getOption(method, policy);
    if (access === Policy_Access.HUMAN) return { person };
    if (access === Policy_Access.NONE) return { key: null };
    if (access === Policy_Access.COLLECTOR) return { key: world.keys.collector };
    return { key: access === Policy_Access.WRITE ? world.keys.write : world.keys.read };
  };
}

test('API-44: null is rejected where it would become a number, in every method', async (t) => {
  const world = await startRpcWorld(t);
  const caller = await callersOf(world);
  let tried = 0;
  for (const method of methods) {
    // Rows are rejected one by one: write-samples-rejections.test.ts.
    if (method.methodKind !== 'unary' || method.name === 'WriteSamples') continue;
    for (const { path, json } of placesOf(method.input)) {
      tried++;
      const answer = await world.call(method.name, json as object, caller(method));
      const what = `${method.name} ${path}`;
      t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field: path } }, what);
      t.match(answer.body.message, `${path} is null`, what);
    }
  }
  t.ok(tried > 100, `${tried} places`);
  t.same(world.lines, []);
});

test('API-44: null text and null messages are accepted as absent', async (t) => {
  const world = await startRpcWorld(t);
  const request = { projectName: 'projects/demo', pageToken: null };
  t.equal((await world.call('ListIncidents', request)).status, 200);
  const about = { projectName: 'projects/demo', spec: null, historySeconds: 60 };
  t.match(await world.call('PreviewAlertRule', about), {
    status: 400,
    metadata: { field: 'spec' },
  });
});

test('API-44: null in the request of a stream is rejected, too', async (t) => {
  const world = await startRpcWorld(t);
  const json = Buffer.from('{"projectName":"projects/demo","changesOnly":null}');
  const head = Buffer.alloc(5);
  head.writeUInt32BE(json.length, 1);
  const { statusCode, body } = await world.app.inject({
    method: 'POST',
    url: '/svc.monitoring.v1.AlertService/WatchIncidents',
    headers: {
      'content-type': 'application/connect+json',
      authorization: `Bearer ${world.keys.read}`,
    },
    payload: Buffer.concat([head, json]),
  });
  t.equal(statusCode, 200, 'a stream reports the error at its end');
  t.match(body, /changesOnly is null/);
});

const spec = cpuSpec();

test('API-11: methods that compute from a spec reject unknown fields', async (t) => {
  const world = await startRpcWorld(t);
  const about = { projectName: 'projects/demo', historySeconds: 600 };
  for (const name of ['PreviewAlertRule', 'ReplayAlertRule'] as const) {
    const cases: readonly (readonly [object, string])[] = [
      [{ ...about, spec: { ...spec, sustainedSecs: 300 } }, 'sustainedSecs'],
      [{ ...about, spec: { ...spec, severity: 'LOUD' } }, 'spec.severity'],
      [{ ...about, spec, historySecs: 1 }, 'historySecs'],
    ];
    for (const [request, field] of cases) {
      const answer = await world.call(name, request);
      t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } }, name);
    }
  }
});

test('API-11: a read is strict if its request has more than a name', async (t) => {
  const names = new Set(['name', 'projectName']);
  for (const method of methods) {
    const { mutation, strict } = getOption(method, policy);
    const selects = method.input.fields.some(({ jsonName }) => !names.has(jsonName));
    t.equal(strict, !mutation && selects, method.name);
  }
});

test('API-11: every strict read rejects a misspelt field by its name', async (t) => {
  const world = await startRpcWorld(t);
  for (const method of methods) {
    const { strict, access } = getOption(method, policy);
    if (!strict || access === Policy_Access.HUMAN || method.methodKind !== 'unary') continue;
    const answer = await world.call(method.name, { pageSise: 5 });
    t.match(answer, { status: 400, metadata: { field: 'pageSise' } }, method.name);
  }
});
