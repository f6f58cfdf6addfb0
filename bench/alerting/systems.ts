/**
 * The compared systems, each complete: receiving samples, evaluating, notifying. Peers are
 * configured for speed: evaluation every second (their default is a minute), no group wait, each
 * alert a notification of its own.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentPath } from '../../test/support/components.ts';
import { fleetVm } from '../../test/support/fleet.ts';
import { startNatsServer } from '../../test/support/nats-server.ts';
import { reservePort } from '../../test/support/places.ts';
import { startProgram } from '../../test/support/program.ts';
import { encodeRemoteWrite } from '../../test/support/remote-write.ts';
import { Api, memoryRow } from '../support/api.ts';
import type { Scope } from '../support/scope.ts';
import { cpuSecondsOf, type PeerProcess, startPeer } from './processes.ts';
import type { Receiver } from './receiver.ts';

/** Our system, which can be killed by its process id. */
export interface OurSystem extends AlertingSystem {
  readonly pid: number;
}

export interface AlertingSystem {
  readonly name: string;
  /**
   * Writes a current reading of each VM; `ratio` is the memory used. Resolves when it is
   * acknowledged.
   */
  write(vms: readonly number[], ratio: number): Promise<void>;
  /**
   * One rule over all VMs: memory used above half, without a duration. Resolves once it is
   * evaluated.
   */
  watch(): Promise<void>;
  /** CPU time of all its processes so far, seconds. */
  cpuSeconds(): number;
}

const ROUND_MS = 1_000;
const ROWS_A_REQUEST = 500;

export async function startOurs(
  scope: Scope,
  folder: string,
  receiver: Receiver,
  more: Readonly<Record<string, string>> = {},
): Promise<OurSystem> {
  const { demo, pid } = await startProgram(scope, folder, {
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
    ...more,
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const api = new Api(demo);
  let sequence = 0;
  return {
    name: 'ours',
    pid,
    async write(vms, usedRatio) {
      sequence++;
      for (let start = 0; start < vms.length; start += ROWS_A_REQUEST) {
        const observed = { observedMs: Date.now(), sequence, usedRatio };
        await api.write(
          vms.slice(start, start + ROWS_A_REQUEST).map((n) => memoryRow(n, observed)),
        );
      }
    },
    async watch() {
      const destinations = [await api.createWebhook(receiver.url)];
      const rule = { displayName: 'Memory', metricId: 'memory_used_pct', threshold: 50 };
      await api.saveRule({ ...rule, destinations });
    },
    cpuSeconds: () => cpuSecondsOf(pid),
  };
}

/** One member on its own nats-server. */
export async function startOursOnJetStream(
  scope: Scope,
  folder: string,
  receiver: Receiver,
): Promise<OurSystem> {
  const program = componentPath('nats-server 2.15.1');
  const server = await startNatsServer({ program, folder: join(folder, 'nats') });
  scope.teardown(() => server.kill());
  const own = join(folder, 'data');
  mkdirSync(own, { recursive: true });
  const ours = await startOurs(scope, own, receiver, { SVC_NATS_URL: server.url });
  return { ...ours, name: 'ours on JetStream' };
}

export interface Alertmanager extends PeerProcess {
  readonly origin: string;
}

/**
 * Each alert is a group of its own and does not wait for others. `port`: port of a previous
 * instance.
 */
export async function startAlertmanager(
  scope: Scope,
  folder: string,
  receiver: Receiver,
  port?: number,
): Promise<Alertmanager & { readonly port: number }> {
  mkdirSync(folder, { recursive: true });
  const listen = port ?? (await reservePort());
  const config = join(folder, 'alertmanager.yml');
  writeFileSync(
    config,
    `route:
  receiver: hook
  group_by: ['...']
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 4h
receivers:
  - name: hook
    webhook_configs: [{ url: '${receiver.url}', send_resolved: false, max_alerts: 0 }]
`,
  );
  const origin = `http://127.0.0.1:${listen}`;
  const running = await startPeer(scope, {
    name: 'prometheus-alertmanager',
    args: [
      `--config.file=${config}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${listen}`,
      '--cluster.listen-address=',
    ],
    readyUrl: `${origin}/-/ready`,
  });
  return { ...running, origin, port: listen };
}

const RULES = `groups:
  - name: bench
    interval: ${ROUND_MS / 1000}s
    rules:
      - alert: Memory
        expr: memory_used_pct > 50
`;

export async function startPrometheusStack(
  scope: Scope,
  folder: string,
  receiver: Receiver,
): Promise<AlertingSystem> {
  const alertmanager = await startAlertmanager(scope, join(folder, 'alertmanager'), receiver);
  const rules = join(folder, 'rules.yml');
  writeFileSync(rules, 'groups: []\n');
  const config = join(folder, 'prometheus.yml');
  const target = alertmanager.origin.slice('http://'.length);
  writeFileSync(
    config,
    `global: { evaluation_interval: ${ROUND_MS / 1000}s }
rule_files: ['${rules}']
alerting: { alertmanagers: [{ static_configs: [{ targets: ['${target}'] }] }] }
`,
  );
  const origin = `http://127.0.0.1:${await reservePort()}`;
  const prometheus = await startPeer(scope, {
    name: 'prometheus 3.5.3',
    args: [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=${origin.slice('http://'.length)}`,
      '--web.enable-remote-write-receiver',
      '--web.enable-lifecycle',
      '--alertmanager.notification-queue-capacity=20000',
    ],
    readyUrl: `${origin}/-/ready`,
  });
  await knowsAlertmanager(origin);
  return {
    name: 'Prometheus, Alertmanager',
    write: (vms, ratio) => remoteWrite(origin, vms, ratio),
    async watch() {
      writeFileSync(rules, RULES);
      const answer = await fetch(`${origin}/-/reload`, { method: 'POST' });
      if (!answer.ok)
        throw new Error(`Prometheus did not accept the rules: ${await answer.text()}`);
    },
    cpuSeconds: () => prometheus.cpuSeconds() + alertmanager.cpuSeconds(),
  };
}

/**
 * Its discovery takes some seconds; alerts that fire before it are reported only after a minute.
 */
async function knowsAlertmanager(origin: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await fetch(`${origin}/api/v1/alertmanagers`);
    const { data } = (await answer.json()) as { data: { activeAlertmanagers: unknown[] } };
    if (data.activeAlertmanagers.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('Prometheus did not find its Alertmanager within 30 s');
}

export async function startVmalertStack(
  scope: Scope,
  folder: string,
  receiver: Receiver,
): Promise<AlertingSystem> {
  const alertmanager = await startAlertmanager(scope, join(folder, 'alertmanager'), receiver);
  const origin = `http://127.0.0.1:${await reservePort()}`;
  const database = await startPeer(scope, {
    name: 'victoria-metrics',
    args: [
      `-storageDataPath=${join(folder, 'vm')}`,
      `-httpListenAddr=${origin.slice('http://'.length)}`,
      '-search.latencyOffset=0s',
    ],
    readyUrl: `${origin}/health`,
  });
  const rules = join(folder, 'rules.yml');
  let vmalert: PeerProcess | undefined;
  return {
    name: 'VictoriaMetrics, vmalert, Alertmanager',
    write: (vms, ratio) => remoteWrite(origin, vms, ratio),
    async watch() {
      writeFileSync(rules, RULES);
      const listen = `127.0.0.1:${await reservePort()}`;
      vmalert = await startPeer(scope, {
        name: 'vmalert',
        args: [
          `-rule=${rules}`,
          `-datasource.url=${origin}`,
          `-httpListenAddr=${listen}`,
          `-notifier.url=${alertmanager.origin}`,
          '-rule.evalDelay=0s',
        ],
        readyUrl: `http://${listen}/health`,
      });
    },
    cpuSeconds: () =>
      database.cpuSeconds() + alertmanager.cpuSeconds() + (vmalert?.cpuSeconds() ?? 0),
  };
}

/** One gauge per VM: less than one of our rows, but all that the rule needs. */
async function remoteWrite(origin: string, vms: readonly number[], ratio: number): Promise<void> {
  const timeMs = Date.now();
  const body = encodeRemoteWrite(
    vms.map((n) => ({
      labels: [
        ['__name__', 'memory_used_pct'],
        ['vm', fleetVm(n)],
      ],
      samples: [{ timeMs, value: ratio * 100 }],
    })),
  );
  const headers = {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
    'x-prometheus-remote-write-version': '0.1.0',
  };
  const answer = await fetch(`${origin}/api/v1/write`, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`Remote write: ${answer.status} ${await answer.text()}`);
}
