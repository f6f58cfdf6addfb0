/**
 * The commit core on SQLite under kills. A child counts on an embedded stream in several projects
 * at once and reports each acknowledgement. It is killed at random moments and restarted on the
 * same file, where each client resends its unanswered requests. In the end, every acknowledged
 * request is stored with the answer given, none has counted twice, and the file is intact without a
 * repair.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type t from 'tap';
import { test } from 'tap';
import { openEmbeddedStream } from '../../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { fraction, seededRandom } from '../../../streams/platform/random.ts';
import { COUNTER_LIMIT } from '../../support/counter-machine.ts';
import { countingNode, openPlace } from '../../support/counting-node.ts';

const KILLS = 30;
const WRITERS = 4;
/** Maximum number of acknowledgements before a life ends. */
const ACKNOWLEDGED_MAX = 60;

const writer = fileURLToPath(new URL('../../support/counting-writer.ts', import.meta.url));
const random = seededRandom(20_26);

interface Acknowledged {
  readonly writer: number;
  readonly count: number;
}

test('DUR-09: thirty kills lose no acknowledged data and count nothing twice', async (t) => {
  const file = `${t.testdir({})}/control.db`;
  const writers: Acknowledged[][] = Array.from({ length: WRITERS }, () => []);
  for (let kill = 0; kill < KILLS; kill++) {
    const died = await live(file, writers);
    t.equal(died, 'SIGKILL', `life ${kill} ended only by its kill`);
  }
  const total = writers.reduce((sum, writer) => sum + writer.length, 0);
  t.ok(total > KILLS * 5, `${total} requests were acknowledged`);
  for (const writer of writers) {
    const wanted = writer.map((_, i) => (i % COUNTER_LIMIT) + 1);
    t.same(
      writer.map(({ count }) => count),
      wanted,
      'each answer continues the count',
    );
  }
  await checkFile(t, file, writers);
});

/** One life of the writer, from start to kill. @returns the signal that ended it */
async function live(file: string, writers: Acknowledged[][]): Promise<string | null> {
  const done = writers.map((writer) => String(writer.length));
  const child = spawn(process.execPath, [writer, file, ...done], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let left = Math.floor(fraction(random) * ACKNOWLEDGED_MAX);
  const delayMs = fraction(random) * 3;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line !== 'ready') take(line, writers);
    // Some are killed during catch-up, some during an append.
    if (left-- === 0) setTimeout(() => child.kill('SIGKILL'), delayMs);
  }
  const [, signal] = (await closed) as [number | null, string | null];
  return signal;
}

function take(line: string, writers: Acknowledged[][]): void {
  const [writer = 0, i = 0, count = 0] = line.split(' ').map(Number);
  const acknowledged = writers[writer];
  if (acknowledged?.length !== i)
    throw new Error(`Writer ${writer} acknowledged ${line} out of turn`);
  acknowledged.push({ writer, count });
}

/** Opens the file as the next life would, and compares it with the acknowledged work. */
async function checkFile(t: Tap, file: string, writers: Acknowledged[][]): Promise<void> {
  const stream = openEmbeddedStream({ storage: file, clock: systemClock });
  const place = openPlace(file);
  const { host, store } = countingNode({ stream, place });
  await host.start();
  t.same(place.database.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
  for (const [writer, acknowledged] of writers.entries()) {
    const project = `project-${writer}`;
    for (const [i, { count }] of acknowledged.entries()) {
      const recorded = store.request(project, project, `${writer}-${i}`);
      if (recorded?.answer.count !== count)
        t.fail(`request ${writer}-${i} differs from its acknowledgement`);
    }
    const { adds } = place.database
      .prepare(
        `SELECT count(*) AS adds FROM transitions
         WHERE project = ? AND json_extract(event, '$.type') = 'added'`,
      )
      .get(project) as { adds: number };
    // The last request may have been committed although its answer was lost with the process.
    t.ok([0, 1].includes(adds - acknowledged.length), `${adds} of ${acknowledged.length}`);
  }
  await host.stop();
  place.database.close();
  await stream.close();
}

type Tap = Pick<typeof t, 'same' | 'fail' | 'ok'>;
