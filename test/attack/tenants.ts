/**
 * Tenants of the program under attack. Each is a project with people, keys of every kind, VMs,
 * rules, a firing incident, destinations, deliveries, a CI connection, an enrolled VM and an
 * invitation, all made over the public API and the operator's commands. Every name and text of a
 * tenant contains its canary, a word that no other tenant may ever read.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { until } from '../support/program.ts';
import type { Target } from './target.ts';
import type { Header, WireAnswer } from './wire.ts';

/** Kinds of credential of a tenant. */
export const CREDENTIAL_KINDS = [
  'owner',
  'viewer',
  'personalKey',
  'readKey',
  'writeKey',
  'collectorKey',
  'vmKey',
  'ciToken',
] as const;
export type CredentialKind =
  | 'owner'
  | 'viewer'
  | 'personalKey'
  | 'readKey'
  | 'writeKey'
  | 'collectorKey'
  | 'vmKey'
  | 'ciToken';

/** Common prefix of canaries, to find all of them with one search. */
export const CANARY_PREFIX = 'kanary';

/** Names of a tenant's things, by the noun that method names use. */
export type Names = Readonly<Record<Noun, string>>;
export type Noun =
  | 'Project'
  | 'Member'
  | 'Invitation'
  | 'Vm'
  | 'AlertRule'
  | 'Incident'
  | 'Destination'
  | 'Delivery'
  | 'MaintenanceWindow'
  | 'ServiceAccount'
  | 'Key'
  | 'CiVerification'
  | 'CiConnection';

export interface Tenant {
  readonly id: string;
  /** `projects/<id>` */
  readonly project: string;
  readonly canary: string;
  readonly names: Names;
  /** Headers that carry each credential. */
  readonly credentials: Readonly<Record<CredentialKind, readonly Header[]>>;
  /** Their secrets, and other secrets that were returned once. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Texts that no other tenant may read: canary, full names, ids. */
  readonly texts: readonly string[];
  readonly ci: { readonly audience: string; readonly claims: Readonly<Record<string, unknown>> };
}

/** JSON of many methods. */
// biome-ignore lint/suspicious/noExplicitAny: read by steps that know its shape
type Json = any;

/** Calls of a setup; each must be accepted. */
export class Api {
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  /** Calls `method`, given without `svc.`, and returns the JSON. Throws on a rejection. */
  async call(method: string, body: object, credential: readonly Header[]): Promise<Json> {
    const answer = await this.post(`/svc.${method}`, body, credential);
    if (answer.status !== 200) throw new Error(`${method}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text);
  }

  /** Like `call`, with a request id of its own. */
  change(method: string, body: object, credential: readonly Header[]): Promise<Json> {
    return this.call(method, { requestId: randomUUID(), ...body }, credential);
  }

  post(path: string, body: object, headers: readonly Header[]): Promise<WireAnswer> {
    const { wire, origin } = this.#target;
    return wire.send({
      method: 'POST',
      path,
      body: JSON.stringify(body),
      headers: [['host', new URL(origin).host], ['content-type', 'application/json'], ...headers],
    });
  }

  /** Session headers of the user whom the link signs in. */
  async signIn(
    link: string,
  ): Promise<{ readonly headers: readonly Header[]; readonly secret: string }> {
    const { origin } = this.#target;
    const token = /svc_(?:link|inv)_\w+/.exec(link)?.[0] ?? '';
    const answer = await this.post('/auth/link', { token }, [
      ['origin', origin],
      ['accept', 'application/json'],
    ]);
    if (answer.status !== 200) throw new Error(`/auth/link: ${answer.status} ${answer.text}`);
    const { secret, cookieName } = JSON.parse(answer.text).session;
    return {
      headers: [
        ['cookie', `${cookieName}=${secret}`],
        ['origin', origin],
      ],
      secret,
    };
  }
}

const IAM = 'iam.v1.AutomationService/';
const ALERT = 'monitoring.v1.AlertService/';
const PROJECT = 'project.v1.ProjectService/';

const bearer = (secret: string): readonly Header[] => [['authorization', `Bearer ${secret}`]];

/** Makes the project `id` with everything in it. */
export async function createTenant(target: Target, id: string): Promise<Tenant> {
  const api = new Api(target);
  const canary = `${CANARY_PREFIX}${id}${randomBytes(4).toString('hex')}`;
  const project = `projects/${id}`;
  const people = await createPeople(target, api, { id, project, canary });
  const { owner } = people;
  const keys = await createKeys(target, api, { id, project, canary, people });
  const alerting = await createAlerting(target, api, { project, canary, keys });
  const window = await planWindow(api, { project, canary }, owner.headers);
  const ci = await createCi(target, api, {
    project,
    canary,
    owner: owner.headers,
    account: keys.account,
  });
  const secrets = {
    ownerSession: owner.secret,
    viewerSession: people.viewer.secret,
    personalKey: keys.personal,
    readKey: keys.read,
    writeKey: keys.write,
    collectorKey: keys.collector,
    vmKey: keys.vm,
    ciToken: ci.token,
    webhookSecret: alerting.webhookSecret,
    pairingCode: ci.pairingCode,
  };
  const names: Names = {
    Project: project,
    Member: people.member,
    Invitation: people.invitation,
    Vm: keys.vmName,
    ServiceAccount: keys.account,
    Key: keys.keyName,
    AlertRule: alerting.rule,
    Incident: alerting.incident,
    Delivery: alerting.delivery,
    Destination: alerting.destination,
    MaintenanceWindow: window,
    CiVerification: ci.verification,
    CiConnection: ci.connection,
  };
  const ids = Object.values(names).flatMap((name) => [name, name.split('/').at(-1) ?? name]);
  return {
    id,
    project,
    canary,
    names,
    secrets,
    credentials: {
      owner: owner.headers,
      viewer: people.viewer.headers,
      personalKey: bearer(keys.personal),
      readKey: bearer(keys.read),
      writeKey: bearer(keys.write),
      collectorKey: bearer(keys.collector),
      vmKey: bearer(keys.vm),
      ciToken: bearer(ci.token),
    },
    // The project's id is a common word in requests; the full names below it are not.
    texts: [
      canary,
      ...new Set(ids.filter((text) => text !== id && text !== project)),
      ...Object.values(secrets),
    ],
    ci: { audience: ci.audience, claims: ci.claims },
  };
}

interface Base {
  readonly project: string;
  readonly canary: string;
}

async function createPeople(
  target: Target,
  api: Api,
  { id, project, canary }: Base & { id: string },
) {
  const email = `${canary}-owner@example.test`;
  await target.admin('project', 'create', id, '--owner', email, '--name', `${canary} Ltd`);
  const made = await target.admin('login-link', email);
  const owner = await api.signIn(String(made.link));
  const invite = (whom: string, role: string) =>
    api.change(
      `${PROJECT}InviteMember`,
      { projectName: project, email: `${canary}-${whom}@example.test`, role },
      owner.headers,
    );
  const viewer = await api.signIn((await invite('viewer', 'VIEWER')).link);
  const waiting = await invite('invited', 'EDITOR');
  const [own] = (await api.call(`${PROJECT}ListProjects`, {}, owner.headers)).projects;
  const invitation = waiting.invitation.name as string;
  return { owner, viewer, invitation, member: own.memberName as string };
}

async function createKeys(
  target: Target,
  api: Api,
  {
    id,
    project,
    canary,
    people,
  }: Base & { id: string; people: Awaited<ReturnType<typeof createPeople>> },
) {
  const { headers } = people.owner;
  const account = await api.change(
    `${IAM}CreateServiceAccount`,
    {
      projectName: project,
      displayName: `${canary} robot`,
      capabilities: ['monitoring.read', 'monitoring.write'],
    },
    headers,
  );
  const create = async (parent: string, capabilities: readonly string[]) =>
    api.change(`${IAM}CreateKey`, { parent, capabilities, displayName: `${canary} key` }, headers);
  const read = await create(account.name, ['monitoring.read']);
  const write = await create(account.name, ['monitoring.read', 'monitoring.write']);
  const personal = await create(people.member, ['monitoring.read', 'monitoring.write']);
  const collector = await target.admin(
    'collector-key',
    'create',
    '--datacenter',
    'DC-1',
    '--project',
    id,
  );
  const vmName = `${project}/vms/${canary}-db`;
  const enrolled = await api.change(`${PROJECT}EnrolVm`, { vmName, datacenter: 'DC-1' }, headers);
  const agent = await api.call(
    `${IAM}EnrolAgent`,
    { requestId: undefined, enrolmentToken: enrolled.enrolmentToken, system: 'Debian 13' },
    [],
  );
  return {
    account: account.name as string,
    keyName: read.key.name as string,
    vmName,
    read: read.secret as string,
    write: write.secret as string,
    personal: personal.secret as string,
    collector: String(collector.key),
    vm: agent.key as string,
  };
}

/** A maintenance window in the next month, so that nothing is silenced now. */
async function planWindow(
  api: Api,
  { project, canary }: Base,
  owner: readonly Header[],
): Promise<string> {
  const fromUnix = Math.floor(Date.now() / 1000) + 30 * 86_400;
  const { name } = await api.change(
    'monitoring.v1.MaintenanceService/CreateMaintenanceWindow',
    {
      projectName: project,
      note: `${canary} disks`,
      fromUnix: String(fromUnix),
      untilUnix: String(fromUnix + 3_600),
    },
    owner,
  );
  return name;
}

async function createAlerting(
  target: Target,
  api: Api,
  { project, canary, keys }: Base & { keys: Awaited<ReturnType<typeof createKeys>> },
) {
  const [write, read] = [bearer(keys.write), bearer(keys.read)];
  const nowMs = Date.now();
  const ingest = (body: object) =>
    api.call('ingest.v1.IngestService/WriteSamples', body, bearer(keys.collector));
  await ingest(rowsOf({ project, canary, vmName: keys.vmName }, 1, nowMs - 30_000));
  const created = await api.change(
    `${ALERT}CreateDestination`,
    {
      projectName: project,
      destination: {
        displayName: `${canary} hook`,
        webhook: { url: `${target.receiverUrl}/${canary}` },
      },
    },
    write,
  );
  const destination = created.destination.name as string;
  const saved = await api.change(
    `${ALERT}SaveAlertRule`,
    {
      projectName: project,
      id: randomUUID(),
      expectedVersion: '0',
      spec: {
        displayName: `${canary} CPU`,
        metricId: 'cpu_utilization_pct',
        operator: 'GREATER_THAN',
        threshold: 50,
        severity: 'WARNING',
        allVms: true,
        labels: { team: `${canary}-team` },
        destinationNames: [destination],
      },
    },
    write,
  );
  await ingest(rowsOf({ project, canary, vmName: keys.vmName }, 99, nowMs));
  const incident = await until(`an incident of ${project}`, async () => {
    const { incidents } = await api.call(`${ALERT}ListIncidents`, { projectName: project }, read);
    return incidents[0]?.name as string | undefined;
  });
  const delivery = await until(`a delivery of ${project}`, async () => {
    const { deliveries } = await api.call(`${ALERT}ListDeliveries`, { projectName: project }, read);
    return deliveries[0]?.name as string | undefined;
  });
  return {
    destination,
    incident,
    delivery,
    rule: saved.name as string,
    webhookSecret: created.webhookSecret as string,
  };
}

/** One reading of a VM, with a series and a label of the tenant's own. */
function rowsOf(
  { project, canary, vmName }: Base & { vmName: string },
  value: number,
  atMs: number,
) {
  const row = {
    vmName,
    observedUnixMs: String(atMs),
    bootId: `${canary}-boot`,
    vcpus: 2,
    state: 'RUNNING',
    displayName: `${canary} database`,
    values: [
      { series: 'svc_vm_cpu_utilization_pct', value },
      { series: `${canary}_metric`, labels: { [`${canary}_label`]: `${canary}-value` }, value: 42 },
    ],
  };
  return { projectName: project, rows: [row] };
}

async function createCi(
  target: Target,
  api: Api,
  { canary, owner, account }: Base & { owner: readonly Header[]; account: string },
) {
  const capabilities = ['monitoring.read'];
  const started = await api.change(
    `${IAM}StartCiVerification`,
    { serviceAccountName: account, displayName: `${canary} deploy`, capabilities },
    owner,
  );
  const { setupId, audience, pairingCode } = started;
  const claims = {
    repository: `octo-org/${canary}`,
    sub: `repo:octo-org/${canary}:ref:refs/heads/main`,
    ...workflowOf(canary),
  };
  const proof = await target.platform.mint({ aud: audience, ...claims });
  await api.call(`${IAM}SubmitCiVerification`, { setupId, pairingCode, assertion: proof }, []);
  const verification = started.verification.name as string;
  const { claimsDigest } = await api.call(`${IAM}GetCiVerification`, { name: verification }, owner);
  const connection = await api.change(
    `${IAM}ApproveCiVerification`,
    { name: verification, claimsDigest, displayName: `${canary} deploy`, capabilities },
    owner,
  );
  const assertion = await target.platform.mint({ aud: audience, ...claims });
  const exchanged = await api.call(
    `${IAM}ExchangeCiToken`,
    { trustName: connection.name, assertion },
    [],
  );
  return {
    verification,
    audience,
    claims,
    pairingCode,
    token: exchanged.accessToken as string,
    connection: connection.name as string,
  };
}

function workflowOf(canary: string): Readonly<Record<string, string>> {
  const workflow = `octo-org/${canary}/.github/workflows/deploy.yml@refs/heads/main`;
  return { workflow_ref: workflow, job_workflow_ref: workflow };
}
