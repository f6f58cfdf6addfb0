/**
 * Fairness of the export thread: turns, cancellation, an unresponsive thread, and the state of
 * projects that are no longer scraped.
 */
import { setImmediate as yieldIfDue } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { Exporter } from '../../../src/telemetry/export/exporter.ts';
import { type Clock, VirtualClock } from '../../../streams/platform/clock.ts';
import { startRpcWorld, type WorldParts } from '../../support/api-in-process.ts';
import { START_MS } from '../../support/host-in-memory.ts';

const entry = new URL('../../support/slow-export-thread.ts', import.meta.url);
const NEVER = new AbortController().signal;

async function startWorld(t: Test, clock?: Clock) {
  let parts: WorldParts | undefined;
  const world = await startRpcWorld(
    t,
    () => ({}),
    (_app, real) => {
      parts = real;
    },
  );
  if (parts === undefined) throw new Error('The world has no parts');
  const exporter = new Exporter({ ...parts, ...(clock && { clock }), entry });
  t.teardown(() => exporter.close());
  const ask = async (project: string, signal = NEVER) =>
    Buffer.from(
      await exporter.shard({ project, shard: 0, format: 'text', gzip: false }, signal),
    ).toString();
  /** One VM of the project, whose name says how its export behaves. */
  const put = (project: string, displayName: string) =>
    parts?.host.submit({
      project,
      by: { kind: 'service', name: 'test' },
      decide(draft) {
        const body = { displayName, datacenter: 'DC-1', expandedMonitoring: false };
        draft.putRecord({
          kind: 'vm',
          id: 'vm',
          sort: '',
          body: { ...body, registeredMs: START_MS, exportShard: 0 },
        });
      },
    });
  return { world, parts, ask, put };
}

/** Resolves when nothing more happens without the clock or a thread. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await yieldIfDue();
}

test('exports are cancelled when their clients disconnect, and the next ones are written', async (t) => {
  const { ask, put } = await startWorld(t);
  await put('demo', 'slow');
  await put('other', 'quick');
  t.equal(await ask('other'), 'quick', 'the thread runs');
  const gone = [new AbortController(), new AbortController(), new AbortController()];
  const requested = gone.map(({ signal }) => t.rejects(ask('demo', signal), /gone/));
  await settle();
  const others = ask('other');
  for (const one of gone) one.abort(new Error('gone'));
  await Promise.all(requested);
  t.equal(await others, 'quick');
});

test('a thread that does not cancel an export is replaced', async (t) => {
  const { world, ask, put } = await startWorld(t);
  await put('demo', 'stubborn');
  await put('other', 'quick');
  t.equal(await ask('other'), 'quick', 'the thread runs');
  const gone = new AbortController();
  const requested = t.rejects(ask('demo', gone.signal), /gone/);
  await settle();
  gone.abort(new Error('gone'));
  await requested;
  await world.clock.advance(2_000);
  t.match(world.lines.join('\n'), /export thread 1 did not stop a call within 2000 ms/);
  t.equal(await ask('other'), 'quick');
});

/** Each reading is a millisecond later, so that no export takes no time; its timers never fire. */
class CountingClock extends VirtualClock {
  #readings = 0;

  override elapsed(): number {
    return ++this.#readings;
  }
}

test('projects take turns: a project with many exports does not go first', async (t) => {
  const { ask, put } = await startWorld(t, new CountingClock(START_MS));
  const busy = ['busy-1', 'busy-2'];
  for (const project of busy) await put(project, 'slow');
  await put('demo', 'many');
  await put('other', 'one');
  const [held, gone] = [new AbortController(), new AbortController()];
  const first = [held, gone].map(({ signal }, i) =>
    t.rejects(ask(`busy-${i + 1}`, signal), /gone/),
  );
  await settle();
  const order: string[] = [];
  const record = async (project: string) => {
    order.push(await ask(project));
  };
  const requested = [...Array.from({ length: 6 }, () => record('demo')), record('other')];
  await settle();
  gone.abort(new Error('gone'));
  await Promise.all(requested);
  // One thread is held, so the other one writes them in the order in which it began them.
  t.equal(order.indexOf('one'), 1, order.join());
  held.abort(new Error('gone'));
  await Promise.all(first);
});

test('a failed export is reported with its cause, and the next one is written', async (t) => {
  const { world, ask, put } = await startWorld(t);
  await put('other', 'quick');
  await put('demo', 'die');
  await t.rejects(ask('demo'), { name: 'Refusal', reason: 'NOT_READY' });
  t.match(world.lines.join('\n'), /export thread 1 has stopped/);
  await world.clock.advance(60_000);
  t.equal(await ask('other'), 'quick');
  await put('broken', 'broken');
  await t.rejects(ask('broken'), { name: 'HistoryError', reason: 'FAULT' }, 'it is a 500');
  await put('hungry', 'hungry');
  await t.rejects(
    ask('hungry'),
    { name: 'Refusal', reason: 'RESPONSE_TOO_LARGE' },
    'it must not be retried',
  );
  await world.clock.advance(60_000);
  t.equal(await ask('other'), 'quick');
});
