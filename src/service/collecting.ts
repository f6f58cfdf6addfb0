/**
 * Machines that this process watches: this host, the libvirt domains it sees, or the sources in the
 * settings. Rows go straight into ingest: those of this machine under the demo project, those of a
 * fleet under the projects of its mapping.
 */

import type { Host } from '../../actors/platform/host/host-port.ts';
import { asOneLine } from '../../actors/platform/plain-text.ts';
import type { ObservedRow, RowSink, Source } from '../../actors/telemetry/collectors/collector.ts';
import { type RunCommand, runCommand } from '../../actors/telemetry/collectors/command.ts';
import { createHostSource } from '../../actors/telemetry/collectors/host/host-source.ts';
import { loadHostIdentity } from '../../actors/telemetry/collectors/host/identity.ts';
import { createLibvirtSource } from '../../actors/telemetry/collectors/libvirt/libvirt-source.ts';
import { probeLibvirt } from '../../actors/telemetry/collectors/libvirt/virsh.ts';
import {
  type Collector,
  type CollectorFault,
  startCollector,
} from '../../actors/telemetry/collectors/loop.ts';
import type { Ingest } from '../../actors/telemetry/ingest/ingest-port.ts';
import type { RejectReason } from '../../actors/telemetry/ingest/rejections.ts';
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import type { VmRegistry } from '../../actors/vms/vm-registry.ts';
import { RETIRE_MAX, retireVms } from '../../actors/vms/vm-retirement.ts';
import type { VmSources } from '../../actors/vms/vm-sources.ts';
import { redactedUrl } from '../../streams/platform/redacted-url.ts';
import { VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import { type PartHealth, ready } from '../platform/health.ts';
import type { Log } from '../platform/log.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { DEMO_PROJECT } from './demo.ts';
import { type FleetCollecting, startFleetCollecting } from './fleet-collecting.ts';

export interface CollectingParts {
  readonly base: Omit<RoomBase, 'closers'>;
  readonly ingest: Ingest;
  readonly registry: Pick<VmRegistry, 'vmsOf'> & {
    readonly sources: Pick<VmSources, 'nameOf' | 'isOthers'>;
  };
  readonly host: Pick<Host, 'submit' | 'view'>;
  /** Runs virsh for a fleet; default: real processes. */
  readonly run?: RunCommand;
}

export interface Collecting {
  /** Watched sources, in words. */
  readonly watches: readonly string[];
  /** Reads the mapping of a fleet again, if there is one. */
  reload(): void;
  stop(): Promise<void>;
}

/**
 * Starts the collectors that the settings name, or those for the sources found on this machine.
 * Throws `UnusableMapping`.
 */
export async function startCollecting(parts: CollectingParts): Promise<Collecting> {
  const { settings, clock, health, log, metrics } = parts.base;
  const fleet = openFleet(parts);
  const sources = await openSources(parts);
  const collectors = sources.map(({ source }) =>
    startCollector({
      project: DEMO_PROJECT,
      source,
      sink: sinkOf(parts, source.name),
      knownVms: () => parts.registry.vmsOf(DEMO_PROJECT, source.name),
      clock,
      intervalMs: settings.sampleIntervalSeconds * 1000,
      onFault: (fault) => logOnce(log, fault),
    }),
  );
  metrics.counter(
    'svc_collector_rows_dropped_total',
    'Rows of the collectors of this node that were dropped because ingest refused rows for too long',
    [],
    () =>
      collectors.reduce((sum, collector) => sum + collector.status().droppedRows, 0) +
      (fleet?.droppedRows() ?? 0),
  );
  for (const collector of collectors) {
    const name = `collector ${collector.status().source}`;
    health.watch({ kind: 'collector', name }, () => healthOf(collector));
  }
  return {
    watches: [...sources.map(({ words }) => words), ...(fleet ? [fleet.words] : [])],
    reload: () => fleet?.reload(),
    async stop() {
      await fleet?.stop();
      for (const collector of collectors) await collector.stop();
    },
  };
}

/** The fleet of the mapping that the settings name. */
function openFleet(parts: CollectingParts): FleetCollecting | undefined {
  const { base, host, run } = parts;
  const path = base.settings.collectMap;
  if (path === null) return undefined;
  return startFleetCollecting({
    base,
    host,
    path,
    sinkOf: (source) => sinkOf(parts, source),
    onFault: (fault) => logOnce(base.log, fault),
    ...(run && { run }),
  });
}

async function openSources({
  base,
}: CollectingParts): Promise<{ source: Source; words: string }[]> {
  const { settings, clock, random, log } = base;
  const { collect, libvirtUri: uri } = settings;
  const sources: { source: Source; words: string }[] = [];
  if (collect === 'auto' ? process.platform === 'linux' : collect.includes('host')) {
    const vm = await loadHostIdentity({ dataFolder: settings.data, random });
    sources.push({ source: createHostSource({ clock, vm }), words: 'this host' });
  }
  // With a mapping, the mapping says which libvirts are read.
  const isProbed = collect === 'auto' && settings.collectMap === null;
  const missing = isProbed ? await probeLibvirt({ uri, clock, run: runCommand }) : undefined;
  if (missing) log.debug({ part: 'libvirt' }, `No libvirt is watched: ${missing.message}`);
  if (collect === 'auto' ? isProbed && !missing : collect.includes('libvirt')) {
    const intervalMs = settings.sampleIntervalSeconds * 1000;
    const fileSystems = settings.libvirtFilesystems;
    const source = createLibvirtSource({ uri, clock, intervalMs, fileSystems });
    sources.push({ source, words: `the libvirt domains at ${redactedUrl(uri)}` });
  }
  return sources;
}

/**
 * Ingest as collectors see it. A VM's row without readings is ingested too: its state was observed.
 */
function sinkOf({ base, ingest, host, registry }: CollectingParts, source: string): RowSink {
  const { log } = base;
  const logged = new Set<RejectReason>();
  return {
    async observe(project, rows) {
      const leftOut = rows.flatMap((row) =>
        (row.leftOut ?? []).map((reading) => ({ vm: row.vm, ...reading })),
      );
      const request = { project, batchId: '', source, rows: rows.map(ingestRow) };
      const { rejected } = await ingest.write({
        ...request,
        ...(leftOut.length > 0 && { leftOut }),
      });
      // Ingest counts each one; the same reason in successive rounds is logged once.
      for (const { row, series, reason } of rejected) {
        if (logged.has(reason)) continue;
        logged.add(reason);
        const what = { part: `collector ${source}`, reason, vm: rows[row]?.vm, series };
        log.warn(what, `A reading is not stored: ${reason}; see svc_samples_rejected_total`);
      }
    },
    async retire(project, vms) {
      const by = { kind: 'collector', name: source } as const;
      const { sources } = registry;
      const sender = { name: sources.nameOf({ source }), sources };
      for (let start = 0; start < vms.length; start += RETIRE_MAX) {
        const some = vms.slice(start, start + RETIRE_MAX);
        await retireVms(host, { project, by, source, sender, vms: some });
      }
    },
  };
}

function ingestRow(row: ObservedRow): IngestRow {
  return {
    vm: row.vm,
    displayName: asOneLine(row.displayName),
    observedMs: row.observedMs,
    sequence: row.sequence,
    boot: row.bootId,
    vcpus: row.vcpus ?? Number.NaN,
    state: VM_STATES.indexOf(row.state),
    stateReason: asOneLine(row.stateReason),
    series: row.values.map(([key]) => key),
    values: row.values.map(([, value]) => value),
  };
}

/** Logs a fault when it is new; `/readyz` shows how long it lasts. */
function logOnce(log: Log, fault: CollectorFault): void {
  if (fault.times > 1) return;
  const { source, reason, vm } = fault;
  log.warn({ part: `collector ${source}`, reason, ...(vm && { vm }) }, fault.message);
}

function healthOf(collector: Collector): PartHealth {
  const [fault] = collector.status().faults;
  if (!fault) return ready;
  // The message may quote what virsh or ssh printed: hosts, users, paths of keys.
  const summary = 'A collector cannot read all of its source';
  return { state: 'degraded', reason: fault.message, summary };
}
