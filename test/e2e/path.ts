/**
 * The main path of the product, as a user walks it: readings appear, a rule is saved over HTTP, the
 * CPU is loaded, a signed webhook arrives, the load ends, and the recovery arrives. Shared by the
 * runs on the embedded stream, on nats-server, and on a real virtual machine.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Test } from 'tap';
import { type Program, until } from '../support/program.ts';
import type { Receiver } from '../support/receiver.ts';

export const e2eSettings = {
  SVC_SAMPLE_INTERVAL_SECONDS: '1',
  SVC_WEBHOOK_ALLOW: '127.0.0.1',
  SVC_WEBHOOK_ALLOW_HTTP: 'on',
} as const;

interface Vm {
  readonly name: string;
  readonly displayName: string;
  readonly state: string;
  readonly cpuUtilizationPct?: number;
  readonly memoryUsedBytes?: number;
}

/** The first VM that `wanted` accepts, once its CPU utilisation is observed. */
export function observedVm(program: Program, wanted: (vm: Vm) => boolean): Promise<Vm> {
  return until('a VM with observed CPU utilisation', async () => {
    const { status, body } = await program.call(
      'monitoring.v1.MonitoringService/ListVMMonitoring',
      {
        projectName: program.demo.projectName,
      },
    );
    if (status !== 200) throw new Error(`ListVMMonitoring: ${JSON.stringify(body)}`);
    return (body.vms as Vm[]).find((vm) => vm.cpuUtilizationPct !== undefined && wanted(vm));
  });
}

type EndLoad = () => Promise<void>;

export interface Walk {
  readonly program: Program;
  readonly receiver: Receiver;
  readonly vm: Vm;
  /** Threshold that readings exceed under load only. */
  readonly threshold: number;
  /** Starts the load. Its result ends it. */
  readonly load: () => Promise<EndLoad>;
}

/** Walks the path. Resolves with the names of the rule and the incident. */
export async function walkAlert(t: Test, walk: Walk): Promise<{ rule: string; incident: string }> {
  const { program, receiver, vm } = walk;
  const { secret, destination } = await createWebhook(t, program, receiver.url);
  const rule = await saveRule(t, walk, destination);
  const endLoad = await walk.load();
  try {
    const firing = await until('the firing webhook', () => receiver.received[0]);
    receiver.verify(firing, secret);
    t.match(firing.body, {
      type: 'incident.firing',
      data: { state: 'FIRING', vmName: vm.name, metricId: 'cpu_utilization_pct' },
    });
    t.ok(Number(firing.body.data.value) > walk.threshold, 'the reported value breaches');
    t.match(firing.headers['svc-signature-v2'], /^t=\d+,id=dlv_.+,att=att_.+,v2=[0-9a-f]{64}$/);
  } finally {
    await endLoad();
  }
  const recovered = await until('the recovery webhook', () =>
    receiver.received.find(({ body }) => body.type === 'incident.recovered'),
  );
  receiver.verify(recovered, secret);
  const incident = String(recovered.body.data.incidentName);
  t.equal(receiver.received[0]?.body.data.incidentName, incident, 'of the same incident');
  await checkRecords(t, program, { rule, incident, destination });
  return { rule, incident };
}

async function createWebhook(t: Test, program: Program, url: string) {
  const { status, body } = await program.call('monitoring.v1.AlertService/CreateDestination', {
    projectName: program.demo.projectName,
    requestId: randomUUID(),
    destination: { displayName: 'On call', webhook: { url } },
  });
  t.equal(status, 200, JSON.stringify(body));
  t.equal(body.secretAvailable, true);
  const destination = body.destination as Record<string, unknown>;
  return { secret: String(body.webhookSecret), destination: String(destination.name) };
}

async function saveRule(t: Test, walk: Walk, destination: string): Promise<string> {
  const { program, vm, threshold } = walk;
  const request = {
    projectName: program.demo.projectName,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'CPU is busy',
      metricId: 'cpu_utilization_pct',
      operator: 'GREATER_THAN',
      threshold,
      sustainedSeconds: 1,
      severity: 'WARNING',
      vmNames: [vm.name],
      destinationNames: [destination],
    },
  };
  const first = await program.call('monitoring.v1.AlertService/SaveAlertRule', request);
  t.match(first, { status: 200 });
  // The answer waits for that, but not for long.
  await until('the rule is applied', async () => {
    const { name } = first.body;
    const { body } = await program.call('monitoring.v1.AlertService/GetAlertRule', { name });
    return (body.appliedVersion === '1' && body.syncStatus === 'APPLIED') || undefined;
  });
  const again = await program.call('monitoring.v1.AlertService/SaveAlertRule', request);
  t.match(again, { status: 200, body: { version: '1' } }, 'an exact resend gets the same answer');
  return String(first.body.name);
}

async function checkRecords(
  t: Test,
  program: Program,
  names: { rule: string; incident: string; destination: string },
): Promise<void> {
  const { projectName } = program.demo;
  const incidents = await program.call('monitoring.v1.AlertService/ListIncidents', { projectName });
  const listed = incidents.body.incidents as { name: string }[];
  const incident = listed.find(({ name }) => name === names.incident);
  t.match(incident, { state: 'RECOVERED', ruleName: names.rule });
  const deliveries = await until('both deliveries are recorded as ended', async () => {
    const { body } = await program.call('monitoring.v1.AlertService/ListDeliveries', {
      projectName,
      incidentName: names.incident,
    });
    // A message arrives a moment before its attempt's outcome is committed.
    const open = (body.deliveries as { state: string }[]).some(({ state }) => state === 'SENDING');
    return open ? undefined : body.deliveries;
  });
  t.match(deliveries, [
    { event: 'RECOVERED', state: 'SENT', attempts: [{ outcome: 'accepted' }] },
    { event: 'FIRING', state: 'SENT', destinationName: names.destination },
  ]);
  const path = await program.call('audit.v1.AuditService/ListTransitions', {
    projectName,
    instanceName: names.rule,
  });
  t.equal(path.status, 200);
  t.ok((path.body.transitions as unknown[]).length >= 2, 'created and applied are recorded');
}

/** Loads half of this machine's CPUs until it is ended, for at most 90 s. */
export async function loadThisHost(): Promise<EndLoad> {
  const burners = Array.from({ length: Math.ceil(availableParallelism() / 2) }, () =>
    spawn(process.execPath, ['-e', 'const end = Date.now() + 90_000; while (Date.now() < end);']),
  );
  return async () => {
    for (const burner of burners) burner.kill('SIGKILL');
  };
}
