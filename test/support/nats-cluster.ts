/**
 * Three real nats-servers in one cluster, for a test: on their own loopback ports, each with its
 * own store, killed by their process ids at the end.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
import { onOwnPorts } from './places.ts';
import { until } from './program.ts';

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
  /** The server that currently leads the stream. */
  leaderOf(stream: string): Promise<NatsServer>;
  /** Deletes a stream, as an operator would by mistake. */
  deleteStream(stream: string): Promise<void>;
  /** Resolves once streams with three copies can be created, or led, again. */
  untilWhole(): Promise<void>;
  /** Sends SIGKILL to all. */
  kill(): Promise<void>;
}

const SERVERS = [1, 2, 3];
let tries = 0;

type NatsClusterOptions = Pick<NatsServerOptions, 'program' | 'folder' | 'settings'>;

/** Starts a cluster that can create streams with three copies. Throws if it does not become one. */
export function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  return onOwnPorts(SERVERS.length, (ports) => startOn(ports, options));
}

/** @param ports of the routes between the servers */
async function startOn(
  ports: readonly number[],
  { program, folder, settings = '' }: NatsClusterOptions,
): Promise<NatsCluster> {
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  const starting = SERVERS.map((number, place) => {
    const own = join(folder, `nats-${number}`);
    mkdirSync(own, { recursive: true });
    const lines = [
      `server_name: nats-${number}`,
      // Clients keep to their configured addresses, because a test may have put a line in between.
      `cluster { name: test, listen: "127.0.0.1:${ports[place]}", routes: [${routes}], no_advertise: true }`,
      settings,
    ];
    return startNatsServer({ program, folder: own, settings: lines.join('\n') });
  });
  const started = await Promise.allSettled(starting);
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const kill = async () => void (await Promise.all(servers.map((server) => server.kill())));
  const cluster = clusterOf(servers, kill);
  try {
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    await cluster.untilWhole();
    return cluster;
  } catch (error) {
    await kill();
    throw error;
  }
}

function clusterOf(servers: readonly NatsServer[], kill: () => Promise<void>): NatsCluster {
  const urls = servers.map(({ url }) => url);
  return {
    servers,
    urls,
    kill,
    async leaderOf(stream) {
      const leader = await managed(urls, async ({ streams }) => {
        const { cluster } = await streams.info(stream);
        return cluster?.leader;
      });
      const server = servers[Number(leader?.split('-')[1]) - 1];
      if (server === undefined) throw new Error(`${stream} has no leader`);
      return server;
    },
    async deleteStream(stream) {
      await managed(urls, ({ streams }) => streams.delete(stream));
    },
    async untilWhole() {
      let missing: unknown;
      await until('three nats-servers form one cluster', () =>
        managed(urls, assertWhole).then(
          () => true,
          (error: unknown) => {
            missing = error;
            return undefined;
          },
        ),
      ).catch((error: Error) => {
        throw new Error(`${error.message}: ${String(missing)}`, { cause: missing });
      });
    },
  };
}

/** Creates a stream on all three servers, waits for its copies, and removes all of it. */
async function assertWhole({ streams }: JetStreamManager): Promise<void> {
  // A new name for each try, because the previous stream may be half created.
  const name = `WHOLE_${++tries}`;
  try {
    await streams.add({ name, subjects: [name], num_replicas: 3 });
    assertCopies(await streams.info(name));
  } finally {
    await streams.delete(name).catch(() => {});
  }
}

function assertCopies({ cluster }: StreamInfo): void {
  const current = cluster?.replicas?.filter((replica) => replica.current) ?? [];
  if (current.length !== 2) throw new Error(`${current.length + 1} of 3 copies are current`);
}

async function managed<R>(
  urls: readonly string[],
  act: (manager: JetStreamManager) => Promise<R>,
): Promise<R> {
  const nats = await connect({ servers: [...urls], timeout: 2_000 });
  try {
    return await act(await jetstreamManager(nats, { checkAPI: false, timeout: 4_000 }));
  } finally {
    await nats.close();
  }
}
