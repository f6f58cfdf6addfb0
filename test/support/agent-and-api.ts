/**
 * The agent and the real API on a real port, under a virtual clock. A gate between them can be
 * shut, or can swallow answers. The world has an enrolled VM, and its agents in a folder.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';
import type { HostFiles } from '../../actors/telemetry/collectors/host/host-source.ts';
import type { WriteAnswer, WriteRequest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { Log } from '../../src/platform/log.ts';
import {
  type Agent,
  type AgentOptions,
  createGuestSource,
  startAgent,
} from '../../src/vms/agent/agent.ts';
import { writeEnrolment } from '../../src/vms/agent/enrolment-file.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { START_SECONDS, startRpcWorld, VM } from './api-in-process.ts';
import { dataFolder } from './program.ts';

export const INTERVAL_MS = 30_000;

/** State of the gate: `open`, `shut` (connections refused), or `mute` (requests pass, answers do not). */
export type GateMode = 'open' | 'shut' | 'mute';

export interface Gate {
  readonly url: string;
  mode: GateMode;
  /** Number of connections attempted. */
  tries: number;
}

/** A TCP gate on loopback, before `port`. */
async function openGate(t: Test, port: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    gate.tries++;
    sockets.add(inner);
    inner.on('error', () => {});
    inner.on('close', () => sockets.delete(inner));
    if (gate.mode === 'shut') return void inner.destroy();
    const outer = connect(port, '127.0.0.1');
    sockets.add(outer);
    outer.on('error', () => inner.destroy());
    outer.on('close', () => inner.destroy());
    inner.on('close', () => outer.destroy());
    inner.pipe(outer);
    outer.on('data', (chunk) => (gate.mode === 'mute' ? inner.destroy() : inner.write(chunk)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as { port: number };
  const gate = {
    url: `http://127.0.0.1:${address.port}`,
    tries: 0,
    current: 'open' as GateMode,
    get mode(): GateMode {
      return this.current;
    },
    /** Cuts open connections, so that the next request meets the new mode. */
    set mode(mode: GateMode) {
      this.current = mode;
      for (const socket of sockets) socket.destroy();
    },
  };
  t.teardown(() => {
    gate.mode = 'shut';
    server.close();
  });
  return gate;
}

/** A batch as ingest received it, and its answer. */
export interface Written {
  readonly request: WriteRequest;
  readonly answer: WriteAnswer;
}

/**
 * Starts a world that ends with the test. The gate is open, the VM is enrolled, and no agent runs
 * yet.
 */
export async function startAgentWorld(t: Test) {
  const written: Written[] = [];
  const world = await startRpcWorld(t, ({ ingest }) => ({
    ingest: {
      async write(request) {
        const answer = await ingest.write(request);
        if (request.reach?.vm) written.push({ request, answer });
        return answer;
      },
    },
  }));
  await world.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = world.app.server.address() as { port: number };
  const gate = await openGate(t, port);
  const owner = await world.signedInAs('demo', 'OWNER');
  const folder = dataFolder(t);
  const enrol = async (vmName = VM): Promise<string> => {
    const request = { vmName, requestId: randomUUID(), datacenter: 'DC-1' };
    const { body } = await world.call('EnrolVm', request, { person: owner });
    const answer = await world.call(
      'EnrolAgent',
      { enrolmentToken: body.enrolmentToken, system: 'test' },
      { key: null },
    );
    const { projectName, key, expiresUnix } = answer.body;
    const about = { endpoint: gate.url, projectName, vmName, key, machine: '' };
    writeEnrolment(folder, { ...about, expiresUnix: Number(expiresUnix) });
    return key;
  };
  const lines: string[] = [];
  const start = (change: Partial<AgentOptions> = {}): Agent => {
    const agent = startAgent({
      folder,
      intervalMs: INTERVAL_MS,
      clock: world.clock,
      random: seededRandom(9),
      log: collecting(lines),
      source: createGuestSource({ clock: world.clock, vm: 'vm-1', files: guestFiles(world) }),
      ...change,
    });
    t.teardown(() => agent.stop());
    return agent;
  };
  const unenrol = () =>
    world.call('UnenrolVm', { vmName: VM, requestId: randomUUID() }, { person: owner });
  /** Advances time step by step; sockets get their turns. */
  const pass = async (ms: number, stepMs = 1_000): Promise<void> => {
    for (let left = ms; left > 0; left -= stepMs) {
      await world.clock.advance(Math.min(stepMs, left));
      await turns(3);
    }
    await turns(20);
  };
  /** Loads that the service has stored, by Unix second. */
  const loads = async (): Promise<[number, number][]> => {
    await world.settled();
    const { body } = await world.call('QueryVMMonitoring', {
      name: VM,
      metricIds: ['load_1m'],
      stepSeconds: 30,
      startTimeUnix: String(START_SECONDS - 30),
      endTimeUnix: String(Math.floor(world.clock.now() / 1000) + 30),
    });
    const points: { timeUnix: string; value: number }[] = body.series[0]?.points ?? [];
    return points.map(({ timeUnix, value }) => [Number(timeUnix) - START_SECONDS, value]);
  };
  return { ...world, written, gate, folder, enrol, unenrol, start, pass, loads, agentLines: lines };
}

/** Runs a few turns of the event loop, which process the bytes that arrived on sockets. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Kernel files of a guest whose load equals the seconds since the start of the test. */
function guestFiles({ clock }: { readonly clock: { now(): number } }): HostFiles {
  const text = (path: string): string | undefined => {
    const load = (clock.now() / 1000 - START_SECONDS).toFixed(2);
    const meminfo = 'MemAvailable: 4096 kB\nSwapTotal: 8 kB\nSwapFree: 6 kB\n';
    const files: Record<string, string> = {
      '/proc/loadavg': `${load} 0.00 0.00 2/120 4242\n`,
      '/proc/meminfo': `MemTotal: 8192 kB\nMemFree: 1024 kB\n${meminfo}`,
      '/proc/stat': 'cpu 1 1 1 1 1 1 1 0 0 0\ncpu0 1 1 1 1 1 1 1 0 0 0\nprocs_running 3\n',
    };
    return files[path];
  };
  return { text: async (path) => text(path), names: async () => undefined };
}

function collecting(lines: string[]): Log {
  const note = (facts: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(facts)}`);
  };
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  return log;
}
