/**
 * Every secret that the program issues, receives or displays is used in one run at debug log level,
 * correctly and incorrectly. Then the test searches everything that the run has left: its log, each
 * file of its data folder byte by byte during and after the run, its errors, and the audit events.
 * The only exception is demo.json, which the program writes for its user on purpose.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t, { type Test, test } from 'tap';
import { startCiIssuer } from '../../support/ci-issuer.ts';
import { bodyOf, startMailServer } from '../../support/mail-server.ts';
import { causesAreNamed, eventsOfNoProject } from '../../support/named-causes.ts';
import { pageHostOf, requestAs } from '../../support/named-host.ts';
import { type OidcStandIn, startOidcStandIn } from '../../support/oidc-stand-in.ts';
import { dataFolder, type Program, runToEnd, startProgram, until } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { cpuSpec } from '../../support/rule-spec.ts';
import { filesBelow, formsOf, secretsIn } from '../../support/secret-search.ts';

const PROJECT = 'projects/demo';
const ALERT = 'monitoring.v1.AlertService/';
const IAM = 'iam.v1.AutomationService/';
const PEOPLE = 'project.v1.ProjectService/';
const CLIENT_SECRET = 'client-secret-of-the-provider-0123456789';
const SMTP_PASSWORD = 'password-of-the-mail-server-0123456789';
const INVITED = 'grace@example.test';

interface Answer {
  readonly status: number;
  // Answers are read by steps that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many methods
  readonly body: any;
  readonly headers: Headers;
}

/** Planted secrets by name, and the program's answers to misuse. */
class Planted {
  readonly secrets = new Map<string, string>();
  readonly refusals: string[] = [];

  add(name: string, secret: unknown): string {
    if (typeof secret !== 'string' || secret.length < 20) throw new Error(`${name} is ${secret}`);
    this.secrets.set(name, secret);
    return secret;
  }
}

/** Ways to call the running program. */
class Caller {
  readonly #program: Program;
  readonly #planted: Planted;
  /** Cookie and Origin of the signed-in owner. */
  person: Readonly<Record<string, string>> = {};

  constructor(program: Program, planted: Planted) {
    this.#program = program;
    this.#planted = planted;
  }

  async send(path: string, init: RequestInit): Promise<Answer> {
    const answer = await fetch(this.#program.demo.baseUrl + path, { redirect: 'manual', ...init });
    const text = await answer.text();
    if (answer.status >= 400) this.#planted.refusals.push(text);
    const isJson = text.startsWith('{');
    return {
      status: answer.status,
      body: isJson ? JSON.parse(text) : text,
      headers: answer.headers,
    };
  }

  /** Opens a page as a browser does, at the host of the pages. */
  async open(path: string, cookie?: string) {
    const { baseUrl } = this.#program.demo;
    const headers = { accept: 'text/html', ...(cookie !== undefined && { cookie }) };
    return requestAs(await pageHostOf(baseUrl), baseUrl + path, { method: 'GET', headers });
  }

  /** Requests a missing path. The answer repeats it, so the answer is not kept. */
  async askNowhere(path: string): Promise<void> {
    await (await fetch(`${this.#program.demo.baseUrl}/nowhere/${path}`)).text();
  }

  post(path: string, body: object | string, headers: object = {}): Promise<Answer> {
    return this.send(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** Calls as the owner; throws on a rejection. */
  async act(method: string, request: object): Promise<Answer['body']> {
    const isMutation = !/\/(Get|List)/.test(method);
    const body = { ...request, ...(isMutation && { requestId: randomUUID() }) };
    const answer = await this.post(`/svc.${method}`, body, this.person);
    if (answer.status !== 200) throw new Error(`${method}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Calls with a bearer token and ignores the outcome. */
  use(key: string, method = `${ALERT}ListAlertRules`, request: object = {}): Promise<Answer> {
    const body = { projectName: PROJECT, ...request };
    return this.post(`/svc.${method}`, body, { authorization: `Bearer ${key}` });
  }

  /** Signs in; returns the cookie's value. */
  async signIn(name: string, token: string): Promise<string> {
    const { status, body } = await this.post('/auth/link', { token }, this.#origin());
    if (status !== 200) throw new Error(`${name}: ${JSON.stringify(body)}`);
    const { secret, cookieName } = body.session;
    this.person = { cookie: `${cookieName}=${secret}`, ...this.#origin() };
    return this.#planted.add(name, secret);
  }

  #origin() {
    return { origin: this.#program.demo.baseUrl };
  }
}

test('no secret of a whole run is in its log, its files, its errors or its events', async (t) => {
  const planted = new Planted();
  const world = await startWorld(t, planted);
  const caller = new Caller(world.program, planted);
  await signInAsOwner(world, caller, planted);
  await useKeys(caller, planted);
  await useKeylessCi(world, caller, planted);
  await useAgent(caller, planted);
  await signInByProvider(world, caller, planted);
  await useWebhook(caller, planted);
  await misuse(caller, planted);

  const forms = new Map([...planted.secrets].map(([name, secret]) => [name, formsOf(secret)]));
  forms.set('master key, its bytes', formsOf(world.masterKey));
  t.ok(forms.size >= 25, `${forms.size} secrets`);
  const events = await caller.act('audit.v1.AuditService/ListTransitions', {
    projectName: PROJECT,
    pageSize: 1000,
  });
  t.ok(events.transitions.length > 20);
  const ofNoProject = await eventsOfNoProject(t, world.folder);
  const machines = new Set(ofNoProject.map(({ machine }) => machine));
  t.match([...machines].sort(), ['credential', 'person', 'session', 'signInLink']);
  const all = [...ofNoProject, ...events.transitions];
  t.same(secretsIn(Buffer.from(JSON.stringify(all)), forms), [], 'events');
  causesAreNamed(t, all);
  t.ok(planted.refusals.length > 15);
  t.same(secretsIn(Buffer.from(planted.refusals.join('\n')), forms), [], 'errors');
  searchFiles(t, world.folder, forms, 'while it runs');
  t.equal(await world.program.stop(), 0);
  searchFiles(t, world.folder, forms, 'the log level was the most verbose');
  const log = world.program.log();
  t.match(log, /"level":"?(debug|20)/, 'the log was at its most talkative');
  t.same(secretsIn(Buffer.from(log), forms), [], 'log');
});

function searchFiles(
  t: Test,
  folder: string,
  forms: ReadonlyMap<string, readonly Buffer[]>,
  when: string,
): void {
  const files = filesBelow(folder).filter(({ path }) => basename(path) !== 'demo.json');
  t.ok(files.some(({ path }) => path.endsWith('control.db')));
  for (const { path, bytes } of files) {
    t.same(secretsIn(bytes, forms), [], `${basename(path)} ${when}`);
    t.notMatch(bytes.toString('latin1'), /"d":"[\w-]{43}"/, `${basename(path)}: no private key`);
  }
}

type World = Awaited<ReturnType<typeof startWorld>>;

async function startWorld(t: Test, planted: Planted) {
  const folder = dataFolder(t);
  const aside = dataFolder(t);
  const masterKey = randomBytes(32);
  const file = (name: string, content: string): string => {
    writeFileSync(join(aside, name), content, { mode: 0o600 });
    return join(aside, name);
  };
  const platform = await startCiIssuer();
  t.teardown(() => platform.close());
  const mail = await startMailServer(t, { password: planted.add('SMTP password', SMTP_PASSWORD) });
  const client = { id: 'svc', secret: planted.add('client secret', CLIENT_SECRET), email: INVITED };
  const provider = await startOidcStandIn(t, client);
  planted.add('master key', masterKey.toString('base64'));
  planted.add('authorization code', provider.code);
  const mailUrl = new URL(mail.url);
  const program = await startProgram(t, folder, {
    SVC_LOG_LEVEL: 'debug',
    SVC_COLLECT: 'none',
    SVC_CI_ISSUERS: platform.setting,
    SVC_MASTER_KEY_FILE: file('master.key', `${masterKey.toString('base64')}\n`),
    SVC_OIDC_ISSUER: provider.issuer,
    SVC_OIDC_CLIENT_ID: client.id,
    SVC_OIDC_CLIENT_SECRET_FILE: file('client.secret', `${client.secret}\n`),
    SVC_SMTP_URL: `${mailUrl.protocol}//mailer:${SMTP_PASSWORD}@${mailUrl.host}`,
    SVC_SMTP_FROM: 'svc@example.test',
    SVC_GROUP_WAIT_SECONDS: '0',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  return { folder, masterKey, platform, mail, provider, program };
}

const tokenIn = (text: string, kind: string): string =>
  new RegExp(`svc_${kind}_\\w+_\\w{49}`).exec(text)?.[0] ?? '';

/** The demo's secrets, links of every kind, and sessions. */
async function signInAsOwner(world: World, caller: Caller, planted: Planted): Promise<void> {
  const { program, folder, mail } = world;
  const { apiKey, collectorKey, signInUrl } = program.demo as typeof program.demo & {
    readonly signInUrl: string;
  };
  planted.add('demo API key', apiKey);
  planted.add('demo collector key', collectorKey);
  await caller.signIn('first session', planted.add('first link', tokenIn(signInUrl, 'link')));
  const self = await caller.act(`${PEOPLE}GetSelf`, {});
  const invited = await caller.act(`${PEOPLE}InviteMember`, {
    projectName: PROJECT,
    email: INVITED,
    role: 'VIEWER',
  });
  planted.add('invitation link', tokenIn(invited.link, 'inv'));
  const mailed = await until('the invitation is mailed', () => mail.mails[0]);
  t.match(bodyOf(mailed).replaceAll('=\n', ''), tokenIn(invited.link, 'inv'), 'the mail has it');
  const person = String(self.name).replace('people/', '');
  const admin = await runToEnd(['admin', 'login-link', person, '--data', folder]);
  const link = planted.add('operator’s link', tokenIn(admin.stdout, 'link'));
  await caller.signIn('second session', link);
  const create = ['admin', 'collector-key', 'create', '--datacenter', 'DC-1', '--json'];
  const made = JSON.parse((await runToEnd([...create, '--data', folder])).stdout);
  const collector = planted.add('collector key of all projects', made.key);
  await caller.use(collector, 'ingest.v1.IngestService/WriteSamples', { rows: [] });
  // A used link, and one that was never issued.
  await caller.post('/auth/link', { token: link });
  await caller.post('/auth/link', { token: `${link.slice(0, -1)}!` });
}

async function useKeys(caller: Caller, planted: Planted): Promise<void> {
  const account = await caller.act(`${IAM}CreateServiceAccount`, {
    projectName: PROJECT,
    displayName: 'Robot',
    capabilities: ['monitoring.read'],
  });
  const create = { displayName: 'k', capabilities: ['monitoring.read'] };
  const made = await caller.act(`${IAM}CreateKey`, { parent: account.name, ...create });
  const key = planted.add('service-account key', made.secret);
  t.equal((await caller.use(key)).status, 200);
  const rotated = await caller.act(`${IAM}RotateKey`, { name: made.key.name, overlapSeconds: 60 });
  planted.add('successor', rotated.secret);
  await caller.use(rotated.secret);
  const [project] = (await caller.act(`${PEOPLE}ListProjects`, {})).projects;
  const own = await caller.act(`${IAM}CreateKey`, { parent: project.memberName, ...create });
  planted.add('personal key', own.secret);
  t.equal((await caller.use(own.secret)).status, 200);
  await caller.act(`${IAM}RevokeKey`, { name: own.key.name, reason: 'Lost' });
  t.equal((await caller.use(own.secret)).status, 401, 'used after its revocation');
}

async function useKeylessCi({ platform }: World, caller: Caller, planted: Planted): Promise<void> {
  const account = await caller.act(`${IAM}CreateServiceAccount`, {
    projectName: PROJECT,
    displayName: 'CI',
    capabilities: ['monitoring.read'],
  });
  const started = await caller.act(`${IAM}StartCiVerification`, {
    serviceAccountName: account.name,
    displayName: 'Deploy',
    capabilities: ['monitoring.read'],
  });
  const { setupId, audience } = started;
  const pairingCode = planted.add('pairing code', started.pairingCode);
  const submit = (assertion: string, code = pairingCode) =>
    caller.post(`/svc.${IAM}SubmitCiVerification`, { setupId, pairingCode: code, assertion });
  // Each try needs a token of its own, since a presented token is used up.
  const mintProof = async () =>
    planted.add('assertion of a proof', await platform.mint({ aud: audience }));
  const wrong = `${pairingCode.slice(0, -1)}${pairingCode.endsWith('0') ? '1' : '0'}`;
  t.equal((await submit(await mintProof(), wrong)).status, 401);
  t.equal((await submit(await mintProof())).status, 200);
  const name = started.verification.name;
  const { claimsDigest } = await caller.act(`${IAM}GetCiVerification`, { name });
  const trust = await caller.act(`${IAM}ApproveCiVerification`, {
    name,
    claimsDigest,
    displayName: 'Deploy',
    capabilities: ['monitoring.read'],
  });
  const exchange = (assertion: string) =>
    caller.post(`/svc.${IAM}ExchangeCiToken`, { trustName: trust.name, assertion });
  const assertion = planted.add('assertion', await platform.mint({ aud: audience }));
  const { status, body } = await exchange(assertion);
  t.equal(status, 200);
  const token = planted.add('access token', body.accessToken);
  t.equal((await caller.use(token)).status, 200);
  t.equal((await exchange(assertion)).status, 401, 'shown twice');
  const foreign = { aud: audience, ref: 'refs/heads/other' };
  const other = planted.add('assertion of another branch', await platform.mint(foreign));
  t.equal((await exchange(other)).status, 403);
  await exchange(`${assertion.slice(0, -8)}AAAAAAAA`);
  await caller.act(`${IAM}DisableCiConnection`, { name: trust.name, reason: 'x' });
  t.equal((await caller.use(token)).status, 403);
}

async function useAgent(caller: Caller, planted: Planted): Promise<void> {
  const vmName = `${PROJECT}/vms/vm-9`;
  const offered = await caller.act(`${PEOPLE}EnrolVm`, { vmName, datacenter: 'DC-1' });
  const enrolmentToken = planted.add('enrolment token', offered.enrolmentToken);
  const enrol = () => caller.post(`/svc.${IAM}EnrolAgent`, { enrolmentToken, system: 'Debian 13' });
  const { body } = await enrol();
  const key = planted.add('agent’s key', body.key);
  const values = [{ series: 'svc_vm_load1', value: 0.5 }];
  const rows = [{ vmName, observedUnixMs: String(Date.now()), values }];
  t.equal((await caller.use(key, 'ingest.v1.IngestService/WriteSamples', { rows })).status, 200);
  t.not((await enrol()).status, 200, 'shown twice');
}

/** A whole sign-in at the provider, whose code and tokens pass through the service. */
async function signInByProvider(
  { provider }: { readonly provider: OidcStandIn },
  caller: Caller,
  planted: Planted,
): Promise<void> {
  const begun = await caller.open('/auth/login');
  const target = new URL(begun.headers.get('location') ?? '');
  provider.nonce = target.searchParams.get('nonce') ?? '';
  planted.add('state of the login', target.searchParams.get('state'));
  const [cookie = ''] = begun.headers.getSetCookie().map((one) => one.split(';', 1)[0]);
  planted.add('cookie of the login', cookie.slice(cookie.indexOf('=') + 1));
  const query = new URLSearchParams({
    code: provider.code,
    state: target.searchParams.get('state') ?? '',
  });
  const back = await caller.open(`/auth/callback?${query}`, cookie);
  t.equal(back.status, 303, back.text);
  const session = back.headers.getSetCookie().find((one) => one.startsWith('svc_session=')) ?? '';
  planted.add('session by the provider', tokenIn(session, 'session'));
  for (const [i, token] of provider.tokens.entries()) planted.add(`provider’s token ${i}`, token);
  t.ok(provider.hasSeenSecret(), 'the client secret was used');
}

/** A webhook that also has a secret in its address, signed with its own secret and delivered. */
async function useWebhook(caller: Caller, planted: Planted): Promise<void> {
  const receiver = await startReceiver(t);
  const inUrl = planted.add('secret in the webhook’s address', randomBytes(24).toString('hex'));
  const created = await caller.act(`${ALERT}CreateDestination`, {
    projectName: PROJECT,
    destination: { displayName: 'Hook', webhook: { url: `${receiver.url}/${inUrl}` } },
  });
  const secret = planted.add('webhook secret', created.webhookSecret);
  planted.add('webhook secret, its bytes', secret.replace('whsec_', ''));
  const collector = planted.secrets.get('demo collector key') ?? '';
  const write = (value: number, atMs: number) => {
    const values = [{ series: 'svc_vm_cpu_utilization_pct', value }];
    const rows = [{ vmName: 'vm-8', observedUnixMs: String(atMs), values }];
    return caller.use(collector, 'ingest.v1.IngestService/WriteSamples', { rows });
  };
  const nowMs = Date.now();
  await write(1, nowMs - 30_000);
  await caller.act(`${ALERT}SaveAlertRule`, {
    projectName: PROJECT,
    id: randomUUID(),
    expectedVersion: '0',
    spec: cpuSpec({ threshold: 50, destinationNames: [created.destination.name] }),
  });
  await write(99, nowMs);
  const message = await until('the webhook is called', () => receiver.received[0]);
  receiver.verify(message, secret);
}

/** Secrets in wrong places: a rejected value must not be repeated anywhere. */
async function misuse(caller: Caller, planted: Planted): Promise<void> {
  const path = `/svc.${ALERT}ListAlertRules`;
  for (const [name, secret] of planted.secrets) {
    if (!/key|token|session|link|assertion|code|successor/.test(name)) continue;
    const encoded = encodeURIComponent(secret);
    const base = '/v1/monitoring/projects/demo/promql/api/v1/query';
    await caller.send(`${base}?query=1&access_token=${encoded}`, {});
    await caller.send(`/nowhere?key=${encoded}`, {});
    await caller.askNowhere(encoded);
    await caller.post(path, `{"projectName": "projects/demo", "${secret}`, {
      authorization: `Bearer ${secret}`,
    });
    await caller.post(path, { projectName: PROJECT }, { authorization: `Basic ${secret}` });
    const bearer = `Bearer ${secret}, Bearer ${secret}`;
    await caller.post(path, { projectName: PROJECT }, { authorization: bearer });
    await caller.post(path, { projectName: PROJECT }, { cookie: `svc_session=${encoded}` });
    await caller.use(`${secret}x`);
  }
}
