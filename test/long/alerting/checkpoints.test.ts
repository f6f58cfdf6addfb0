/**
 * Checkpoints of evaluation in the real program: a stop, a kill and damage, each followed by a start
 * that decides a condition which began before.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import {
  dataFolder,
  type Program,
  startProgram,
  until,
  untilLogged,
} from '../../support/program.ts';

const ALERTS = 'monitoring.v1.AlertService';
const SERIES = 'svc_vm_cpu_utilization_pct';
const SUSTAINED_SECONDS = 300;
/** Observed before the restart: 20 s less than the rule needs, then one row that completes it. */
const BEFORE_SECONDS = [285, 260, 235, 210, 185, 160, 135, 110, 85, 60, 35, 10];
const AFTER_SECONDS = -30;

interface Incident {
  readonly state: string;
  readonly startedUnix: string;
}

interface Story {
  readonly folder: string;
  readonly program: Program;
  readonly nowMs: number;
}

async function write({ demo, call }: Program, vm: string, timesMs: readonly number[]) {
  const rows = timesMs.map((ms) => ({
    vmName: vm,
    displayName: vm,
    observedUnixMs: String(ms),
    vcpus: 2,
    values: [{ series: SERIES, value: 95 }],
  }));
  const { projectName, collectorKey } = demo;
  const request = { projectName, batchId: randomUUID(), rows };
  return await call('ingest.v1.IngestService/WriteSamples', request, collectorKey);
}

async function incidents({ demo: { projectName }, call }: Program): Promise<Incident[]> {
  const { body } = await call(`${ALERTS}/ListIncidents`, { projectName });
  return (body.incidents ?? []) as Incident[];
}

/** Number of the VM's readings in the last 20 minutes. */
async function readings({ demo }: Program): Promise<number> {
  const query = encodeURIComponent(`count_over_time(${SERIES}[20m])`);
  const url = `${demo.baseUrl}/v1/monitoring/${demo.projectName}/promql/api/v1/query?query=${query}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${demo.apiKey}` } });
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

/** A started program with a rule whose condition has nearly held for long enough. */
async function nearlyFiring(t: Test): Promise<Story> {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  const { demo, call } = program;
  const spec = {
    displayName: 'busy',
    metricId: 'cpu_utilization_pct',
    operator: 'GREATER_THAN',
    threshold: 90,
    sustainedSeconds: SUSTAINED_SECONDS,
    severity: 'CRITICAL',
    allVms: true,
    enabled: true,
  };
  const ids = { id: randomUUID(), requestId: randomUUID(), expectedVersion: '0' };
  const { projectName } = demo;
  const saved = await call(`${ALERTS}/SaveAlertRule`, { projectName, ...ids, spec });
  t.equal(saved.status, 200, JSON.stringify(saved.body));
  // Incidents have whole seconds.
  const nowMs = Math.floor(Date.now() / 1000) * 1000;
  const written = await write(
    program,
    'vm-a',
    BEFORE_SECONDS.map((s) => nowMs - s * 1000),
  );
  t.match(
    { status: written.status, rejected: written.body.rejected ?? [] },
    { status: 200, rejected: [] },
  );
  return { folder, program, nowMs };
}

/** Starts again and asserts that the last row fires the rule, with the start of the whole run. */
async function assertContinues(t: Test, { folder, nowMs }: Story): Promise<Program> {
  const next = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  t.same(await incidents(next), [], 'not fired yet');
  t.equal(await readings(next), BEFORE_SECONDS.length, 'every reading from before is readable');
  await write(next, 'vm-a', [nowMs - AFTER_SECONDS * 1000]);
  const [first] = await until('the rule fires', async () => {
    const found = await incidents(next);
    return found.length > 0 ? found : undefined;
  });
  t.match(first, { state: 'FIRING', startedUnix: String(nowMs / 1000 - 285) });
  return next;
}

const checkpointsIn = (folder: string) =>
  readdirSync(join(folder, 'checkpoints')).filter((name) => /^\d+-\d+$/.test(name));

test('EVAL-25: a start after a stop continues every partition from its checkpoint', async (t) => {
  const story = await nearlyFiring(t);
  t.equal(await story.program.stop(), 0);
  t.ok(checkpointsIn(story.folder).length > 0);
  const next = await assertContinues(t, story);
  await untilLogged(next, /Evaluation of 64 of 64 partitions continues from checkpoints/);
});

test('EVAL-25: a start after a kill continues from checkpoints and the log since then', async (t) => {
  const story = await nearlyFiring(t);
  await until('a checkpoint is written', async () => {
    return existsSync(join(story.folder, 'checkpoints', 'index')) || undefined;
  });
  await story.program.kill();
  const next = await assertContinues(t, story);
  await untilLogged(next, /Evaluation of 64 of 64 partitions continues from checkpoints/);
});

test('EVAL-25: a damaged checkpoint is named in the log, and nothing else changes', async (t) => {
  const story = await nearlyFiring(t);
  await story.program.stop();
  for (const name of checkpointsIn(story.folder)) {
    const path = join(story.folder, 'checkpoints', name);
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  }
  const next = await assertContinues(t, story);
  await untilLogged(
    next,
    /the checkpoint of partition \d+ cannot be used; evaluation continues without it/,
  );
  t.notMatch(next.log(), /of 64 of 64 partitions/);
});
