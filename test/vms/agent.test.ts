/**
 * The agent against the real API on a real port, under a virtual clock: the service disappears and
 * returns, answers are lost, keys expire, and every row arrives once, with its own time.
 */

import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorToJson } from '@connectrpc/connect/protocol-connect';
import { test } from 'tap';
import { setLimits } from '../../actors/platform/project-limits.ts';
import { httpStatusOf, toConnectError } from '../../src/platform/errors.ts';
import { bufferFolder, createGuestSource } from '../../src/vms/agent/agent.ts';
import {
  EnrolmentUnusable,
  enrolmentPath,
  readEnrolment,
  writeEnrolment,
} from '../../src/vms/agent/enrolment-file.ts';
import { createSender, type SendBatch, type SendOutcome } from '../../src/vms/agent/sender.ts';
import { readStatus } from '../../src/vms/agent/status-file.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { REFUSAL_REASONS, Refusal, type RefusalReason } from '../../streams/platform/refusal.ts';
import { INTERVAL_MS, startAgentWorld } from '../support/agent-and-api.ts';
import { VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const never = new AbortController().signal;

/** Observation times of all rows that ingest received, ms since the start. */
const timesOf = (written: Awaited<ReturnType<typeof startAgentWorld>>['written']): number[] =>
  written.flatMap(({ request }) => request.rows.map(({ observedMs }) => observedMs - START_MS));

test('only readings that no hypervisor can report are sent, every interval', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const agent = world.start();
  await world.pass(3 * INTERVAL_MS);
  const rows = world.written.flatMap(({ request }) => request.rows);
  t.ok(rows.length >= 3 && rows.length <= 4, `${rows.length} rows`);
  t.match(rows[0], {
    vm: 'vm-1',
    boot: '',
    vcpus: Number.NaN,
    state: 0,
    displayName: '',
    series: [
      'svc_vm_load1',
      'svc_vm_memory_available_bytes',
      'svc_vm_swap_used_bytes',
      'svc_vm_processes_running',
    ],
    values: [0, 4096 * 1024, 2048, 3],
  });
  t.ok(world.written.every(({ answer }) => answer.rejected.length === 0));
  t.match(agent.status(), {
    sentRows: rows.length,
    droppedRows: 0,
    rejected: {},
    fault: undefined,
  });
  const { writtenMs: _, ...status } = agent.status();
  t.match(readStatus(world.folder), status, 'as in the file');
  await agent.stop();
  t.same(readdirSync(bufferFolder(world.folder)), [], 'nothing waits');
});

test('a service that was down for an hour gets every row afterwards, once, with its own time', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const agent = world.start();
  await world.pass(2 * INTERVAL_MS);
  world.gate.mode = 'shut';
  await world.pass(3_600_000, 10_000);
  t.match(agent.status().fault, /127\.0\.0\.1/);
  const tries = world.gate.tries;
  t.ok(tries > 40 && tries < 140, `${tries} connections in an hour`);
  const sentBefore = agent.status().sentRows;
  world.gate.mode = 'open';
  await world.pass(120_000);
  t.equal(agent.status().fault, undefined);
  t.equal(agent.status().sentRows, agent.status().observedRows);
  t.ok(agent.status().sentRows - sentBefore >= 120);
  const times = timesOf(world.written);
  t.same(
    times,
    [...new Set(times)].sort((a, b) => a - b),
    'in order, none repeated',
  );
  for (const [i, time] of times.entries()) {
    if (i > 1) t.equal(time - (times[i - 1] ?? 0), INTERVAL_MS, 'none is missing');
  }
  const loads = await world.loads();
  t.ok(loads.length >= 120, `${loads.length} points`);
  t.ok(
    loads.every(([seconds, load]) => Math.abs(seconds - load) < 30),
    'each with its own time',
  );
  t.equal(
    world.agentLines.filter((line) => line.startsWith('Rows wait')).length,
    1,
    'reported once',
  );
});

test('a batch whose answer was lost is resent with the same bytes, and stored once', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  world.gate.mode = 'mute';
  const agent = world.start();
  await world.pass(5_000);
  t.ok(world.written.length >= 2, `${world.written.length} times at the service`);
  world.gate.mode = 'open';
  await world.pass(10_000);
  t.equal(agent.status().sentRows, 1);
  const [first] = world.written;
  for (const again of world.written) {
    t.same(again.request, first?.request, 'the same batch');
    t.equal(again.answer.duplicates, 0, 'answered like the first time: it was not stored again');
  }
});

test('an agent that dies between storage and acknowledgement resends the same batch', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  world.gate.mode = 'mute';
  const first = world.start();
  await world.pass(2_000);
  t.equal(first.status().sentRows, 0);
  const before = world.written.length;
  t.ok(before > 0);
  await first.stop();
  world.gate.mode = 'open';
  const second = world.start();
  await world.pass(5_000);
  t.ok(second.status().sentRows >= 1);
  const ids = world.written.map(({ request }) => request.batchId);
  t.equal(ids[before], ids[0]);
  t.equal(world.written[before]?.answer.duplicates, 0);
});

test('an agent whose VM is unenrolled keeps its rows, and continues when enrolled again', async (t) => {
  const world = await startAgentWorld(t);
  const key = await world.enrol();
  const agent = world.start();
  await world.pass(INTERVAL_MS);
  await world.unenrol();
  await world.pass(3_600_000, 10_000);
  t.match(agent.status().fault, /^CREDENTIAL_REVOKED/);
  t.notMatch(world.agentLines.join(), key);
  const waiting = agent.status().observedRows - agent.status().sentRows;
  t.ok(waiting >= 118, `${waiting} rows wait`);
  await world.enrol();
  await world.pass(INTERVAL_MS + 5_000);
  t.equal(agent.status().fault, undefined, 'detected with the next reading');
  t.equal(agent.status().sentRows, agent.status().observedRows);
});

test('rows that the service can never accept are discarded and counted; refusals are reported', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const outcomes: SendOutcome[] = [
    { kind: 'refused', message: 'INVALID_FIELD: no' },
    {
      kind: 'stored',
      accepted: 0,
      rejected: [{ row: 0, series: '', reason: 'CLOCK_AHEAD' }] as never,
    },
  ];
  const send: SendBatch = async () =>
    outcomes.shift() ?? { kind: 'stored', accepted: 4, rejected: [] };
  const agent = world.start({ send });
  await world.pass(4 * INTERVAL_MS);
  t.match(agent.status(), { droppedRows: 1, rejected: { CLOCK_AHEAD: 1 } });
  t.match(world.agentLines.join('\n'), /dropped: INVALID_FIELD.*\n.*rejects samples.*CLOCK_AHEAD/s);
});

test('a batch is discarded only if the service refuses the batch itself', async (t) => {
  const reply = { status: 200, type: 'application/json', body: '' };
  const server = createServer((_request, response) => {
    response.writeHead(reply.status, { 'content-type': reply.type }).end(reply.body);
  }).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const enrolment = {
    endpoint: `http://127.0.0.1:${port}`,
    key: 'k',
    machine: '',
    expiresUnix: 0,
    projectName: 'projects/demo',
    vmName: VM,
  };
  const send = createSender(new VirtualClock(START_MS));
  const kindOf = async (status: number, reason: RefusalReason, field?: string) => {
    const refusal = new Refusal(reason, 'no', field === undefined ? {} : { field });
    const body = JSON.stringify(errorToJson(toConnectError(refusal), undefined));
    Object.assign(reply, { status, body });
    return (await send(enrolment, { id: 'b', rows: [] }, never)).kind;
  };
  const ofTheBatch = ['batchId', 'rows[3].values', 'rows[0].vmName'];
  for (const field of ofTheBatch) t.equal(await kindOf(400, 'INVALID_FIELD', field), 'refused');
  t.equal(await kindOf(400, 'REQUEST_TOO_LARGE'), 'refused');
  t.equal(await kindOf(413, 'REQUEST_TOO_LARGE'), 'refused');
  const headers = ['Host', 'svc-sequence', 'Content-Encoding', 'Connect-Protocol-Version'];
  for (const field of [...headers, 'projectName', undefined]) {
    t.equal(await kindOf(400, 'INVALID_FIELD', field), 'later', `${field}`);
  }
  t.equal(await kindOf(421, 'INVALID_FIELD', 'Host'), 'later', 'as earlier services worded it');
  for (const status of [400, 417, 421, 503]) {
    t.equal(await kindOf(status, 'INVALID_FIELD'), 'later', `${status}`);
    t.equal(await kindOf(status, 'WRONG_HOST'), 'later', `${status}`);
  }
  const kept = REFUSAL_REASONS.filter((reason) => reason !== 'REQUEST_TOO_LARGE');
  for (const reason of kept) {
    t.not(await kindOf(httpStatusOf(reason), reason), 'refused', reason);
  }
});

test('a key that expires within two weeks is reported while it still works', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const agent = world.start({ send: async () => ({ kind: 'stored', accepted: 4, rejected: [] }) });
  await world.pass(1_000);
  t.equal(agent.status().fault, undefined);
  world.clock.jump(352 * 86_400_000);
  await world.pass(INTERVAL_MS);
  t.match(agent.status().fault, /^The key ends on 2027-01-01T00:00:00/);
  t.match(readStatus(world.folder)?.fault, /Enrol the VM again/);
});

test('the agent waits at least as long as Retry-After says', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const triedMs: number[] = [];
  const send: SendBatch = async () => {
    triedMs.push(world.clock.now() - START_MS);
    return { kind: 'later', message: 'TOO_MANY_REQUESTS', retryAfterMs: 20_000 };
  };
  world.start({ send });
  await world.pass(70_000);
  t.ok(triedMs.length >= 3 && triedMs.length <= 4, String(triedMs));
  for (const [i, at] of triedMs.entries()) {
    if (i > 0) t.ok(at - (triedMs[i - 1] ?? 0) > 20_000, String(triedMs));
  }
});

test('an agent over its project’s rate loses no row: all arrive late, in order', async (t) => {
  const world = await startAgentWorld(t);
  await world.enrol();
  const limit = (samplesPerSecond: number) =>
    submit(world.host, { project: 'demo' }, (draft) => ({
      ...setLimits(draft, { samplesPerSecond }),
    }));
  await limit(0);
  const tries: { atMs: number; outcome: SendOutcome }[] = [];
  const toService = createSender(world.clock);
  const send: SendBatch = async (...batch) => {
    const atMs = world.clock.now();
    const outcome = await toService(...batch);
    tries.push({ atMs, outcome });
    return outcome;
  };
  const agent = world.start({ send });
  await world.pass(2 * INTERVAL_MS);
  t.match(tries, [{ outcome: { kind: 'later', message: /TOO_MANY/, retryAfterMs: 600_000 } }]);
  t.equal(tries.length, 1, 'not resent before the time that the service named');
  t.same(world.written, []);
  await limit(1_000);
  await world.pass(660_000, 10_000);
  const [refused, again] = tries;
  t.ok((again?.atMs ?? 0) - (refused?.atMs ?? 0) >= 600_000, 'waited at least this long');
  t.match(agent.status(), { droppedRows: 0, rejected: {}, fault: undefined });
  t.equal(agent.status().sentRows, agent.status().observedRows);
  const times = timesOf(world.written);
  t.ok(times.length >= 20, `${times.length} rows`);
  for (const [i, time] of times.entries()) {
    if (i > 1)
      t.equal(time - (times[i - 1] ?? 0), INTERVAL_MS, 'with its own time, none is missing');
  }
});

test('a missing kernel file gives no reading, and is reported', async (t) => {
  const clock = new VirtualClock(START_MS);
  const reading = (texts: Record<string, string>) =>
    createGuestSource({
      clock,
      vm: 'vm-1',
      files: { text: async (path) => texts[path], names: async () => undefined },
    }).read(never);
  t.match(await reading({}), { rows: [], faults: [{ reason: 'INCOMPLETE' }] });
  const some = await reading({ '/proc/loadavg': '0.50 0.4 0.3 1/2 3' });
  t.same(some.rows[0]?.values, [['svc_vm_load1', 0.5]]);
  t.match(some.faults, [{ message: /meminfo, .proc.stat/ }]);
  const own = await createGuestSource({ clock, vm: 'vm-1' }).read(never);
  t.ok((own.rows[0]?.values.length ?? 0) >= 3, 'this machine has most of them');
});

test('an enrolment that is damaged, copied or readable by others is not used', async (t) => {
  const folder = t.testdir();
  const about = { endpoint: 'https://x', projectName: 'projects/demo', vmName: VM, key: 'k' };
  t.throws(() => readEnrolment(folder), EnrolmentUnusable);
  writeEnrolment(folder, { ...about, expiresUnix: 1, machine: 'a' });
  t.equal(readEnrolment(folder, 'a').vmName, VM);
  t.throws(() => readEnrolment(folder, 'b'), /copy of/);
  t.equal(readEnrolment(folder, '').key, 'k', 'without a machine-id to compare');
  const path = enrolmentPath(folder);
  chmodSync(path, 0o644);
  t.throws(() => readEnrolment(folder, 'a'), /chmod 600/);
  chmodSync(path, 0o600);
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40));
  t.throws(() => readEnrolment(folder, 'a'), /damaged/);
  t.ok(existsSync(path));
});
