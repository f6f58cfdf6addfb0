/**
 * One whole service for all test files of a process that need only their own project in it. Its
 * thread does not keep a file open, and ends with the process. Tests of clocks, settings, limits of
 * the service, first starts and `_system` start their own service (`startProgram`).
 *
 * A test uses a project and a data center that no other file uses, because outages are decided over
 * all projects of a data center.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Test } from 'tap';
import { signInBy } from './busy-project/people.ts';
import { type CiIssuer, startCiIssuer } from './ci-issuer.ts';
import { callsOf, type Demo, runInProcess, type ServiceUnderTest } from './program.ts';
import type { SharedServiceData } from './shared-service-thread.ts';

export interface SharedService {
  readonly endpoint: string;
  /** Its data folder, for `svc admin`. */
  readonly dataFolder: string;
  /** CI platform that the service knows as `github`. */
  readonly platform: CiIssuer;
  /** All lines of its log so far. */
  readonly lines: () => readonly string[];
}

const COMPILED = fileURLToPath(
  new URL('../../node_modules/.cache/svc-compiled/sources', import.meta.url),
);

/** Same lifetime as the keys of demo.json. */
const KEY_LIFETIME_SECONDS = 365 * 86_400;

let running: Promise<SharedService> | undefined;

/** The service of this process, started with the first call. */
export function sharedService(): Promise<SharedService> {
  running ??= start().then(({ service }) => service);
  return running;
}

/**
 * A service that no other file joins, for tests that exhaust limits of an address. It ends with the
 * test.
 */
export async function separateService(t: Test): Promise<SharedService> {
  const { service, thread } = await start();
  t.teardown(async () => {
    thread.ref();
    thread.postMessage('stop');
    await once(thread, 'exit');
  });
  return service;
}

async function start(): Promise<{ readonly service: SharedService; readonly thread: Worker }> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'svc-shared-'));
  process.once('exit', () => rmSync(dataFolder, { recursive: true, force: true }));
  const platform = await startCiIssuer();
  platform.unref();
  const { port1: received, port2: lines } = new MessageChannel();
  const data: SharedServiceData = {
    environment: {
      SVC_DATA: dataFolder,
      SVC_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: 'off',
      SVC_COLLECT: 'none',
      SVC_DEMO: 'off',
      SVC_CI_ISSUERS: platform.setting,
      SVC_WEBHOOK_ALLOW: '127.0.0.1',
      SVC_WEBHOOK_ALLOW_HTTP: 'on',
    },
    lines,
  };
  const thread = new Worker(new URL('shared-service-thread.ts', import.meta.url), {
    workerData: data,
    transferList: [lines],
    // As in bin/svc.js: compiling everything a second time takes longer than a test.
    env: { ...process.env, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? COMPILED },
  });
  // Rejects with the error of a failed start.
  const [endpoint] = (await once(thread, 'message')) as [string];
  thread.unref();
  const kept: string[] = [];
  const service: SharedService = {
    endpoint,
    dataFolder,
    platform,
    lines() {
      for (let next = receiveMessageOnPort(received); next; next = receiveMessageOnPort(received)) {
        kept.push(next.message);
      }
      return kept;
    },
  };
  return { service, thread };
}

/**
 * Creates a project in the shared service, with the equivalents of `demo.json`: its keys, and the
 * link with which its owner, `owner@PROJECT.test`, signs in. Its collector is in the data center
 * `DC-PROJECT`.
 */
export async function createProject(
  { endpoint, dataFolder }: SharedService,
  project: string,
): Promise<Demo> {
  const admin = async (...args: string[]) => {
    const ran = await runInProcess(['admin', ...args, '--data', dataFolder, '--json']);
    if (ran.code !== 0) throw new Error(ran.text);
    return JSON.parse(ran.stdout);
  };
  const [email, projectName] = [`owner@${project}.test`, `projects/${project}`];
  await admin('project', 'create', project, '--owner', email);
  const where = ['--datacenter', `DC-${project}`, '--project', project];
  const { key: collectorKey } = await admin('collector-key', 'create', ...where);
  const owner = await signInBy((await admin('login-link', email)).link);
  const capabilities = ['monitoring.read', 'monitoring.write'];
  const request = () => ({ requestId: randomUUID(), capabilities });
  const account = await owner.call('iam.v1.AutomationService/CreateServiceAccount', {
    ...request(),
    projectName,
    displayName: 'Demo',
  });
  const { secret } = await owner.call('iam.v1.AutomationService/CreateKey', {
    ...request(),
    parent: account.name,
    displayName: 'Demo key',
    lifetimeSeconds: KEY_LIFETIME_SECONDS,
  });
  await owner.call('project.v1.ProjectService/SignOutEverywhere', { requestId: randomUUID() });
  const { link } = await admin('login-link', email);
  return {
    baseUrl: endpoint,
    projectName,
    apiKey: String(secret),
    collectorKey,
    signInUrl: link,
  };
}

/**
 * Joins the shared service with a project of this name for the test alone. Has the interface of
 * `startProgram`.
 */
export async function joinService(project: string): Promise<ServiceUnderTest> {
  const service = await sharedService();
  const from = service.lines().length;
  const demo = await createProject(service, project);
  const log = () => service.lines().slice(from).join('');
  return { demo, log, ...callsOf(demo.baseUrl, demo.apiKey) };
}
