/**
 * The rates of a project on every path: in binary before the RPC framework and in JSON through it,
 * by the project's collector and by one for all projects. A batch over a rate is refused with 429
 * before any of it is stored, and accepted as a whole after the time that the refusal names.
 */
import { type Test, test } from 'tap';
import { setLimits } from '../../actors/platform/project-limits.ts';
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { addFastWriteSamples } from '../../src/telemetry/api/write-samples-fast.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';
import { encoded } from '../support/write-requests.ts';

const PATH = '/svc.ingest.v1.IngestService/WriteSamples';
const SAMPLES = 300;

/** A batch as JSON. */
const batch = (batchId: string) => ({
  projectName: 'projects/demo',
  batchId,
  rows: Array.from({ length: SAMPLES }, (_, i) => ({
    vmName: `vm-${i}`,
    observedUnixMs: String(START_MS),
    values: [{ series: 'svc_vm_memory_total_bytes', value: 1 }],
  })),
});

const bodies = {
  binary: (batchId: string) => {
    const { projectName, rows } = batch(batchId);
    const binary = rows.map((row) => ({ ...row, observedUnixMs: BigInt(START_MS) }));
    return Buffer.from(encoded({ projectName, batchId, rows: binary }));
  },
  json: (batchId: string) => Buffer.from(JSON.stringify(batch(batchId))),
};

async function startWorld(t: Test) {
  const metrics: Metrics = createMetrics({ clock: systemClock, version: '1.2.3' });
  t.teardown(() => metrics.close());
  const world = await startRpcWorld(
    t,
    () => ({}),
    (app, parts) => addFastWriteSamples(app, { ...parts, metrics }),
  );
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  // A collector for all projects writes only into existing ones.
  await submit(world.host, { project: 'demo' }, (draft) =>
    draft.putRecord({ kind: 'project', id: 'demo', body: { displayName: 'demo' } }),
  );
  const { key: anywhere } = await world.collector(SYSTEM_PROJECT);
  const keys = { 'its own collector': world.keys.collector, 'a collector for all': anywhere };
  const send = async (form: 'binary' | 'json', who: keyof typeof keys, id: string) => {
    const answer = await fetch(url + PATH, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[who]}`,
        'content-type': form === 'binary' ? 'application/proto' : 'application/json',
      },
      body: bodies[form](id),
    });
    const text = await answer.text();
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text };
  };
  const limit = (change: Parameters<typeof setLimits>[1]) =>
    submit(world.host, { project: 'demo' }, (draft) => ({
      ...setLimits(draft, change),
    }));
  const fastAnswers = async () =>
    Number(/^svc_write_samples_fast_total (\d+)/m.exec(await metrics.text())?.[1]);
  return { ...world, send, limit, fastAnswers };
}

for (const form of ['binary', 'json'] as const) {
  for (const who of ['its own collector', 'a collector for all'] as const) {
    for (const name of ['samplesPerSecond', 'ingestBytesPerSecond'] as const) {
      test(`${form}, ${who}: a batch over ${name} is refused as a whole`, async (t) => {
        const world = await startWorld(t);
        // A bucket holds ten seconds: the first batch uses all of it, and the second does not fit.
        const { length: bytes } = bodies[form]('one');
        await world.limit({
          [name]: Math.ceil((name === 'samplesPerSecond' ? SAMPLES : bytes) / 10),
        });
        const first = await world.send(form, who, 'one');
        t.equal(first.status, 200, first.text);
        await world.settled();
        const before = (await world.stream.state(samplesSpec.name)).lastSequence;
        const applied = world.host.appliedSequence();
        await world.clock.advance(1_000);
        const refused = await world.send(form, who, 'two');
        t.equal(refused.status, 429, refused.text);
        t.match(refused.text, 'TOO_MANY_REQUESTS');
        t.match(refused.text, 'per second: keep this batch');
        t.equal(refused.retryAfter, '9', 'until the bucket is full again');
        t.equal(
          (await world.stream.state(samplesSpec.name)).lastSequence,
          before,
          'none of its rows',
        );
        t.equal(world.host.appliedSequence(), applied, 'and no VM');
        await world.clock.advance(9_000);
        const taken = await world.send(form, who, 'two');
        t.equal(taken.status, 200, taken.text);
        t.ok((await world.stream.state(samplesSpec.name)).lastSequence > before, 'then stored');
        t.equal(await world.fastAnswers(), form === 'binary' ? 3 : 0, 'answered on its own path');
      });
    }
  }
}
