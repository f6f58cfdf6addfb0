/**
 * The package as others install it, including `npm pack`: its entries load as JavaScript from
 * node_modules, and their types resolve to ours.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { test } from 'tap';
import { createClient, VMMonitoring_State } from '../../../src/sdk/index.ts';
import { startCliWorld, writeReadings } from '../../support/cli-against-service.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import {
  linesOf,
  observedSince,
  senderTo,
  sourceEnvironment,
  startReceiver,
  typescriptProgram,
} from '../../support/guide-programs.ts';
import { installPacked } from '../../support/packed.ts';
import { dataFolder } from '../../support/program.ts';
import { webhookVectors } from '../../support/webhook-vectors.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const [vector] = webhookVectors.sent;
/** More VMs than one replay reads, and than one page lists. */
const OTHER_VMS = 60;
if (!vector) throw new Error('The vector is missing');

const RECEIVER = `
import { createClient, openSqliteDeduplicator, verifyWebhook } from 'svc/sdk';
const { body, headers, secrets, timestampUnix } = ${JSON.stringify(vector)};
const verified = verifyWebhook(body, headers, secrets, { now: new Date(timestampUnix * 1000) });
const deduplicator = openSqliteDeduplicator({ path: 'deliveries.db' });
const claims = [verified, verified].map(({ deliveryId }) => deduplicator.claim(deliveryId));
const { monitoring } = createClient({ baseUrl: 'http://127.0.0.1:9', token: 'svc_x' });
process.stdout.write(JSON.stringify({ verified, claims, method: typeof monitoring.listVMMonitoring }));
`;

const TYPED = `
import { createService, type ServiceSettings } from 'svc/embed';
import { createClient, type Delivery, verifyWebhook, type VerifiedWebhook } from 'svc/sdk';
const verified: VerifiedWebhook = verifyWebhook('', {}, 'whsec_');
export const id: string = verified.deliveryId;
const { alerts, prometheus } = createClient({ baseUrl: 'https://example.com', token: 'x' });
export const deliveries: Promise<Delivery[]> = alerts
  .listDeliveries({ projectName: 'projects/p', pageSize: 10 })
  .then((answer) => answer.deliveries);
export const settings: ServiceSettings = {
  listen: '127.0.0.1:0',
  demo: true,
  sampleIntervalSeconds: 5,
  collect: ['host', 'libvirt'],
  projectCreation: 'people',
  webhookPorts: ['443', '8000-8010'],
  natsUrl: undefined,
};
export const origin: Promise<string> = createService({ settings }).then(({ address }) => address);
export async function latest(): Promise<number | undefined> {
  const outcome = await prometheus('p').instant('up');
  return outcome.ok ? outcome.series[0]?.value : undefined;
}
`;

const REPLAY = `
import { parseCsv, parseRules, replayRecording, reportText } from 'svc/testing';
const minutes = [95, 96, 97, 20].map((value, i) => i * 30 + ',' + value);
const text = ['time,svc_vm_cpu_utilization_pct', ...minutes].join('\\n');
const rule = {
  displayName: 'CPU', metricId: 'cpu_utilization_pct', operator: 'GREATER_THAN', threshold: 90,
  sustainedSeconds: 60, severity: 'INFO', allVms: true,
};
const result = await replayRecording({
  recording: { kind: 'rows', rows: parseCsv(text, { vm: 'vm-1', name: 'a test' }) },
  rules: parseRules(JSON.stringify(rule)),
});
process.stdout.write(reportText(result));
`;

const EMBEDDER = `
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { ConfigError, createService } from 'svc/embed';
const lines = [];
const start = (settings) => createService({ settings, log: (line) => lines.push(line) });
const quiet = { listen: '127.0.0.1:0', metricsListen: 'off', collect: ['none'], demo: false };
const problems = await start({ ...quiet, data: 'a', listne: '', datacenter: '', groupWaitSeconds: 301 }).catch(
  (error) => error instanceof ConfigError && error.problems,
);
const [one, other] = await Promise.all(['a', 'b'].map((data) => start({ ...quiet, data })));
await Promise.all([one.whenReady(), other.whenReady()]);
const accept = 'text/html';
// The resolver of this machine may not know the host name of the pages.
const at = ({ host, pathname }) => new Promise((resolve) =>
  request(new URL(pathname, one.address), { headers: { host, accept } }, resolve).end(),
);
const ledFrom = async (url) => {
  const answer = await at(url);
  const { location } = answer.headers;
  return location === undefined ? answer : ledFrom(new URL(location));
};
const page = await ledFrom(new URL(one.address));
const html = (await text(page)).slice(0, 15);
const { ready, parts } = other.readiness();
await other.stop();
const late = await other.whenReady().catch(({ message }) => message);
const answers = [page.statusCode, (await fetch(one.address + '/readyz')).status];
await Promise.all([one.stop(), one.stop()]);
process.stdout.write(JSON.stringify({ problems, answers, html, ready, parts, late, lines }));
`;

const project = await installPacked(dataFolder(t));

test('installed from its tarball, svc/testing replays a trace', async (t) => {
  const printed = await project.runModule('replay', REPLAY);
  t.match(printed, /^Incidents: 1$/m);
  t.match(printed, /vm-1 +CPU +1970-01-01 00:00:00 +1970-01-01 00:01:00 .*RECOVERED/);
});

test('installed from its tarball, svc/embed runs services, with threads and pages', async (t) => {
  const threads = ['src', 'sqlite'].flatMap((floor) =>
    readdirSync(join(root, floor), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('-thread.ts'))
      .map((name) => `dist/${floor}/${name.replace(/ts$/, 'js')}`),
  );
  t.ok(threads.length > 5);
  t.same(
    threads.filter((name) => !project.files.includes(name)),
    [],
    'every entry of a thread',
  );
  const printed = await project.runModule('embedder', EMBEDDER);
  t.match(JSON.parse(printed), {
    problems: ['There is no setting listne', /^datacenter is empty/],
    answers: [200, 200],
    html: '<!doctype html>',
    ready: true,
    late: 'The service was stopped before it was ready',
  });
  const { parts, lines } = JSON.parse(printed);
  t.ok(parts.some(({ name }: { name: string }) => name === 'evaluator'));
  t.ok(lines.length > 0);
  for (const line of lines) t.type(JSON.parse(line).msg, 'string');
  const program = typescriptProgram(project.folder, 'embedded', 'embedding.md');
  t.same(await linesOf(program, {}), ['stored 4', 'watches One', 'cores in use 0.5']);
});

test('installed from its tarball, svc/sdk runs as JavaScript and has its types', async (t) => {
  const { exports } = JSON.parse(readFileSync(join(project.packageFolder, 'package.json'), 'utf8'));
  for (const target of Object.values<object | string>(exports).flatMap((of) => Object.values(of))) {
    if (String(target).startsWith('./dist')) {
      t.ok(existsSync(join(project.packageFolder, String(target))), `${target} is in the package`);
    }
  }
  const isSource = (path: string): boolean => /\.ts$/.test(path) && !path.endsWith('.d.ts');
  t.same(project.files.filter(isSource), [], 'no file needs type stripping');

  const [printed, findings] = await Promise.all([
    project.runModule('receiver', RECEIVER),
    project.findings({
      typed: TYPED,
      embedded: codeBlock('embedding.md', '// embedded.ts'),
      'wrong-kind': TYPED.replace('id: string', 'id: number'),
      'wrong-name': TYPED.replace('answer.deliveries', 'answer.things'),
      'wrong-setting': TYPED.replace("'libvirt'", "'libvrit'"),
    }),
  ]);
  const { deliveryId, attemptId } = vector;
  t.match(JSON.parse(printed), {
    verified: { deliveryId, attemptId },
    claims: [true, false],
    method: 'function',
  });
  const [kind, name, setting, ...others] = findings.match(/^\S.*$/gm)?.sort() ?? [];
  t.match(kind, /^wrong-kind.ts.*TS2322: Type 'string' is not assignable to type 'number'/);
  t.match(name, /^wrong-name.ts.*TS2339: Property 'things' does not exist/, 'types of messages');
  t.match(setting, /^wrong-setting.ts.*TS2820: .*"libvrit"/);
  t.same(others, [], 'a program for that target has no findings');

  const svc = join(project.packageFolder, 'bin/svc.js');
  t.throws(
    () => execFileSync(process.execPath, [svc], { stdio: 'pipe', timeout: 600_000 }),
    /runs from a checkout/,
    'the command says where it runs',
  );
});

test('the programs of the guide work as described', async (t) => {
  const world = await startCliWorld(t);
  const { demo, endpoint } = world;
  const at = Math.floor(Date.now() / 60_000) * 60;
  await writeReadings(world, [
    { at: at - 30, memory: 1e9, index: 0 },
    { at, memory: 2e9, index: 1 },
    ...Array.from({ length: OTHER_VMS }, (_, i) => ({
      at: Math.floor(Date.now() / 1000),
      memory: 1e9,
      index: 0,
      vm: `other-${i}`,
    })),
  ]);
  const rules = typescriptProgram(project.folder, 'rules');
  const env = { SVC_ENDPOINT: endpoint, SVC_API_KEY: demo.apiKey, SVC_PROJECT: 'demo' };
  const printed = (await linesOf(rules, env)).join('\n');
  for (const line of [
    /^memory of One 2000000000$/m,
    /^steps of One [1-9]\d* of 11$/m,
    /^would have fired 0 times$/m,
    new RegExp(`^looked at ${1 + OTHER_VMS} series, nothing known of 0$`, 'm'),
    /^would have sent 0 notifications$/m,
    /^saved version 1 (in force|not in force yet)$/m,
    /^the latest version is 1$/m,
  ]) {
    t.match(printed, line);
  }

  await t.test('SRC-10: a source for any hypervisor takes at most forty lines', async (t) => {
    const source = typescriptProgram(project.folder, 'source');
    t.ok(codeBlock('sdk.md', '// source.ts').trimEnd().split('\n').length <= 40);
    t.same(await linesOf(source, sourceEnvironment(t, world)), ['stored 1 refused']);
    t.match(await observedSince(world, 'vm-other'), {
      displayName: 'db',
      state: VMMonitoring_State.RUNNING,
    });
    t.match(await observedSince(world, 'vm-off'), {
      displayName: 'old',
      state: VMMonitoring_State.STOPPED,
    });
  });

  await t.test('audit, projects and samples are services of the SDK', async (t) => {
    const { audit, ingest, projects } = createClient({ baseUrl: endpoint, token: demo.apiKey });
    const { transitions } = await audit.listTransitions({ projectName: 'projects/demo' });
    t.ok(transitions.length > 0);
    await t.rejects(projects.listProjects({}), { message: /for people who have signed in/ });
    await t.rejects(ingest.writeSamples({ projectName: 'projects/demo' }), /collector/);
  });
});

test('EVENT-06: the guide’s receiver stores each delivery once and refuses invalid requests', async (t) => {
  const program = typescriptProgram(project.folder, 'receiver');
  const [secret = '', previous = ''] = webhookVectors.sent[1]?.secrets ?? [];
  const receiver = await startReceiver(t, program, { WEBHOOK_SECRETS: `${secret} ${previous}` });
  const send = senderTo(receiver.url);
  t.equal(await send({ secrets: [secret], attemptId: 'att_1' }), 204);
  t.equal(await send({ secrets: [previous], attemptId: 'att_2' }), 204, 'a retry is accepted');
  t.equal(await send({ secrets: [`whsec_${'A'.repeat(43)}=`] }), 400);
  t.equal(await send({ secrets: [secret], body: 'x'.repeat(2 ** 20 + 1) }), 400);
  t.same(receiver.lines(), [
    'dlv_1 att_1 stored',
    'dlv_1 att_2 had before',
    'refused SIGNATURE_MISMATCH',
    'refused BODY_TOO_LARGE',
  ]);
});
