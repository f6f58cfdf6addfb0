/**
 * The Go module: its own tests, and the programs of the guide against the whole service with a CI
 * platform, through a gateway that loses answers. Go runs without the network, without a C
 * compiler, and keeps its build cache beside the test runner's files.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { readSession, sessionPath } from '../../../src/cli/client/session-file.ts';
import { VMMonitoring_State } from '../../../src/sdk/index.ts';
import { startCliWorld, writeReadings } from '../../support/cli-against-service.ts';
import { componentPath, needs } from '../../support/components.ts';
import { startGateway } from '../../support/faulty-gateway.ts';
import {
  buildGoPrograms,
  goEnvironment,
  linesOf,
  observedSince,
  senderTo,
  sourceEnvironment,
  startReceiver,
} from '../../support/guide-programs.ts';
import { dataFolder } from '../../support/program.ts';
import { prepareAccount, trustWorkflow } from '../../support/trusted-workflow.ts';
import { webhookVectors } from '../../support/webhook-vectors.ts';

const run = promisify(execFile);
/** More VMs than one replay reads, and than one page lists. */
const OTHER_VMS = 60;
const folderOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const env = goEnvironment(folderOf('../../../.tap/go'));
const module = folderOf('../../../sdk/go');

test(
  'EVENT-08, HOOK-08: the Go module is well-formed and passes its tests and vectors',
  needs('go'),
  async (t) => {
    const go = componentPath('go');
    const bounded = { cwd: module, env: { ...env }, timeout: 600_000 };
    const { stdout: vetted } = await run(go, ['vet', './...'], bounded);
    t.equal(vetted, '');
    const unformatted = await run(join(dirname(go), 'gofmt'), ['-l', '.'], bounded);
    t.equal(unformatted.stdout, '', 'formatted by gofmt');
    const { stdout } = await run(go, ['test', '-count=1', '-v', './...'], bounded);
    t.match(stdout, /^ok\s+example\.com\/svc/m);
    const passed = stdout.match(/^ +--- PASS: TestEveryVector/gm) ?? [];
    t.equal(passed.length, webhookVectors.received.length, 'every vector was tried');
    const { stdout: imports } = await run(
      go,
      ['list', '-deps', '-f', '{{if not .Standard}}{{.ImportPath}}{{end}}', './...'],
      bounded,
    );
    t.same(imports.trim().split(/\s+/), ['example.com/svc'], 'only the standard library');
  },
);

test('the programs of the guide work against the service', needs('go'), async (t) => {
  const names = ['rules', 'watch', 'job', 'people', 'receiver', 'source'];
  const building = buildGoPrograms(componentPath('go'), dataFolder(t), names, env);
  const world = await startCliWorld(t);
  const { demo, endpoint } = world;
  await writeReadings(world, [
    { at: Math.floor(Date.now() / 1000) - 30, memory: 1e9, index: 0 },
    { at: Math.floor(Date.now() / 1000), memory: 2e9, index: 1 },
    ...Array.from({ length: OTHER_VMS }, (_, i) => ({
      at: Math.floor(Date.now() / 1000),
      memory: 1e9,
      index: 0,
      vm: `other-${i}`,
    })),
  ]);
  const trust = await trustWorkflow(world, await prepareAccount(world, 'acme'));
  const program = await building;

  await t.test('reading, previewing and saving work: six of the endpoints', async (t) => {
    const gateway = await startGateway(t, endpoint);
    const retryAfter = { 'retry-after': '0' };
    gateway.faults.push(
      { kind: 'answer', status: 429, headers: retryAfter, path: 'ListVMMonitoring' },
      { kind: 'answer', status: 503, headers: retryAfter, path: '/promql/' },
      { kind: 'lose answer', path: 'SaveAlertRule' },
    );
    const settings = { SVC_ENDPOINT: gateway.url, SVC_API_KEY: demo.apiKey, SVC_PROJECT: 'demo' };
    const printed = (await linesOf(program('rules'), settings)).join('\n');
    for (const line of [
      /^memory of One 2000000000$/m,
      /^quality (LIVE|PARTIAL) series 1$/m,
      new RegExp(`^VMs with memory ${1 + OTHER_VMS}$`, 'm'),
      /^shards 1$/m,
      /^would have fired 0 times$/m,
      new RegExp(`^looked at ${1 + OTHER_VMS} series, nothing known of 0$`, 'm'),
      /^would have sent 0 notifications$/m,
      /^saved version 1 (APPLIED|PENDING)$/m,
      /^the latest version is 1$/m,
    ]) {
      t.match(printed, line);
    }
    const saves = gateway.requests.filter(({ path }) => path.endsWith('/SaveAlertRule'));
    t.equal(saves.length, 2, 'the request with the lost answer was repeated');
    t.equal(saves[0]?.body, saves[1]?.body, 'the repeated request is identical');
    t.equal(saves[0]?.headers['connect-protocol-version'], '1');
  });

  await t.test(
    'a watch sends the open incidents, and ends for a caller without permission',
    async (t) => {
      const settings = { SVC_ENDPOINT: endpoint, SVC_API_KEY: demo.apiKey, SVC_PROJECT: 'demo' };
      t.same(await linesOf(program('watch'), settings), ['SNAPSHOT 0']);
      const elsewhere = { ...settings, SVC_PROJECT: 'acme' };
      await t.rejects(linesOf(program('watch'), elsewhere), /PROJECT_BOUNDARY/);
    },
  );

  await t.test('the seventh: a CI job exchanges its identity and reads', async (t) => {
    const job = { ...trust.env, SVC_ENDPOINT: endpoint };
    const printed = await linesOf(program('job'), job);
    t.match(printed, [/^token of projects\/acme for (900|899) s; rules 0$/]);
    const wrong = { ...job, SVC_TRUST: 'projects/acme/ciConnections/another' };
    await t.rejects(linesOf(program('job'), wrong), /EXCHANGE_DENIED/);
  });

  await t.test('users create service accounts and keys, and keys cannot', async (t) => {
    const session = readSession(sessionPath({}, world.homeOf('owner')));
    if (!session) throw new Error('The owner is not signed in');
    const { cookieName: COOKIE_NAME, secret: COOKIE_SECRET } = session;
    const settings = { SVC_ENDPOINT: endpoint, SVC_PROJECT: 'acme', COOKIE_NAME, COOKIE_SECRET };
    t.same(await linesOf(program('people'), settings), [
      'Scraper ACTIVE [monitoring.read]',
      'secret shown once: true',
      'firing 0 deliveries 0',
      `members 1 last made by ${readSession(sessionPath({}, world.homeOf('owner')))?.person}`,
    ]);
    const nobody = { ...settings, COOKIE_SECRET: 'svc_ses_x' };
    await t.rejects(linesOf(program('people'), nobody), /_CREDENTIAL/);
  });

  await t.test('SRC-10: a Go program is a source for any hypervisor', async (t) => {
    t.same(await linesOf(program('source'), sourceEnvironment(t, world)), ['stored 1 refused 0']);
    t.match(await observedSince(world, 'vm-other'), {
      displayName: 'db',
      state: VMMonitoring_State.RUNNING,
    });
    const reader = { ...sourceEnvironment(t, world), SVC_API_KEY: demo.apiKey };
    await t.rejects(linesOf(program('source'), reader), /MISSING_CAPABILITY/);
  });

  await t.test("its receiver verifies the service's signatures", async (t) => {
    const [secret = '', previous = ''] = webhookVectors.sent[1]?.secrets ?? [];
    const WEBHOOK_SECRETS = `${secret} ${previous}`;
    const receiver = await startReceiver(t, program('receiver'), { WEBHOOK_SECRETS });
    const send = senderTo(receiver.url);
    t.equal(await send({ secrets: [secret], attemptId: 'att_1' }), 204);
    t.equal(await send({ secrets: [previous], attemptId: 'att_2' }), 204);
    t.equal(await send({ secrets: [secret], timestampUnix: 1767225600 }), 400);
    t.same(receiver.lines(), [
      'dlv_1 att_1 incident.firing',
      'dlv_1 att_2 incident.firing',
      'refused TIMESTAMP_TOO_OLD',
    ]);
  });
});
