/**
 * The agent as systemd runs it, killed without warning: while it buffers, and while a batch is in
 * flight. Its stored rows arrive once each, and repeated requests have the same bytes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Test, test } from 'tap';
import {
  WriteSamplesRequestSchema,
  WriteSamplesResponseSchema,
} from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { writeEnrolment } from '../../../src/vms/agent/enrolment-file.ts';
import { dataFolder, runToEnd, until } from '../../support/program.ts';

const program = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));

interface Batch {
  readonly id: string;
  readonly bytes: string;
  readonly times: readonly number[];
}

/** A service that records its requests; `answer` decides the outcome of each. */
async function startRecorder(t: Test) {
  const batches: Batch[] = [];
  const stand = { answer: accept as (response: ServerResponse, batch: Batch) => void };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { batchId: id, rows } = fromBinary(WriteSamplesRequestSchema, body);
    const times = rows.map(({ observedUnixMs }) => Number(observedUnixMs));
    const batch = { id, bytes: body.toString('base64'), times };
    batches.push(batch);
    stand.answer(response, batch);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, batches, stand };
}

function accept(response: ServerResponse, { times }: Pick<Batch, 'times'>): void {
  const answer = create(WriteSamplesResponseSchema, { accepted: BigInt(4 * times.length) });
  response.writeHead(200, { 'content-type': 'application/proto' });
  response.end(toBinary(WriteSamplesResponseSchema, answer));
}

function busy(response: ServerResponse): void {
  response.writeHead(503).end();
}

function startChild(t: Test, folder: string): { child: ChildProcess; log: () => string } {
  const child = spawn(process.execPath, [program, 'agent', 'run', '--interval', '1s'], {
    env: { PATH: process.env.PATH ?? '', SVC_AGENT_STATE: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  child.stderr?.on('data', (chunk) => (text += chunk));
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(() => child.kill('SIGKILL'));
  return { child, log: () => text };
}

/** Times of all complete rows on disk. */
function onDisk(folder: string): number[] {
  const buffer = join(folder, 'buffer');
  return readdirSync(buffer)
    .sort()
    .flatMap((name) => {
      const lines = readFileSync(join(buffer, name), 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => Number(JSON.parse(line)[0]));
    });
}

const count = (folder: string): number => {
  try {
    return onDisk(folder).length;
  } catch {
    return 0;
  }
};

test('a SIGKILL while rows wait or a batch is in flight loses nothing', async (t) => {
  const folder = dataFolder(t);
  const recorder = await startRecorder(t);
  const about = { projectName: 'projects/demo', vmName: 'projects/demo/vms/vm-1', key: 'k' };
  writeEnrolment(folder, { ...about, endpoint: recorder.url, expiresUnix: 2e9, machine: '' });
  recorder.stand.answer = busy;
  const first = startChild(t, folder);
  await until('three rows wait', () => (count(folder) >= 3 ? true : undefined));
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const kept = onDisk(folder);
  t.equal((await runToEnd(['agent', 'status', '--state', folder, '--json'])).code, 1);

  // The service stores the next batch, and the agent dies before it learns of it.
  recorder.batches.length = 0;
  const requested = Promise.withResolvers<void>();
  recorder.stand.answer = () => requested.resolve();
  const second = startChild(t, folder);
  await requested.promise;
  second.child.kill('SIGKILL');
  await once(second.child, 'exit');
  const [uncertain] = recorder.batches;
  const atKill = onDisk(folder);
  t.same(atKill.slice(0, kept.length), kept, 'no accepted row is lost');

  recorder.stand.answer = accept;
  const third = startChild(t, folder);
  const received = () =>
    [...new Set(recorder.batches.map(({ id }) => id))].flatMap(
      (id) => recorder.batches.find((batch) => batch.id === id)?.times ?? [],
    );
  await until('all is sent', () =>
    atKill.every((time) => received().includes(time)) ? true : undefined,
  );
  t.match(recorder.batches[1], uncertain ?? {}, 'the same bytes under the same id');
  const times = received();
  t.equal(new Set(times).size, times.length, 'no row is in two batches');
  t.same(
    times,
    times.toSorted((a, b) => a - b),
    'in order',
  );
  const locked = await runToEnd(['agent', 'run', '--state', folder]);
  t.match(locked, { code: 2, text: /An agent is already running in/ });
  third.child.kill('SIGTERM');
  const [code] = await once(third.child, 'exit');
  t.equal(code, 0, third.log());
});
