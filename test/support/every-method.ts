/**
 * Calls of every method by every kind of caller: all services of the generated code, a request for
 * each method that reaches its project and changes nothing there, the callers, and the outcome of a
 * call as one word.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { Test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { addOperations } from '../../src/platform/http/operations.ts';
import { createReaderCheck, createReadGate } from '../../src/platform/http/read-gate.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { addExportRoutes } from '../../src/telemetry/export/export-routes.ts';
import { Exporter } from '../../src/telemetry/export/exporter.ts';
import { addPromqlRoutes } from '../../src/telemetry/prometheus-api/routes.ts';
import { encodeData } from '../../src/telemetry/query/promql/promql-json.ts';
import { type Answer, cookieHeaders, startRpcWorld, type WorldParts } from './api-in-process.ts';
import { openStream } from './connect-stream.ts';

export type Headers = Readonly<Record<string, string>>;

/** Outcome of a call. `yes`: the call was authorised, even if its fields are then rejected. */
export type Outcome =
  | 'yes'
  | 'sign-in'
  | 'unknown'
  | 'expired'
  | 'revoked'
  | 'epoch'
  | 'boundary'
  | 'capability'
  | 'role'
  | 'disabled'
  | 'removed'
  | 'human';

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  MISSING_CREDENTIAL: 'sign-in',
  MALFORMED_CREDENTIAL: 'unknown',
  CREDENTIAL_EXPIRED: 'expired',
  CREDENTIAL_REVOKED: 'revoked',
  TOKEN_EPOCH: 'epoch',
  PROJECT_BOUNDARY: 'boundary',
  MISSING_CAPABILITY: 'capability',
  IDENTITY_DISABLED: 'disabled',
  GRANT_REMOVED: 'removed',
  HUMAN_OPERATION: 'human',
};

/** Every service in `src/gen`, including those without a row here. */
export async function allMethods(): Promise<readonly DescMethod[]> {
  const folder = join(import.meta.dirname, '../../src/gen');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const methods: DescMethod[] = [];
  for (const file of files.filter((name) => name.endsWith('_pb.ts')).sort()) {
    const exported: Readonly<Record<string, unknown>> = await import(join(folder, file));
    for (const value of Object.values(exported)) {
      if (isService(value)) methods.push(...value.methods);
    }
  }
  return methods;
}

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}

const UUID = '00000000-0000-4000-8000-000000000001';

/** Names that a method's request needs in place of `projectName`, below the project. */
const NAMES: Readonly<Record<string, readonly [field: string, below: string]>> = {
  QueryVMMonitoring: ['name', '/vms/vm-1'],
  GetVMMonitoring: ['name', '/vms/vm-1'],
  GetAlertRule: ['name', `/alertRules/${UUID}`],
  DeleteAlertRule: ['name', `/alertRules/${UUID}`],
  GetIncident: ['name', '/incidents/none'],
  ExplainIncident: ['name', '/incidents/none'],
  GetAlertInstance: ['name', '/alertInstances/none'],
  ExplainAlertInstance: ['name', '/alertInstances/none'],
  AcknowledgeIncident: ['name', '/incidents/none'],
  SnoozeIncident: ['name', '/incidents/none'],
  UnsnoozeIncident: ['name', '/incidents/none'],
  GetDestination: ['name', '/destinations/none'],
  DeleteDestination: ['name', '/destinations/none'],
  UpdateDestination: ['name', '/destinations/none'],
  VerifyDestination: ['name', '/destinations/none'],
  SendTestNotification: ['name', '/destinations/none'],
  PauseDestination: ['name', '/destinations/none'],
  ResumeDestination: ['name', '/destinations/none'],
  RotateWebhookSecret: ['name', '/destinations/none'],
  GetDelivery: ['name', '/deliveries/none'],
  EndMaintenanceWindow: ['name', '/maintenanceWindows/none'],
  GetServiceAccount: ['name', '/serviceAccounts/none'],
  UpdateServiceAccount: ['name', '/serviceAccounts/none'],
  DisableServiceAccount: ['name', '/serviceAccounts/none'],
  EnableServiceAccount: ['name', '/serviceAccounts/none'],
  DeleteServiceAccount: ['name', '/serviceAccounts/none'],
  StartCiVerification: ['serviceAccountName', '/serviceAccounts/none'],
  GetCiVerification: ['name', '/ciVerifications/none'],
  ApproveCiVerification: ['name', '/ciVerifications/none'],
  RejectCiVerification: ['name', '/ciVerifications/none'],
  GetCiConnection: ['name', '/ciConnections/none'],
  UpdateCiConnection: ['name', '/ciConnections/none'],
  DisableCiConnection: ['name', '/ciConnections/none'],
  EnableCiConnection: ['name', '/ciConnections/none'],
  DeleteCiConnection: ['name', '/ciConnections/none'],
  GetProject: ['name', ''],
  UpdateProject: ['name', ''],
  RevokeInvitation: ['name', '/invitations/none'],
  SetMemberRole: ['name', '/members/none'],
  EnrolVm: ['vmName', '/vms/vm-1'],
  UnenrolVm: ['vmName', '/vms/vm-1'],
};

/** Methods whose object may belong to one member. */
const OWNED: Readonly<Record<string, readonly [field: string, below: string]>> = {
  CreateKey: ['parent', ''],
  ListKeys: ['parent', ''],
  RotateKey: ['name', '/keys/none'],
  RevokeKey: ['name', '/keys/none'],
  GetKey: ['name', '/keys/none'],
  RemoveMember: ['name', ''],
};

/**
 * Methods whose request names no project: the holder of the object, or any signed-in user, may call
 * them.
 */
const PROJECTLESS: ReadonlySet<string> = new Set([
  'ExchangeCiToken',
  'SubmitCiVerification',
  'EnrolAgent',
  'GetSelf',
  'SignOutEverywhere',
  'ListProjects',
  'CreateProject',
  'ListSessions',
  'EndSession',
  'GetServiceInfo',
]);

/** @param owner of the request's object, below the project: `/members/m` */
function requestOf(method: string, project: string, owner: string): object {
  if (PROJECTLESS.has(method)) return {};
  const owned = OWNED[method];
  if (owned) return { [owned[0]]: `projects/${project}${owner}${owned[1]}` };
  const [field, below] = NAMES[method] ?? ['projectName', ''];
  return { [field]: `projects/${project}${below}` };
}

export type AuthorisationWorld = Awaited<ReturnType<typeof startAuthorisationWorld>>;

/** Starts a listening world with every route, which ends with the test. */
export async function startAuthorisationWorld(t: Test) {
  const world = await startRpcWorld(t, undefined, (app, parts) => addPlainRoutes(t, app, parts));
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  let calls = 0;
  /** @param owner as in `requestOf` */
  async function call(
    method: DescMethod,
    headers: Headers,
    { project = 'demo', owner = '/serviceAccounts/none' } = {},
  ): Promise<Outcome> {
    const path = `/${method.parent.typeName}/${method.name}`;
    const request = requestOf(method.name, project, owner);
    if (method.methodKind !== 'unary') {
      const stream = await openStream(url, path, request, headers);
      const end = await Promise.race([stream.received(1), stream.ended]);
      stream.close();
      return outcomeOf(end ? end.reason : undefined, {});
    }
    // Refused credentials are limited per address.
    const address = `10.0.${calls++ >> 7}.1`;
    const options = { key: null, headers, address };
    const answer = await world.send(path, JSON.stringify(request), options);
    if (answer.status === 429) throw new Error(`${method.name}: ${answer.body.message}`);
    if (answer.status >= 500) throw new Error(`${method.name}: ${JSON.stringify(answer.body)}`);
    return outcomeOf(answer.reason, answer.metadata);
  }
  /** Status of a plain route. */
  async function get(path: string, headers: Headers): Promise<number> {
    return (await world.app.inject({ method: 'GET', url: path, headers })).statusCode;
  }
  return { ...world, callAs: call, get, url };
}

function outcomeOf(reason: string | undefined, metadata: Answer['metadata']): Outcome {
  const outcome = OUTCOMES[reason ?? ''] ?? 'yes';
  return outcome === 'capability' && 'role' in metadata ? 'role' : outcome;
}

/** Adds the plain routes over stub parts: only authorisation is tested. */
function addPlainRoutes(
  t: Test,
  app: Parameters<typeof addExportRoutes>[0],
  parts: WorldParts,
): void {
  const { clock } = parts;
  const exporter = new Exporter(parts);
  t.teardown(() => exporter.close());
  addExportRoutes(app, { ...parts, exporter, origin: () => 'http://127.0.0.1' });
  const answer = { status: 200, body: encodeData([]), encoding: 'identity' } as const;
  const health = { report: () => ({ ready: true, serving: true, parts: [] }) };
  void addPromqlRoutes(app, {
    ...parts,
    health,
    queries: { lookbackMs: () => 300_000, run: async () => answer },
  });
  const metrics = createMetrics({ clock, version: 'test' });
  t.teardown(() => metrics.close());
  const unused = {
    look: health.report,
    watch: () => () => {},
    stopping: () => {},
    close: () => {},
  };
  addOperations(app, {
    metrics,
    health: { ...health, ...unused },
    isReader: createReaderCheck(parts),
    readGate: createReadGate(parts),
    hasMetrics: true,
  });
}

export const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });

const BOTH = ['monitoring.read', 'monitoring.write'] as const;

/** Ids behind the callers of `everyCaller`, for events that concern them. */
export type Callers = Awaited<ReturnType<typeof everyCaller>>;

/**
 * One caller of each kind in `demo`. Every credential may read and write unless its name says
 * otherwise.
 */
export async function everyCaller(world: AuthorisationWorld) {
  const editor = await world.signedInAs('demo', 'EDITOR');
  const self = await world.signedInAs('demo', 'VIEWER');
  const account = await world.account('demo', BOTH);
  const headers = {
    nobody: {},
    personal: bearer((await world.personalKey('demo', editor.person, BOTH)).key),
    reader: bearer((await world.accountKey('demo', ['monitoring.read'])).key),
    writer: bearer((await world.accountKey('demo', BOTH)).key),
    ci: bearer(await tokenOf(world, await world.connection('demo', account, BOTH))),
    collector: bearer((await world.collector('demo')).key),
    agent: bearer((await world.agent('demo', 'vm-1')).key),
    VIEWER: cookieHeaders(await world.signedInAs('demo', 'VIEWER')),
    EDITOR: cookieHeaders(editor),
    OWNER: cookieHeaders(await world.signedInAs('demo', 'OWNER')),
    stranger: cookieHeaders(await world.signedInAs('other', 'OWNER')),
    self: cookieHeaders(self),
  } satisfies Readonly<Record<string, Headers>>;
  return { headers, self: `/members/${memberIdOf('demo', self.person)}` };
}

/** An access token of a connection in its current state. */
export function tokenOf(
  world: Pick<AuthorisationWorld, 'row' | 'tokens' | 'clock'>,
  connection: string,
  { lifetimeMs = 15 * 60_000 } = {},
): Promise<string> {
  const row = world.row('ciConnection', connection);
  return world.tokens.sign({
    token: `jti-${connection}`,
    project: 'demo',
    connection,
    tokenEpoch: Number(row?.context.tokenEpoch),
    expiresMs: world.clock.now() + lifetimeMs,
  });
}
