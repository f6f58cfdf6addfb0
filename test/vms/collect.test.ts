/**
 * The collector of a fleet against a real service with three projects: rows reach the project of
 * their mapping, from disk and with their own times, and no project outside the key's scope.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { type Log, silentLog } from '../../src/platform/log.ts';
import { writeEnrolment } from '../../src/vms/agent/enrolment-file.ts';
import { createSender, type SendBatch } from '../../src/vms/agent/sender.ts';
import {
  type CollectOptions,
  type CollectStatus,
  collectStatusPath,
  startCollect,
} from '../../src/vms/collect/collect.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { dataFolder, type Program, runInProcess, until } from '../support/program.ts';
import { fleetDomain, type Libvirts, virshOf } from '../support/recorded-fleet.ts';
import { startService } from '../support/service-in-process.ts';

const LIST = 'monitoring.v1.MonitoringService/ListVMMonitoring';
const QUERY = 'monitoring.v1.MonitoringService/QueryVMMonitoring';
const A = 'qemu:///system';
const B = 'qemu+ssh://monitor@host-b/system';
const [web, db, mail, odd] = [
  fleetDomain(1, 'shop-web'),
  fleetDomain(2, 'db'),
  fleetDomain(3, 'mail'),
  fleetDomain(4, 'odd'),
] as const;

/** A row as it was offered, and its outcome. */
interface Sent {
  readonly project: string;
  readonly vm: string;
  readonly observedMs: number;
  readonly kind: string;
}

/** A service with the projects demo, shop and blog, an enrolled folder, and fleets in it. */
async function openWorld(t: Test) {
  const data = dataFolder(t);
  const service = await startService(t, data);
  const admin = async (...words: string[]) => {
    const { code, stdout, text } = await runInProcess(['admin', ...words, '--data', data]);
    if (code !== 0) throw new Error(text);
    return stdout;
  };
  for (const project of ['shop', 'blog', 'foreign']) {
    await admin('project', 'create', project, '--owner', 'ada@example.com');
  }
  const projects = ['demo', 'shop', 'blog'].flatMap((project) => ['--project', project]);
  const create = ['collector-key', 'create', '--datacenter', 'DC-1', ...projects, '--json'];
  const { key, id } = JSON.parse(await admin(...create));
  const folder = dataFolder(t);
  const endpoint = service.demo.baseUrl;
  const nobody = { projectName: '', vmName: '', expiresUnix: 0, machine: '' };
  const enrol = (key: string) => writeEnrolment(folder, { endpoint, key, ...nobody });
  enrol(key);
  /** Another key, for demo only. */
  const another = async (): Promise<string> => {
    const words = ['--datacenter', 'DC-1', '--project', 'demo', '--json'];
    return JSON.parse(await admin('collector-key', 'create', ...words)).key;
  };
  const mappingPath = join(folder, 'collect.map');
  const map = (...rules: string[]) =>
    writeFileSync(mappingPath, [`source ${A}`, `source ${B}`, ...rules].join('\n'));
  const sent: Sent[] = [];
  const real = createSender(systemClock);
  const gate = { isOpen: true };
  const send: SendBatch = async (as, batch, signal) => {
    const outcome = gate.isOpen
      ? await real(as, batch, signal)
      : ({ kind: 'later', message: 'nobody answers' } as const);
    const project = as.projectName.slice('projects/'.length);
    for (const { about, observedMs } of batch.rows) {
      sent.push({ project, vm: about?.displayName ?? '', observedMs, kind: outcome.kind });
    }
    return outcome;
  };
  const libvirts: Libvirts = { [A]: [web, db], [B]: [mail, odd] };
  const start = (change: Partial<CollectOptions> = {}) => {
    const collect = startCollect({
      folder,
      mappingPath,
      intervalMs: 1_000,
      bytesMax: 2 ** 24,
      fileSystems: false,
      clock: systemClock,
      random: systemRandom,
      log: silentLog as Log,
      run: virshOf(libvirts),
      send,
      ...change,
    });
    t.teardown(() => collect.stop());
    return collect;
  };
  return { service, admin, id, enrol, another, folder, map, start, sent, gate, libvirts };
}

/** Names of the VMs that a project lists. */
async function listed(service: Program, project: string): Promise<string[]> {
  const { status, body } = await service.call(LIST, { projectName: `projects/${project}` });
  if (status !== 200) throw new Error(`HTTP ${status}`);
  const vms = (body.vms ?? []) as { displayName: string }[];
  return vms.map(({ displayName }) => displayName).sort();
}

test('SRC-11: a fleet reaches three projects, and none that its key excludes', async (t) => {
  const world = await openWorld(t);
  const { service, sent } = world;
  world.map('name shop-* project shop', 'name db project blog', `uuid ${mail.uuid} project demo`);
  const collect = world.start();
  const stored = (project: string, vm: string) => () =>
    sent.some((row) => row.project === project && row.vm === vm && row.kind === 'stored') ||
    undefined;
  await until(
    'rows of three projects',
    () => stored('shop', 'shop-web')() && stored('blog', 'db')() && stored('demo', 'mail')(),
  );
  t.same(
    await until('the VM of demo', async () => {
      const names = await listed(service, 'demo');
      return names.length > 0 ? names : undefined;
    }),
    ['mail'],
  );
  t.match(collect.status(), {
    unmatched: [{ name: 'odd', vm: odd.uuid }],
    unmatchedCount: 1,
    projects: [
      { project: 'blog', vms: 1 },
      { project: 'demo', vms: 1 },
      { project: 'shop', vms: 1 },
    ],
    faults: [],
  });
  t.notOk(
    sent.some(({ vm }) => vm === 'odd'),
    'a VM without a matching rule is not sent',
  );

  world.map('name shop-* project shop', 'name odd project foreign', 'name * project demo');
  collect.reload();
  const refused = await until('the refusal', () =>
    collect.status().projects.find(({ project, fault }) => project === 'foreign' && fault),
  );
  t.match(refused.fault, /PROJECT_BOUNDARY/);
  const before = sent.length;
  await until(
    'others go on',
    () =>
      sent.slice(before).some(({ project, kind }) => project === 'shop' && kind === 'stored') ||
      undefined,
  );
  t.notOk(sent.some(({ project, kind }) => project === 'foreign' && kind === 'stored'));

  delete world.libvirts[B];
  const displayed = await until('a status that says which libvirt is silent', () => {
    const text = readFileSync(collectStatusPath(world.folder), 'utf8');
    const { sources } = JSON.parse(text) as CollectStatus;
    return sources.find(({ fault }) => fault);
  });
  t.match(displayed, { name: /host-b/, fault: /failed to connect/ });

  world.map('name shop-* shop');
  collect.reload();
  t.match(collect.status().faults, ['line 3: must have the form "name PATTERN project ID"']);
  const then = sent.length;
  await until(
    'the previous mapping is in use',
    () => sent.slice(then).some(({ project }) => project === 'shop') || undefined,
  );
});

test('SRC-11: rows wait on disk for their project through a restart and keep their times', async (t) => {
  const world = await openWorld(t);
  const { sent, gate } = world;
  world.map('name shop-* project shop', 'name * project demo');
  gate.isOpen = false;
  const first = world.start();
  const waiting = () => first.status().projects.map(({ waitingRows }) => waitingRows);
  await until('rows of two rounds', () =>
    waiting().length === 2 && waiting().every((rows) => rows >= 2) ? true : undefined,
  );
  t.match(first.status().projects, [{ fault: 'nobody answers' }, { fault: 'nobody answers' }]);
  await first.stop();
  const offered = new Set(
    sent.map(({ project, vm, observedMs }) => `${project} ${vm} ${observedMs}`),
  );
  t.ok(offered.size > 0);
  // The current mapping applies to current observations.
  world.map('name * project blog');
  world.libvirts[A] = [];
  world.libvirts[B] = [];
  sent.length = 0;
  gate.isOpen = true;
  const second = world.start();
  await until('the rows that waited', () => {
    const stored = sent.filter(({ kind }) => kind === 'stored');
    const found = new Set(
      stored.map(({ project, vm, observedMs }) => `${project} ${vm} ${observedMs}`),
    );
    return [...offered].every((row) => found.has(row)) ? true : undefined;
  });
  t.notOk(
    sent.some(({ project }) => project === 'blog'),
    'no waiting row was moved',
  );
  await second.stop();
});

test('SRC-13: a moved domain is a VM of its new project, and its history stays in the old one', async (t) => {
  const world = await openWorld(t);
  const { service, sent } = world;
  world.libvirts[B] = [];
  world.map('name shop-* project demo', 'name db project shop');
  const collect = world.start();
  await until(
    'rows in demo',
    () =>
      sent.filter(({ project, kind }) => project === 'demo' && kind === 'stored').length > 2 ||
      undefined,
  );
  world.map('name * project shop');
  collect.reload();
  await until('it left demo', async () => {
    const names = await listed(service, 'demo');
    return names.length === 0 ? true : undefined;
  });
  await until(
    'rows in shop',
    () =>
      sent.some(
        ({ project, vm, kind }) => project === 'shop' && vm === 'shop-web' && kind === 'stored',
      ) || undefined,
  );
  const ofWeb = (project: string) =>
    sent
      .filter((row) => row.vm === 'shop-web' && row.project === project)
      .map(({ observedMs }) => observedMs);
  t.ok(Math.max(...ofWeb('demo')) < Math.min(...ofWeb('shop')), 'no time is in both');
  const seconds = Math.floor(Date.now() / 1000);
  const history = await service.call(QUERY, {
    name: `projects/demo/vms/${web.uuid}`,
    metricIds: ['disk_read_bytes_per_second'],
    startTimeUnix: String(seconds - 600),
    endTimeUnix: String(seconds + 30),
    stepSeconds: 30,
  });
  t.equal(history.status, 200, 'the old history is readable in its project');
  t.equal(collect.status().retiring, 0);
});

test('SRC-11: a revoked key sends nothing more, and waiting rows are sent with the next key', async (t) => {
  const world = await openWorld(t);
  const { sent } = world;
  world.map('name * project demo');
  const collect = world.start();
  const isStored = () => sent.some(({ kind }) => kind === 'stored') || undefined;
  await until('rows', isStored);
  await world.admin('collector-key', 'revoke', world.id);
  const fault = () => collect.status().projects[0]?.fault;
  await until('the refusal', () => (/CREDENTIAL_REVOKED/.test(fault() ?? '') ? true : undefined));
  sent.length = 0;
  await until('waiting rows', () =>
    (collect.status().projects[0]?.waitingRows ?? 0) > 4 ? true : undefined,
  );
  t.same(sent, [], 'a refused key is not retried in every round');
  world.enrol(await world.another());
  await until('rows with the next key', isStored);
  await until('nothing waits', () => (fault() === undefined ? true : undefined));
});
