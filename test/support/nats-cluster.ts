/**
 * Three real nats-servers in one cluster, for a test: on their own loopback ports, each with its
 * own store, killed by their process ids at the end.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
import { machineName, onOwnPorts } from './places.ts';
import { until } from './program.ts';

export interface NatsCluster {
  readonly servers: readonly NatsServer[];
  readonly urls: readonly string[];
  /** The server that currently leads the stream. */
  leaderOf(stream: string): Promise<NatsServer>;
  /** Deletes a stream, as an operator would by mistake. */
  deleteStream(stream: string): Promise<void>;
  /** Resolves once streams with three copies can be created, or led, again. */
  untilWhole(seconds?: number): Promise<void>;
  /** Sends SIGKILL to all. */
  kill(): Promise<void>;
}

const SERVERS = [1, 2, 3];
/** Attempts to form a cluster, each with other ports and empty stores. */
const FORMS_MAX = 3;
/** Time of an attempt, s: some ten times what a busy machine needs. */
const FORM_SECONDS = 90;
let tries = 0;

type NatsClusterOptions = Omit<NatsServerOptions, 'jetStream'>;

/**
 * Starts a cluster that can create streams with three copies. Throws if it does not become one, with
 * the logs of its servers.
 */
export async function startNatsCluster(options: NatsClusterOptions): Promise<NatsCluster> {
  for (let left = FORMS_MAX; ; left--) {
    const folder = join(options.folder, `cluster-${left}`);
    const start = (ports: readonly number[]) => startOn(ports, { ...options, folder });
    try {
      return await onOwnPorts(SERVERS.length, start);
    } catch (error) {
      // How servers of NATS find each other is not what a test is about.
      if (!(error instanceof NotFormed) || left === 1) throw error;
    }
  }
}

/** Three running servers did not become one cluster. */
class NotFormed extends Error {
  constructor(servers: readonly NatsServer[], cause: Error) {
    super(`${cause.message}\n${servers.map((server) => server.log()).join('\n')}`, { cause });
    this.name = 'NotFormed';
  }
}

/** @param ports of the routes between the servers */
async function startOn(
  ports: readonly number[],
  { folder, settings = '', ...options }: NatsClusterOptions,
): Promise<NatsCluster> {
  // Servers of another cluster cannot join, even if they still look for one of these ports.
  const name = machineName();
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  const starting = SERVERS.map((number, place) => {
    const own = join(folder, `nats-${number}`);
    mkdirSync(own, { recursive: true });
    const lines = [
      `server_name: nats-${number}`,
      // Clients keep to their configured addresses, because a test may have put a line in between.
      `cluster { name: ${name}, listen: "127.0.0.1:${ports[place]}", routes: [${routes}], no_advertise: true }`,
      settings,
    ];
    return startNatsServer({ ...options, folder: own, settings: lines.join('\n') });
  });
  const started = await Promise.allSettled(starting);
  const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const kill = async () => void (await Promise.all(servers.map((server) => server.kill())));
  const cluster = clusterOf(servers, kill);
  try {
    for (const one of started) if (one.status === 'rejected') throw one.reason;
    await cluster.untilWhole(FORM_SECONDS).catch((error: Error) => {
      throw servers.map((server) => server.ended()).find(Boolean) ?? new NotFormed(servers, error);
    });
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
    async untilWhole(seconds) {
      let missing: unknown;
      const probe = async () => {
        const gone = servers.map((server) => server.ended()).find(Boolean);
        if (gone !== undefined) throw gone;
        try {
          await managed(urls, assertWhole);
          return true;
        } catch (error) {
          missing = error;
          return undefined;
        }
      };
      const late = (error: Error) => {
        throw new Error(`${error.message}: ${String(missing)}`, { cause: error });
      };
      await until('three nats-servers form one cluster', probe, seconds).catch(late);
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
