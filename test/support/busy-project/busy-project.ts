/**
 * A running service with a project in which everything happens: 500 VMs, rules, incidents in each
 * state, deliveries with each outcome, trusted CI workflows, members of each role. It is started as
 * a user starts it, and collectors, keys and people fill it through its API, so it has only data
 * that a user could create. It also has an empty project.
 *
 * Observations are an hour old and arrive in order, as a collector sends its buffer. Their own
 * times decide what follows.
 */
import { randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { WriteSamplesRequestSchema } from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { startMailServer } from '../mail-server.ts';
import {
  dataFolder,
  type Program,
  pagesOf,
  runInProcess,
  startProgram,
  until,
} from '../program.ts';
import { giveAccess } from './access.ts';
import { type Behaviour, startEndpoints } from './endpoints.ts';
import { createFurtherDestinations } from './further-destinations.ts';
import { bodyOf, type Person, signInBy } from './people.ts';
import {
  guestRowOf,
  HISTORY_MS,
  type Row,
  rowOf,
  type Scenario,
  STEP_MS,
  story,
  vmId,
} from './readings.ts';
import { startPlatform, trustWorkflows } from './trusted-workflows.ts';

export interface BusyOptions {
  /** Number of VMs. Default 500; at least 100, because the first 100 have a story. */
  readonly vms?: number;
  /** Names, labels, notes and mounts contain markup, which must stay text. */
  readonly hasMarkup?: boolean;
  /** File systems of each VM, each an alert instance. Default 1. */
  readonly mounts?: number;
  /** Fills all file systems beyond the first: each is an open incident. */
  readonly areMountsFull?: boolean;
  readonly onProgress?: (what: string) => void;
}

export interface BusyProject {
  readonly program: Program;
  readonly origin: string;
  /** Resource name of the project, `projects/demo`. */
  readonly name: string;
  /** An empty project of the same owner. */
  readonly empty: string;
  readonly owner: Person;
  readonly editor: Person;
  readonly viewer: Person;
  /** Writes one more round of readings, so that VMs do not become stale. */
  report(): Promise<void>;
}

type Scope = { teardown(end: () => unknown): unknown };

const ALERTS = 'monitoring.v1.AlertService';
/** A request has at most 1 MiB. */
const REQUEST_BYTES = 900_000;
/** VMs with a story: their whole hour is written. */
const STORY_VMS = 100;
/** Length of the history of all other VMs, ms. */
const CALM_MS = 5 * 60_000;

/** Starts a busy project that ends with the scope. Throws with the first refusal. */
export async function startBusyProject(
  scope: Scope,
  options: BusyOptions = {},
): Promise<BusyProject> {
  const { vms = 500, hasMarkup = false, mounts = 1, areMountsFull = false } = options;
  const record = options.onProgress ?? (() => {});
  const folder = dataFolder(scope);
  const [endpoint, mail] = await Promise.all([startEndpoints(scope), startMailServer(scope)]);
  const platform = await startPlatform(scope);
  const program = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_PROJECT_CREATION: 'people',
    SVC_LOG_LEVEL: 'warn',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
    SVC_SMTP_URL: mail.url,
    SVC_SMTP_FROM: 'svc@example.com',
    SVC_GROUP_WAIT_SECONDS: '0',
    SVC_CI_ISSUERS: platform.setting,
  });
  record('the service runs');
  const limits = ['--instances', '50000', '--destinations', '12'];
  await admin(folder, 'limits', 'set', 'demo', ...limits);
  const elsewhereKey = await collectorKey(folder, 'DC-2');
  const people = await invitePeople(program);
  record('people are signed in');
  const markup = (text: string): string => (hasMarkup ? `<b>${text}</b>` : text);
  const destinations = await createDestinations(program, endpoint, markup);
  await saveRules(program, destinations, markup);
  record('rules are applied');
  await trustWorkflows(platform, program, people.owner, markup);
  const agents = await enrolAgents(people.owner, program);
  const scenario: Scenario = { nowMs: Date.now(), hasMarkup, mounts, areMountsFull };
  const senders = { elsewhereKey, agents, vms };
  await writeHistory(program, senders, scenario);
  record(`readings of ${vms} VMs are written`);
  const { baseUrl: origin, projectName } = program.demo;
  const around = { origin, projectName, owner: people.owner, mail, url: endpoint('accepts') };
  await createFurtherDestinations({ ...around, markup });
  record('there is a destination of each kind');
  await actOn(people, program, markup);
  await giveAccess({ ...people, projectName: program.demo.projectName, markup });
  record('incidents are acted on');
  return {
    program,
    origin: pagesOf(program.demo),
    name: projectName,
    ...people,
    empty: 'projects/lab',
    report: () => {
      const nowMs = Date.now();
      return writeRounds(program, senders, [nowMs], { ...scenario, nowMs });
    },
  };
}

async function admin(folder: string, ...args: string[]): Promise<string> {
  const { code, text, stdout } = await runInProcess(['admin', ...args, '--data', folder]);
  if (code !== 0) throw new Error(`svc admin ${args.join(' ')}: ${text}`);
  return stdout;
}

async function collectorKey(folder: string, datacenter: string): Promise<string> {
  const made = await admin(
    ...([folder, 'collector-key', 'create', '--datacenter', datacenter] as const),
    ...(['--project', 'demo', '--json'] as const),
  );
  return (JSON.parse(made) as { key: string }).key;
}

type People = Pick<BusyProject, 'owner' | 'editor' | 'viewer'>;

async function invitePeople({ demo }: Program): Promise<People> {
  const owner = await signInBy(demo.signInUrl ?? '');
  const invite = async (email: string, role: string): Promise<Person> => {
    const request = { projectName: demo.projectName, requestId: randomUUID(), email, role };
    const { link } = await owner.call('project.v1.ProjectService/InviteMember', request);
    return signInBy(String(link));
  };
  const editor = await invite('grace@example.com', 'EDITOR');
  const viewer = await invite('linus@example.com', 'VIEWER');
  for (const [email, role] of FURTHER_MEMBERS) await invite(email, role);
  await owner.call('project.v1.ProjectService/CreateProject', {
    requestId: randomUUID(),
    projectId: 'lab',
    displayName: 'Lab',
  });
  return { owner, editor, viewer };
}

const FURTHER_MEMBERS = [
  ['ada@example.com', 'OWNER'],
  ['edsger@example.com', 'EDITOR'],
  ['barbara@example.com', 'VIEWER'],
] as const;

type Destinations = Readonly<Record<Behaviour, string>>;

async function createDestinations(
  program: Program,
  endpoint: (behaviour: Behaviour) => string,
  markup: (text: string) => string,
): Promise<Destinations> {
  const made = async (behaviour: Behaviour, displayName: string): Promise<string> => {
    const destination = { displayName: markup(displayName), webhook: { url: endpoint(behaviour) } };
    const { destination: created } = await callWithKey(program, 'CreateDestination', {
      requestId: randomUUID(),
      destination,
    });
    return String((created as { name: unknown }).name);
  };
  return {
    accepts: await made('accepts', 'On call'),
    refuses: await made('refuses', 'Old pager'),
    'is overloaded': await made('is overloaded', 'Ticket system'),
    'hangs up': await made('hangs up', 'Chat bridge'),
  };
}

async function saveRules(
  program: Program,
  destinations: Destinations,
  markup: (text: string) => string,
): Promise<void> {
  const everywhere = Object.values(destinations);
  const all = { operator: 'GREATER_THAN', allVms: true } as const;
  const specs = [
    {
      ...all,
      displayName: markup('CPU is busy'),
      metricId: 'cpu_utilization_pct',
      threshold: 90,
      sustainedSeconds: 180,
      severity: 'CRITICAL',
      recoveryThreshold: 80,
      destinationNames: everywhere,
      labels: { team: markup('platform') },
    },
    {
      ...all,
      displayName: markup('Memory is short'),
      metricId: 'memory_used_pct',
      threshold: 85,
      sustainedSeconds: 120,
      severity: 'WARNING',
      destinationNames: [destinations.accepts, destinations['hangs up']],
    },
    {
      ...all,
      displayName: markup('Disk fills up'),
      metricId: 'filesystem_used_pct',
      threshold: 80,
      sustainedSeconds: 0,
      severity: 'INFO',
      destinationNames: [],
    },
    {
      ...all,
      displayName: markup('No readings'),
      metricId: 'telemetry_age_seconds',
      threshold: 600,
      sustainedSeconds: 0,
      severity: 'WARNING',
      destinationNames: [],
    },
  ];
  for (const spec of specs) {
    const request = { id: randomUUID(), requestId: randomUUID(), expectedVersion: '0', spec };
    await callWithKey(program, 'SaveAlertRule', request);
  }
  await until('the rules are applied', async () => {
    const { rules } = await callWithKey(program, 'ListAlertRules', {});
    const states = (rules as { syncStatus: string }[]).map(({ syncStatus }) => syncStatus);
    return states.length === specs.length && states.every((state) => state === 'APPLIED')
      ? true
      : undefined;
  });
}

/**
 * Keys of the agents, by the number of their VM. The VMs are unknown until a hypervisor reports
 * them.
 */
async function enrolAgents(owner: Person, program: Program): Promise<ReadonlyMap<number, string>> {
  const keys = new Map<number, string>();
  for (const n of [...story.expanded, story.invited]) {
    const vmName = `${program.demo.projectName}/vms/${vmId(n)}`;
    const request = { vmName, requestId: randomUUID(), datacenter: 'DC-1' };
    const { enrolmentToken } = await owner.call('project.v1.ProjectService/EnrolVm', request);
    if (n === story.invited) continue;
    const requested = { enrolmentToken, system: 'Debian 13, Linux 6.12' };
    const { key } = await owner.call('iam.v1.AutomationService/EnrolAgent', requested);
    keys.set(n, String(key));
  }
  return keys;
}

interface Senders {
  readonly elsewhereKey: string;
  readonly agents: ReadonlyMap<number, string>;
  readonly vms: number;
}

/** Writes an hour of the VMs with a story, and some minutes of the others, in the order of time. */
async function writeHistory(program: Program, senders: Senders, scenario: Scenario): Promise<void> {
  const times = Array.from(
    { length: HISTORY_MS / STEP_MS + 1 },
    (_, step) => scenario.nowMs - HISTORY_MS + step * STEP_MS,
  );
  const calmFrom = times.findIndex((atMs) => scenario.nowMs - atMs <= CALM_MS);
  await writeRounds(program, { ...senders, vms: STORY_VMS }, times.slice(0, calmFrom), scenario);
  await writeRounds(program, senders, times.slice(calmFrom, -1), scenario);
  // An incident that fires and recovers within one read of the evaluator is never reported. It has
  // to fire before the last round, which brings the recoveries.
  await untilFiring(program, [...story.cpuRecovered, ...story.diskRecovered]);
  await writeRounds(program, senders, times.slice(-1), scenario);
}

async function writeRounds(
  program: Program,
  { elsewhereKey, agents, vms }: Senders,
  times: readonly number[],
  scenario: Scenario,
): Promise<void> {
  const [here, elsewhere]: [Row[], Row[]] = [[], []];
  for (const atMs of times) {
    for (let n = 0; n < vms; n++) {
      const row = rowOf(n, atMs, scenario);
      const isElsewhere = (story.elsewhere as readonly number[]).includes(n);
      if (row) (isElsewhere ? elsewhere : here).push(row);
    }
  }
  await write(program, here, program.demo.collectorKey);
  await write(program, elsewhere, elsewhereKey);
  for (const [n, key] of agents) {
    const rows = times.map((atMs) => guestRowOf(n, atMs));
    await write(program, rows, key);
  }
}

async function write(program: Program, rows: readonly Row[], key: string): Promise<void> {
  const values = Math.max(1, ...rows.map((row) => row.values?.length ?? 0));
  const count = Math.floor(REQUEST_BYTES / (200 + 100 * values));
  for (let from = 0; from < rows.length; from += count) {
    await writeRequest(program, rows.slice(from, from + count), key);
  }
}

async function writeRequest({ demo }: Program, rows: Row[], key: string): Promise<void> {
  const request = create(WriteSamplesRequestSchema, { projectName: demo.projectName, rows });
  const answer = await fetch(`${demo.baseUrl}/svc.ingest.v1.IngestService/WriteSamples`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/proto',
    },
    body: new Uint8Array(toBinary(WriteSamplesRequestSchema, request)),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`WriteSamples answered ${answer.status}: ${text.slice(0, 300)}`);
}

interface Opened {
  readonly name: string;
  readonly vmName: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Acknowledges some incidents, snoozes others, and does both with one. */
async function actOn(
  { editor, owner }: People,
  program: Program,
  markup: (text: string) => string,
): Promise<void> {
  const [acknowledged, snoozed, both] = story.cpuFiring.slice(1).map(vmId);
  const firing = await untilFiring(program, [
    ...story.cpuFiring,
    ...story.memoryFiring,
    ...story.diskFiring,
  ]);
  const of = (id = ''): string =>
    firing.find(({ vmName }) => vmName.endsWith(id))?.name ?? 'no incident';
  const note = markup('Looking: a batch job of the shop runs until four');
  for (const name of [of(acknowledged), of(both)]) {
    await editor.call(`${ALERTS}/AcknowledgeIncident`, { name, requestId: randomUUID(), note });
  }
  const untilUnix = String(Math.floor(Date.now() / 1000) + 4 * 3600);
  for (const name of [of(snoozed), of(both)]) {
    await owner.call(`${ALERTS}/SnoozeIncident`, { name, requestId: randomUUID(), untilUnix });
  }
  // Tomorrow, so that it suppresses no notification of the story.
  await editor.call('monitoring.v1.MaintenanceService/CreateMaintenanceWindow', {
    projectName: program.demo.projectName,
    requestId: randomUUID(),
    note,
    vmName: `${program.demo.projectName}/vms/${vmId(0)}`,
    fromUnix: String(Number(untilUnix) + 86_400),
    untilUnix: String(Number(untilUnix) + 90_000),
  });
}

/**
 * Resolves with an open incident of each VM. Queries VM by VM, because there may be thousands of
 * other incidents. Incidents of further file systems are not part of the story.
 */
function untilFiring(program: Program, vms: readonly number[]): Promise<readonly Opened[]> {
  const ofVm = (n: number): Promise<Opened> =>
    until(`an incident of ${vmId(n)}`, async () => {
      const vmName = `${program.demo.projectName}/vms/${vmId(n)}`;
      const { incidents } = await callWithKey(program, 'ListIncidents', {
        vmName,
        state: 'FIRING',
      });
      const found = incidents as Opened[] | undefined;
      return found?.find(({ labels }) => labels?.mountpoint?.startsWith('/srv/') !== true);
    });
  return Promise.all(vms.map(ofVm));
}

async function callWithKey(program: Program, method: string, request: object) {
  const requested = { projectName: program.demo.projectName, ...request };
  return bodyOf(method, await program.call(`${ALERTS}/${method}`, requested));
}
