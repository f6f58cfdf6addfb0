/**
 * The commit core on real nats-servers: two nodes, each with a connection and a store, write the
 * same projects while the server is killed and restarted, and while retention empties a quiet
 * project's subject. Clients resend unanswered requests to either node.
 */
import { test } from 'tap';
import { systemClock } from '../../../streams/platform/clock.ts';
import { eventsSubject } from '../../../streams/platform/commit/events.ts';
import { openJetStream } from '../../../streams/platform/jetstream/jetstream-stream.ts';
import { fraction, type Random, seededRandom } from '../../../streams/platform/random.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
import { componentPath, needs } from '../../support/components.ts';
import { COUNTER_LIMIT } from '../../support/counter-machine.ts';
import { add, type CountingNode, countingNode, projectionOf } from '../../support/counting-node.ts';
import { natsServerFor, natsServerVersions } from '../../support/nats-server.ts';

const CLIENTS = 4;
const REQUESTS = 40;
const KILLS = 2;

for (const version of natsServerVersions) {
  test(`two nodes on ${version} agree and keep their answers`, needs(version), async (t) => {
    const program = componentPath(version);
    const server = await natsServerFor(t, { program });
    const streams = [await open(server.url), await open(server.url)] as const;
    const nodes = streams.map((stream, i) => countingNode({ stream, name: `node-${i}` }));
    t.teardown(async () => {
      await Promise.all(nodes.map((node) => node.close()));
      await Promise.all(streams.map((stream) => stream.close()));
    });
    await Promise.all(nodes.map((node) => node.host.start()));
    await add(node(nodes, 0).host, 'quiet', 'q', 'quiet-1');

    const progress = { answered: 0 };
    const clients = Array.from({ length: CLIENTS }, (_, i) => runClient(nodes, i, progress));
    for (let kill = 1; kill <= KILLS; kill++) {
      await until(() => progress.answered >= (kill * CLIENTS * REQUESTS) / (KILLS + 1));
      await server.kill();
      await server.start();
    }
    const answers = (await Promise.all(clients)).flat();
    await emptyQuietSubject(streams[0], nodes);
    const { answer } = await add(node(nodes, 1).host, 'quiet', 'q', 'quiet-2');
    t.equal(answer.count, 2, 'a quiet project is still writable');

    await agree(streams[0], nodes);
    const [one, two] = nodes.map(({ database }) => projectionOf(database));
    t.equal(one, two);
    for (const { requestId, count } of answers) {
      const recorded = node(nodes, 0).store.request('busy', 'busy', requestId);
      if (recorded?.answer.count !== count)
        t.fail(`the record of ${requestId} differs from its answer`);
    }
    const counts = answers.map(({ count }) => count).sort((a, b) => a - b);
    const each = (CLIENTS * REQUESTS) / COUNTER_LIMIT;
    t.same(
      counts,
      Array.from({ length: counts.length }, (_, i) => 1 + Math.floor(i / each)),
    );
    t.comment(JSON.stringify(nodes.map(({ host }) => host.counters())));
    t.ok(nodes.some(({ host }) => host.counters().conflicts > 0));
  });
}

function open(url: string): Promise<Stream> {
  return openJetStream({ url, clock: systemClock });
}

function node(nodes: readonly CountingNode[], i: number): CountingNode {
  const found = nodes[i];
  if (found === undefined) throw new Error(`No node ${i}`);
  return found;
}

/** Increments its own counters, five times each, in the project that all clients share. */
async function runClient(
  nodes: readonly CountingNode[],
  client: number,
  progress: { answered: number },
): Promise<{ requestId: string; count: number }[]> {
  const random: Random = seededRandom(client);
  const answers: { requestId: string; count: number }[] = [];
  for (let i = 0; i < REQUESTS; ) {
    const requestId = `${client}-${i}`;
    const counter = `c${client}-${Math.floor(i / COUNTER_LIMIT)}`;
    const { host } = node(nodes, fraction(random) < 0.5 ? 0 : 1);
    try {
      const { answer } = await add(host, 'busy', counter, requestId);
      answers.push({ requestId, count: answer.count });
      progress.answered++;
      i++;
    } catch (error) {
      if (!(error instanceof StreamUnavailable)) throw error;
    }
  }
  return answers;
}

async function emptyQuietSubject(stream: Stream, nodes: readonly CountingNode[]): Promise<void> {
  const belowSequence = Math.min(...nodes.map(({ host }) => host.appliedSequence())) + 1;
  const subject = eventsSubject('quiet');
  await stream.truncate({ stream: 'EVENTS', belowSequence, subject });
}

/** Resolves when both nodes have applied the whole stream. */
async function agree(stream: Stream, nodes: readonly CountingNode[]): Promise<void> {
  const { lastSequence } = await stream.state('EVENTS');
  const signal = AbortSignal.timeout(180_000);
  await Promise.all(nodes.map(({ host }) => host.waitFor(lastSequence, signal)));
}

async function until(done: () => boolean): Promise<void> {
  const deadline = systemClock.elapsed() + 30_000;
  while (!done()) {
    if (systemClock.elapsed() > deadline) throw new Error('The nodes did not agree in time');
    await new Promise<void>((resolve) => systemClock.wakeAfter(5, resolve));
  }
}
