/**
 * The three journeys, measured on the running service: the files that a sample passes on its way to
 * a webhook, a PromQL query to its response, a CI job's assertion to its key. A file is on a
 * journey if one of its functions is entered between the request and its effect, and
 *
 * - in each of several rounds, but not in each of as many idle stretches, which excludes code that
 *   happens to run meanwhile (timers, probes);
 * - not in two unrelated calls as well: the shared path of every call and commit (HTTP,
 *   authentication, limits, committer, projection) is counted separately.
 *
 * Files are listed in the order in which they are first entered.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type CiIssuer, startCiIssuer } from '../../../test/support/ci-issuer.ts';
import { type Entry, TracedService } from './traced-service.ts';

const IDLE_MS = 300;
/** Each makes a destination for the shared path, and a project has at most five. */
const ROUNDS = 3;
const VM = 'a9f1a9c0-5a52-4f6e-9b0a-000000000001';

export interface Journey {
  readonly name: string;
  /** Its own files, in the order in which they are first entered. */
  readonly files: readonly string[];
  /** Files that unrelated calls and commits pass too. */
  readonly shared: readonly string[];
  readonly folders: number;
  /**
   * Number of times that the next file is in another folder, or on another floor, than the previous
   * one.
   */
  readonly folderChanges: number;
  readonly floorChanges: number;
}

/** The journeys through the service of the checkout in `root`. */
export async function measureJourneys(root: string): Promise<Journey[]> {
  const issuer = await startCiIssuer();
  const receiver = await startReceiver();
  const service = await TracedService.start(root, {
    SVC_CI_ISSUERS: issuer.setting,
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  try {
    const owner = await signIn(service);
    const road = await sharedRoad(service, owner);
    return [
      journeyOf('sample to webhook', await sampleJourney(service, receiver), road),
      journeyOf('PromQL query', await queryJourney(service), road),
      journeyOf('CI assertion', await assertionJourney(service, { issuer, owner }), road),
    ];
  } finally {
    await service.stop();
    await receiver.close();
    await issuer.close();
  }
}

/** A VM's memory crosses the threshold of a rule without a duration. */
async function sampleJourney(service: TracedService, receiver: Receiver): Promise<Entry[]> {
  const { projectName } = service.demo;
  const created = await service.call('monitoring.v1.AlertService/CreateDestination', {
    projectName,
    requestId: randomUUID(),
    destination: { displayName: 'Journey', webhook: { url: receiver.url } },
  });
  await write(service, 0.2);
  const id = randomUUID();
  await service.call('monitoring.v1.AlertService/SaveAlertRule', {
    projectName,
    id,
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'Journey',
      metricId: 'memory_used_pct',
      operator: 'GREATER_THAN',
      threshold: 50,
      sustainedSeconds: 0,
      severity: 'WARNING',
      allVms: true,
      destinationNames: [(created.destination as { name: string }).name],
    },
  });
  await pause(1_000);
  const fire = async (usedRatio: number) => {
    const arrival = receiver.next();
    await write(service, usedRatio);
    await arrival;
  };
  // Once in advance, so that code that opens or compiles at first use is not part of the journey.
  await fire(0.9);
  return ownEntries(
    service,
    () => fire(0.9),
    () => fire(0.2),
  );
}

async function queryJourney(service: TracedService): Promise<Entry[]> {
  const { baseUrl, projectName, apiKey } = service.demo;
  const query = async () => {
    const now = Date.now() / 1000;
    const parameters = new URLSearchParams({
      query: 'avg by (vm) (rate(svc_vm_memory_used_bytes[2m]))',
      step: '30',
      start: String(now - 600 - Math.random()),
      end: String(now),
    });
    const url = `${baseUrl}/v1/monitoring/${projectName}/promql/api/v1/query_range?${parameters}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` } });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`The query answered ${answer.status}: ${text}`);
  };
  await query();
  return ownEntries(service, query);
}

async function assertionJourney(
  service: TracedService,
  { issuer, owner }: { readonly issuer: CiIssuer; readonly owner: Session },
): Promise<Entry[]> {
  const { baseUrl, projectName } = service.demo;
  const audience = `${baseUrl}/${projectName}`;
  const mutate = (method: string, request: object) =>
    service.call(
      `iam.v1.AutomationService/${method}`,
      { requestId: randomUUID(), ...request },
      owner,
    );
  const capabilities = ['monitoring.read'];
  const { setupId, pairingCode, verification } = await mutate('StartCiVerification', {
    serviceAccountName: `${projectName}/serviceAccounts/demo`,
    displayName: 'Journey',
    capabilities,
  });
  const mint = () => issuer.mint({ aud: audience });
  const anonymous = (method: string, request: object) =>
    service.call(`iam.v1.AutomationService/${method}`, request, {});
  const proof = { setupId, pairingCode, assertion: await mint() };
  const { claimsDigest } = await anonymous('SubmitCiVerification', proof);
  const { name } = verification as { name: string };
  const approval = { name, capabilities, claimsDigest };
  const { name: trustName } = await mutate('ApproveCiVerification', approval);
  const exchange = async (assertion: string) =>
    anonymous('ExchangeCiToken', { trustName, assertion });
  await exchange(await mint());
  let assertion = '';
  return ownEntries(
    service,
    () => exchange(assertion),
    async () => {
      assertion = await mint();
    },
  );
}

/**
 * Functions that at least two unrelated calls enter. Together, the calls have every kind of
 * credential, request and response of a journey, so that what a journey does before its actual
 * subject is not counted as its own.
 */
async function sharedRoad(service: TracedService, owner: Session): Promise<ReadonlySet<string>> {
  const { projectName, baseUrl, apiKey, collectorKey } = service.demo;
  const withKey = (key: string) => ({ authorization: `Bearer ${key}` });
  const alerts = 'monitoring.v1.AlertService';
  const automation = 'iam.v1.AutomationService';
  const displayName = 'Another';
  const mutation = () => ({ projectName, requestId: randomUUID() });
  const read = async (path: string) => {
    const url = `${baseUrl}/v1/monitoring/${projectName}/${path}`;
    const answer = await fetch(url, { headers: withKey(apiKey) });
    await answer.text();
    if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  };
  const calls = [
    () => {
      const destination = { displayName, webhook: { url: 'http://127.0.0.1:9000/' } };
      return service.call(`${alerts}/CreateDestination`, { ...mutation(), destination });
    },
    () => {
      const request = { ...mutation(), displayName, capabilities: ['monitoring.read'] };
      return service.call(`${automation}/CreateServiceAccount`, request, owner);
    },
    () => service.call(`${alerts}/ListDestinations`, { projectName }),
    // Keys of collectors can call one method besides the journey's own.
    () => {
      const request = { ...mutation(), vmNames: [randomUUID()] };
      const method = 'ingest.v1.IngestService/RetireVms';
      return service.call(method, request, withKey(collectorKey));
    },
    // Admitted, but without a sample.
    () =>
      service.call(
        'ingest.v1.IngestService/WriteSamples',
        { projectName, rows: [] },
        withKey(collectorKey),
      ),
    // Resources that are not methods, read with a key.
    () => read('promql/api/v1/status/buildinfo'),
    () => read('export?shard=0'),
  ];
  const seen = new Map<string, number>();
  for (const call of calls) {
    await call();
    for (const place of placesOf(await ownEntries(service, call))) {
      seen.set(place, (seen.get(place) ?? 0) + 1);
    }
  }
  return new Set([...seen].filter(([, count]) => count > 1).map(([place]) => place));
}

/**
 * Functions entered in each round of `act`, in the order of the last one, without those entered in
 * each idle stretch. `before` prepares a round.
 */
async function ownEntries(
  service: TracedService,
  act: () => Promise<unknown>,
  before: () => Promise<unknown> = async () => {},
): Promise<Entry[]> {
  const idle = placesOf(await inEachRound(() => service.during(() => pause(IDLE_MS))));
  const entries = await inEachRound(async () => {
    await before();
    return service.during(act);
  });
  return entries.filter(({ place }) => !idle.has(place));
}

/** The last round's entries that all rounds had. */
async function inEachRound(round: () => Promise<Entry[]>): Promise<Entry[]> {
  let entries = await round();
  for (let n = 1; n < ROUNDS; n++) {
    const before = placesOf(entries);
    entries = (await round()).filter(({ place }) => before.has(place));
  }
  return entries;
}

function placesOf(entries: readonly Entry[]): Set<string> {
  return new Set(entries.map(({ place }) => place));
}

/** A journey from the functions entered on it, and those that every call enters. */
export function journeyOf(
  name: string,
  entries: readonly Entry[],
  road: ReadonlySet<string>,
): Journey {
  const fileOf = ({ place }: Entry) => place.replace(/:\d+$/, '');
  const files = [...new Set(entries.filter(({ place }) => !road.has(place)).map(fileOf))];
  const changes = (of: (file: string) => string) =>
    files.filter((file, i) => i > 0 && of(file) !== of(files[i - 1] ?? file)).length;
  return {
    name,
    files,
    shared: [...new Set(entries.map(fileOf))].filter((file) => !files.includes(file)),
    folders: new Set(files.map(dirname)).size,
    folderChanges: changes(dirname),
    floorChanges: changes((file) => file.split('/')[0] ?? ''),
  };
}

const TOTAL_BYTES = 2 ** 33;
let sequence = 0;

async function write(service: TracedService, usedRatio: number): Promise<void> {
  const { projectName, collectorKey } = service.demo;
  const used = TOTAL_BYTES * usedRatio;
  const row = {
    vmName: VM,
    bootId: 'boot',
    vcpus: 4,
    state: 'RUNNING',
    sequence: String(++sequence),
    observedUnixMs: String(Date.now()),
    values: [
      { series: 'svc_vm_memory_total_bytes', value: TOTAL_BYTES },
      { series: 'svc_vm_memory_free_bytes', value: TOTAL_BYTES - used },
      { series: 'svc_vm_memory_used_bytes', value: used },
    ],
  };
  const headers = { authorization: `Bearer ${collectorKey}` };
  await service.call('ingest.v1.IngestService/WriteSamples', { projectName, rows: [row] }, headers);
}

/** The owner's session, from the link that the first start creates. */
async function signIn({ demo }: TracedService): Promise<Session> {
  const link = new URL(demo.signInUrl);
  const token = new URLSearchParams(link.hash.slice(1)).get('token') ?? link.hash.slice(1);
  const answer = await fetch(`${demo.baseUrl}/auth/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (!answer.ok) throw new Error(`The sign-in link answered ${answer.status}`);
  const cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return { cookie, origin: demo.baseUrl, 'sec-fetch-site': 'same-origin' };
}

/** Headers of a signed-in person. */
type Session = Readonly<Record<string, string>>;

interface Receiver {
  readonly url: string;
  /** Resolves with the next message. */
  next(): Promise<void>;
  close(): Promise<void>;
}

async function startReceiver(): Promise<Receiver> {
  let arrived: () => void = () => {};
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      arrived();
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    next: () => new Promise((resolve) => (arrived = resolve)),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
