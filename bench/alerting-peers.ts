/**
 * Alerting compared with Prometheus 3.5.3, VictoriaMetrics and vmalert 1.145 and Alertmanager 0.33,
 * in one run on one machine: time from a breaching sample to a webhook, time of 5,000 notifications
 * to one receiver, messages lost and duplicated by a SIGKILL in the middle, and the cost of a round
 * over 10,000 instances.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fleetVm } from '../test/support/fleet.ts';
import { type Receiver, startReceiver } from './alerting/receiver.ts';
import {
  type AlertingSystem,
  startAlertmanager,
  startOurs,
  startOursOnJetStream,
  startPrometheusStack,
  startVmalertStack,
} from './alerting/systems.ts';
import { type Scope, withScope } from './support/scope.ts';

type Start = (scope: Scope, folder: string, receiver: Receiver) => Promise<AlertingSystem>;

const systems: readonly Start[] = [startOurs, startPrometheusStack, startVmalertStack];
const ALERTS = 40;
const STORM = 5_000;
/** Number of messages after which the sender is killed. */
const KILL_AFTER = 2_000;
/** Time without a new message after which no more are expected, ms. */
const QUIET_MS = 20_000;
const INSTANCES = 10_000;
const ROUNDS = 15;

/** Runs and prints the tables. */
export async function run(): Promise<void> {
  console.table(await inTurn(systems, latency));
  const stormed = [startOurs, startOursOnJetStream, startPrometheusStack, startVmalertStack];
  console.table([...(await inTurn(stormed, storm)), await withFolder(alertmanagerAlone)]);
  console.table([
    await withFolder(oursKilled),
    await withFolder((scope, folder) => alertmanagerKilled(scope, folder, false)),
    await withFolder((scope, folder) => alertmanagerKilled(scope, folder, true)),
  ]);
  console.table(await inTurn(systems, rounds));
}

/** One system after the other, each alone on the machine. */
async function inTurn<T>(
  starts: readonly Start[],
  measure: (system: AlertingSystem, receiver: Receiver) => Promise<T>,
): Promise<T[]> {
  const lines: T[] = [];
  for (const start of starts) {
    lines.push(
      await withFolder(async (scope, folder) => {
        const receiver = await startReceiver(scope);
        return measure(await start(scope, folder, receiver), receiver);
      }),
    );
  }
  return lines;
}

function withFolder<T>(use: (scope: Scope, folder: string) => Promise<T>): Promise<T> {
  return withScope((scope) => {
    const folder = mkdtempSync(join(tmpdir(), 'alerting-peers-'));
    scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
    return use(scope, folder);
  });
}

async function latency(system: AlertingSystem, receiver: Receiver) {
  const vms = upTo(ALERTS);
  await warmUp(system, receiver, ALERTS);
  const took: number[] = [];
  for (const n of vms) {
    // Avoids meeting their rounds at the same phase each time.
    await pause(Math.random() * 300);
    const arrival = receiver.next(fleetVm(n));
    const sentMs = performance.now();
    await system.write([n], 0.8);
    took.push((await arrival) - sentMs);
  }
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1);
  return {
    'breaching sample to webhook': system.name,
    alerts: ALERTS,
    'p50 ms': at(0.5),
    'p99 ms': at(0.99),
  };
}

/** Afterwards every part has its rule and connections, and has sent its first notification. */
async function warmUp(system: AlertingSystem, receiver: Receiver, vms: number): Promise<void> {
  await system.write(upTo(vms + 1), 0.2);
  await system.watch();
  const warm = receiver.next(fleetVm(vms));
  await system.write([vms], 0.8);
  await warm;
}

async function storm(system: AlertingSystem, receiver: Receiver) {
  const vms = upTo(STORM);
  await warmUp(system, receiver, STORM);
  receiver.clear();
  const startedMs = performance.now();
  await system.write(vms, 0.8);
  const acknowledgedMs = performance.now();
  await quietOrAll(receiver);
  return stormLine(`${system.name}, starting at the sample`, receiver, startedMs, acknowledgedMs);
}

async function alertmanagerAlone(scope: Scope, folder: string) {
  const receiver = await startReceiver(scope);
  const { origin } = await startAlertmanager(scope, folder, receiver);
  const startedMs = performance.now();
  await postAlerts(origin);
  const acknowledgedMs = performance.now();
  await quietOrAll(receiver);
  return stormLine('Alertmanager alone, given the alerts', receiver, startedMs, acknowledgedMs);
}

function stormLine(what: string, receiver: Receiver, startedMs: number, acknowledgedMs: number) {
  return {
    '5,000 notifications': what,
    arrived: receiver.received.size,
    'last after ms': (receiver.lastMs - startedMs).toFixed(0),
    'of which accepting them ms': (acknowledgedMs - startedMs).toFixed(0),
  };
}

async function oursKilled(scope: Scope, folder: string) {
  const receiver = await startReceiver(scope);
  await withKill(receiver, async (killAt) => {
    const first = await startOurs(scope, folder, receiver);
    await first.write(upTo(STORM), 0.2);
    await first.watch();
    await pause(1_000);
    killAt(first.pid);
    await first.write(upTo(STORM), 0.8);
  });
  await startOurs(scope, folder, receiver);
  await quietOrAll(receiver);
  return killLine('ours', receiver);
}

async function alertmanagerKilled(scope: Scope, folder: string, producerSendsAgain: boolean) {
  const receiver = await startReceiver(scope);
  const port = await withKill(receiver, async (killAt) => {
    const first = await startAlertmanager(scope, folder, receiver);
    killAt(first.pid);
    await postAlerts(first.origin).catch(() => {});
    return first.port;
  });
  const again = await startAlertmanager(scope, folder, receiver, port);
  if (producerSendsAgain) await postAlerts(again.origin);
  await quietOrAll(receiver);
  return killLine(
    `Alertmanager, its producer ${producerSendsAgain ? 'sends again' : 'silent'}`,
    receiver,
  );
}

/** Runs `use`, then waits until the process named by it has been killed midway. */
async function withKill<T>(
  receiver: Receiver,
  use: (killAt: (pid: number) => void) => Promise<T>,
): Promise<T> {
  const killed = Promise.withResolvers<void>();
  const result = await use((pid) => {
    receiver.onMessage = () => {
      if (receiver.received.size < KILL_AFTER) return;
      receiver.onMessage = () => {};
      process.kill(pid, 'SIGKILL');
      killed.resolve();
    };
  });
  await killed.promise;
  return result;
}

function killLine(what: string, { received }: Receiver) {
  const twice = [...received.values()].filter((count) => count > 1).length;
  return {
    [`SIGKILL after ${KILL_AFTER} of 5,000`]: what,
    lost: STORM - received.size,
    'received more than once': twice,
  };
}

async function rounds(system: AlertingSystem) {
  const without = await cpuOfRounds(system);
  await system.watch();
  await pause(3_000);
  const withRule = await cpuOfRounds(system);
  return {
    [`${INSTANCES} instances, one round`]: system.name,
    'CPU ms, no rule': without.toFixed(0),
    'CPU ms, one rule': withRule.toFixed(0),
    'the rule': (withRule - without).toFixed(0),
  };
}

/** CPU time of the system in a second in which each VM has one new reading, ms. */
async function cpuOfRounds(system: AlertingSystem): Promise<number> {
  const vms = upTo(INSTANCES);
  await system.write(vms, 0.2);
  await pause(2_000);
  const before = system.cpuSeconds();
  const startedMs = performance.now();
  for (let round = 1; round <= ROUNDS; round++) {
    await system.write(vms, 0.2 + round / 100);
    await pause(Math.max(0, startedMs + round * 1_000 - performance.now()));
  }
  return ((system.cpuSeconds() - before) * 1_000) / ROUNDS;
}

async function postAlerts(origin: string): Promise<void> {
  const startsAt = new Date().toISOString();
  const alerts = upTo(STORM).map((n) => ({
    labels: { alertname: 'Memory', vm: fleetVm(n) },
    startsAt,
  }));
  const answer = await fetch(`${origin}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(alerts),
  });
  if (!answer.ok) throw new Error(`Alertmanager: ${answer.status} ${await answer.text()}`);
}

/** Waits until every VM has been reported, or no message has arrived for a while. */
async function quietOrAll(receiver: Receiver): Promise<void> {
  const begunMs = performance.now();
  while (performance.now() - Math.max(begunMs, receiver.lastMs) < QUIET_MS) {
    if (receiver.received.size >= STORM) {
      // Duplicates arrive later.
      await pause(3_000);
      return;
    }
    await pause(20);
  }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

if (import.meta.main) await run();
