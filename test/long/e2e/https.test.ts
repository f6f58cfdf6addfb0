/**
 * The configurations of docs/operations/https.md, extracted from the page: real nginx, old and new,
 * and real Caddy in front of the program as a user starts it, and the program with its own
 * certificate. Through each, the test signs in, reads, writes and watches. The page's private
 * authority signs the certificates, and the command line trusts it as the page describes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import t, { type Test, test } from 'tap';
import { Agent, fetch } from 'undici';
import { IngestService } from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { AlertService } from '../../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { MonitoringService } from '../../../src/gen/svc/monitoring/v1/monitoring_pb.ts';
import {
  AlertRuleSpec_Operator,
  AlertRuleSpec_Severity,
} from '../../../src/gen/svc/monitoring/v1/rule_pb.ts';
import { reasonOf } from '../../../src/sdk/retry.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { buildGoPrograms, goEnvironment, linesOf } from '../../support/guide-programs.ts';
import { reservePort } from '../../support/places.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';
import { startCaddy, startNginx } from '../../support/proxies.ts';

const PAGE = 'operations/https.md';
const HOST = 'monitoring.example.com';
const PROJECT = 'projects/demo';
const bin = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));
const pagePath = fileURLToPath(new URL(`../../../docs/${PAGE}`, import.meta.url));

t.setTimeout(840_000);

for (const version of ['nginx 1.22.1', 'nginx 1.26.3'] as const) {
  test(
    `${version} configured as on the page forwards everything`,
    needs(version, 'openssl'),
    async (t) => {
      const place = await makePlace(t);
      const { port, httpPort, servicePort, folder } = place;
      const pasted = codeBlock(PAGE, '# /etc/nginx/conf.d/svc.conf')
        .replaceAll('/etc/nginx/tls', folder)
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
        .replace('listen 80;', `listen 127.0.0.1:${httpPort};`)
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`);
      // The page's change for Debian 12.
      const older = pasted.replace(' ssl;', ' ssl http2;').replace('    http2 on;\n', '');
      const servers = version === 'nginx 1.22.1' ? older : pasted;
      const program = componentPath(version);
      const said = await startNginx(t, servers, { program, folder, port });
      await tryAll(t, await startBehind(t, place));
      t.notMatch(said(), /\[(warn|error|crit|alert|emerg)\]/, 'it reported no error');
    },
  );
}

for (const version of ['caddy 2.6.2', 'caddy 2.11.4'] as const) {
  test(
    `${version} configured as on the page forwards everything`,
    needs(version, 'openssl'),
    async (t) => {
      const place = await makePlace(t);
      const { port, httpPort, servicePort, folder } = place;
      const page = readFileSync(pagePath, 'utf8');
      const [tls = ''] = /tls (\/etc\/caddy\/tls\/[a-z.]+ ?){2}/.exec(page) ?? [];
      const sites = codeBlock(PAGE, '# /etc/caddy/Caddyfile')
        .replace(`${HOST} {`, `${HOST} {\n\t${tls.replaceAll('/etc/caddy/tls', folder)}`)
        .replace('127.0.0.1:8080', `127.0.0.1:${servicePort}`);
      const program = componentPath(version);
      // Its log is ignored: older versions log an error when a stream's client disconnects.
      await startCaddy(t, sites, { program, folder, port, httpPort });
      await tryAll(t, await startBehind(t, place));
    },
  );
}

test(
  'the program serves its own certificate, signed by a private authority',
  needs('openssl', 'go'),
  async (t) => {
    const place = await makePlace(t);
    const { folder, port } = place;
    const program = await start(t, place, '# /etc/svc/svc.env', {
      '0.0.0.0:8443': `127.0.0.1:${port}`,
      [`${HOST}:8443`]: `localhost:${port}`,
      '/var/lib/svc/tls': folder,
    });
    const ca = join(folder, 'ca.pem');
    const bare = { HOME: folder, SVC_ENDPOINT: `https://localhost:${port}`, SVC_PROJECT: 'demo' };

    await t.test('the command line trusts the authority as the page describes', async (t) => {
      const trusting = { ...bare, NODE_EXTRA_CA_CERTS: ca };
      const login = await svc(['login', '--link', '-'], trusting, linkToken(program));
      t.equal(login.code, 0, login.said);
      const read = await svc(['alerts', 'list'], trusting);
      t.match(read, { code: 0, said: /No alert rules/ });
      const ofSystem = await svc(['alerts', 'list'], {
        ...bare,
        NODE_USE_SYSTEM_CA: '1',
        SSL_CERT_FILE: ca,
      });
      t.match(ofSystem, { code: 0, said: /No alert rules/ });
    });

    await t.test('without the authority the command line suggests the fix, once', async (t) => {
      const refused = await svc(['alerts', 'list'], bare);
      t.match(refused, { code: 5, said: /UNABLE_TO_VERIFY_LEAF_SIGNATURE.*NODE_EXTRA_CA_CERTS/s });
      t.notMatch(refused.said, /sent again/);
    });

    await t.test(
      'a program with the Go SDK trusts the authority as the page describes',
      async (t) => {
        const env = goEnvironment(fileURLToPath(new URL('../../../.tap/go', import.meta.url)));
        const built = await buildGoPrograms(componentPath('go'), dataFolder(t), ['watch'], env);
        const watch = built('watch');
        const settings = {
          SVC_ENDPOINT: `https://localhost:${port}`,
          SVC_PROJECT: 'demo',
          SVC_API_KEY: program.demo.apiKey,
        };
        t.same(await linesOf(watch, { ...settings, SSL_CERT_FILE: ca }), ['SNAPSHOT 0']);
        await t.rejects(linesOf(watch, settings), /certificate signed by unknown authority/);
      },
    );

    await t.test('a renewed certificate is served after a reload', async (t) => {
      const old = readFileSync(ca);
      makeAuthority(folder);
      t.ok(await isTrusted(port, old));
      process.kill(program.pid, 'SIGHUP');
      await until(
        'the certificate is reloaded',
        () => /was reloaded/.test(program.log()) || undefined,
      );
      t.ok(await isTrusted(port, readFileSync(ca)));
      t.notOk(await isTrusted(port, old));
      t.match(await program.get('/readyz'), { status: 200 });
    });
  },
);

interface Place {
  /** Folder of the certificates `ca.pem`, `tls.pem` and `tls.key`, and of a proxy's files. */
  readonly folder: string;
  /** Port for HTTPS. */
  readonly port: number;
  readonly httpPort: number;
  readonly servicePort: number;
  readonly metricsPort: number;
}

async function makePlace(t: Test): Promise<Place> {
  const folder = dataFolder(t);
  makeAuthority(folder);
  const [port, httpPort] = [await reservePort(), await reservePort()];
  return {
    folder,
    port,
    httpPort,
    servicePort: await reservePort(),
    metricsPort: await reservePort(),
  };
}

/** The page's authority and certificate, which also covers `localhost`. */
function makeAuthority(folder: string): void {
  const script = codeBlock(PAGE, '# Private authority').replace(
    `subjectAltName=DNS:${HOST}`,
    `subjectAltName=DNS:${HOST},DNS:localhost`,
  );
  execFileSync('bash', ['-euc', script], { cwd: folder, stdio: 'pipe', timeout: 600_000 });
}

/**
 * Starts the program with the page's settings, changed by `replaced`, and waits on its metrics
 * listener.
 */
async function start(
  t: Test,
  { metricsPort }: Place,
  block: string,
  replaced: Readonly<Record<string, string>>,
): Promise<Program> {
  let lines = codeBlock(PAGE, block);
  for (const [from, to] of Object.entries(replaced)) lines = lines.replaceAll(from, to);
  const settings = Object.fromEntries(
    [...lines.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const metrics = `127.0.0.1:${metricsPort}`;
  const more = { SVC_COLLECT: 'none', SVC_METRICS_LISTEN: metrics };
  return startProgram(t, dataFolder(t), { ...settings, ...more }, `http://${metrics}`);
}

/** The service behind a proxy, and its clients. */
class Behind {
  readonly program: Program;
  readonly origin: string;
  readonly #place: Place;
  readonly #ca: Buffer;

  constructor(program: Program, place: Place) {
    this.program = program;
    this.origin = `https://${HOST}:${place.port}`;
    this.#place = place;
    this.#ca = readFileSync(join(place.folder, 'ca.pem'));
  }

  /**
   * Sends a request of a browser or a program from an address of this machine, over HTTP/2 if
   * offered.
   */
  async send(path: string, init: Parameters<typeof fetch>[1] = {}, localAddress = '127.0.0.1') {
    const tls = { ca: this.#ca, lookup: toThisMachine };
    const dispatcher = new Agent({ allowH2: true, connect: tls, localAddress });
    const answer = await fetch(this.origin + path, { redirect: 'manual', ...init, dispatcher });
    const body = await answer.text();
    await dispatcher.close();
    return { status: answer.status, headers: answer.headers, body };
  }

  /** A client of one service, over exactly that HTTP version. */
  client<S extends typeof AlertService | typeof MonitoringService | typeof IngestService>(
    service: S,
    httpVersion: '1.1' | '2' = '2',
    key = this.program.demo.apiKey,
  ): Client<S> {
    const transport = createConnectTransport({
      baseUrl: this.origin,
      httpVersion,
      useBinaryFormat: false,
      nodeOptions: { ca: this.#ca, lookup: toThisMachine },
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', `Bearer ${key}`);
          return next(request);
        },
      ],
    } as Parameters<typeof createConnectTransport>[0]);
    return createClient(service, transport);
  }

  /** Value of a sample in the service's own metrics. */
  async metric(sample: string): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${this.#place.metricsPort}/metrics`);
    const line = (await answer.text()).split('\n').find((line) => line.startsWith(`${sample} `));
    return Number(line?.split(' ').at(-1) ?? Number.NaN);
  }
}

const toThisMachine: LookupFunction = (_host, options, done) => {
  const found = [{ address: '127.0.0.1', family: 4 }];
  if (options.all) done(null, found);
  else done(null, '127.0.0.1', 4);
};

async function startBehind(t: Test, place: Place): Promise<Behind> {
  const program = await start(t, place, '# /etc/svc/svc.env, behind a proxy', {
    '127.0.0.1:8080': `127.0.0.1:${place.servicePort}`,
    [HOST]: `${HOST}:${place.port}`,
  });
  return new Behind(program, place);
}

async function tryAll(t: Test, behind: Behind): Promise<void> {
  await t.test('a user signs in', (t) => trySignIn(t, behind));
  await t.test('a program reads, with the longest URL', (t) => tryRead(t, behind));
  await t.test('a program writes, and its rejection names the limit', (t) => tryWrite(t, behind));
  for (const version of ['1.1', '2'] as const) {
    await t.test(`a stream works over HTTP/${version}`, (t) => tryStream(t, behind, version));
  }
  await t.test("limits apply to the client's own address", (t) => tryAddresses(t, behind));
}

async function trySignIn(t: Test, behind: Behind): Promise<void> {
  const headers = { origin: behind.origin, 'sec-fetch-site': 'same-origin' };
  const body = new URLSearchParams({ token: linkToken(behind.program) });
  const answer = await behind.send('/auth/link', { method: 'POST', body, headers });
  t.match(answer, { status: 303 }, answer.body);
  const [cookie = ''] = answer.headers.getSetCookie();
  t.match(cookie, /^__Host-svc_session=\w+; .*Secure$/);
  const [session = ''] = cookie.split(';');
  const page = await behind.send('/auth/signed-in', { headers: { cookie: session } });
  t.match(page, { status: 200, body: /You are signed in/ });
  t.ok(page.headers.get('strict-transport-security'), 'it knows that the client used HTTPS');
}

async function tryRead(t: Test, behind: Behind): Promise<void> {
  const { vms } = await behind.client(MonitoringService).listVMMonitoring({ projectName: PROJECT });
  t.same(vms, []);
  // 16 KiB, mostly characters that take three bytes in a URL.
  const query = `svc_vm_running{vm=~"${'|'.repeat(16_000)}"}`;
  const path = `/v1/monitoring/projects/demo/promql/api/v1/query?query=${encodeURIComponent(query)}`;
  t.ok(path.length > 48_000);
  const headers = { authorization: `Bearer ${behind.program.demo.apiKey}` };
  t.match(await behind.send(path, { headers }), { status: 200, body: /"status":"success"/ });
}

async function tryWrite(t: Test, behind: Behind): Promise<void> {
  const ingest = behind.client(IngestService, '1.1', behind.program.demo.collectorKey);
  await ingest.writeSamples({ projectName: PROJECT, rows: [reading('vm-1', 10)] });
  const large = { ...reading('vm-1', 10), displayName: 'x'.repeat(1024 * 1024) };
  const refused = ingest.writeSamples({ projectName: PROJECT, rows: [large] });
  const reason = await refused.then(() => 'none', reasonOf);
  t.equal(reason, 'REQUEST_TOO_LARGE', 'the answer is from the service, not the proxy');
  const almost = { ...reading('vm-2', 10), displayName: 'x'.repeat(1000 * 1024) };
  const { rejected } = await ingest.writeSamples({ projectName: PROJECT, rows: [almost] });
  t.match(rejected, [{ reason: 'BAD_FIELD' }], 'a smaller one is read, and its long name rejected');
}

/** A watch reports a change at once, and the service notices when its client disconnects. */
async function tryStream(t: Test, behind: Behind, version: '1.1' | '2'): Promise<void> {
  const running = 'svc_gate_calls{class="stream",state="running"}';
  const vm = `vm-of-${version}`;
  await saveRule(behind);
  const gone = new AbortController();
  const answers = behind
    .client(AlertService, version)
    .watchIncidents({ projectName: PROJECT }, { signal: gone.signal })
    [Symbol.asyncIterator]();
  const first = await soon('the first message', answers.next());
  t.equal(first.done, false);
  t.equal(await behind.metric(running), 1);
  const next = answers.next();
  const ingest = behind.client(IngestService, '2', behind.program.demo.collectorKey);
  await ingest.writeSamples({ projectName: PROJECT, rows: [reading(vm, 90)] });
  const { value } = await soon('the change', next);
  t.match(value?.incidents, [{ vmName: `${PROJECT}/vms/${vm}` }]);
  gone.abort();
  await until(
    'the service notices the disconnect',
    async () => (await behind.metric(running)) === 0 || undefined,
  );
}

async function saveRule(behind: Behind): Promise<void> {
  await behind.client(AlertService).saveAlertRule({
    projectName: PROJECT,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'CPU',
      metricId: 'cpu_utilization_pct',
      operator: AlertRuleSpec_Operator.GREATER_THAN,
      threshold: 50,
      severity: AlertRuleSpec_Severity.WARNING,
      allVms: true,
    },
  });
}

function reading(vmName: string, value: number) {
  const values = [{ series: 'svc_vm_cpu_utilization_pct', value }];
  return { vmName, observedUnixMs: BigInt(Date.now()), values };
}

/** A client that guesses links and forges forwarded addresses uses up only its own limit. */
async function tryAddresses(t: Test, behind: Behind): Promise<void> {
  const guess = async (i: number, address: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': `10.9.8.${i}` };
    const init = { method: 'POST', body: '{"token":"none"}', headers };
    return (await behind.send('/auth/link', init, address)).status;
  };
  const answers: number[] = [];
  for (let i = 0; i < 25; i++) answers.push(await guess(i, '127.0.0.2'));
  t.equal(answers.at(-1), 429, answers.join(' '));
  t.not(await guess(0, '127.0.0.3'), 429, 'another client is not affected');
}

/** Rejects with the description if it does not arrive in time. */
async function soon<T extends {}>(what: string, waited: Promise<T>): Promise<T> {
  return until(what, () => waited);
}

/** Token of the link by which the demo's owner signs in. */
function linkToken({ demo }: Program): string {
  return demo.signInUrl?.split('#')[1] ?? '';
}

/** True when a client that trusts only this authority accepts the served certificate. */
async function isTrusted(port: number, ca: Buffer): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' });
  try {
    await once(socket, 'secureConnect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Runs the command in a process of its own, because authorities are read at its start. */
async function svc(args: readonly string[], env: Readonly<Record<string, string>>, input = '') {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH, ...env },
    timeout: 600_000,
    killSignal: 'SIGKILL',
  });
  child.stdin.end(input);
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return { code: child.exitCode, said: out + errors };
}
