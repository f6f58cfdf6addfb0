/**
 * Collects a fleet in the service's own process, by a mapping: the same loops and placements as in
 * `svc collect`, but rows go straight into ingest.
 */
import { join } from 'node:path';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { RowSink } from '../../actors/telemetry/collectors/collector.ts';
import type { RunCommand } from '../../actors/telemetry/collectors/command.ts';
import { Fleet } from '../../actors/telemetry/collectors/fleet/fleet.ts';
import type { CollectorFault } from '../../actors/telemetry/collectors/loop.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { type PartHealth, ready } from '../platform/health.ts';
import type { RoomBase } from '../platform/room-base.ts';
import { MappingWatch } from '../vms/collect/mapping-file.ts';
import { readPlacements, writePlacements } from '../vms/collect/placements-file.ts';

export interface FleetCollectingParts {
  readonly base: Omit<RoomBase, 'closers'>;
  readonly host: Pick<Host, 'submit' | 'view'>;
  /** Path of the mapping. */
  readonly path: string;
  /** Ingest for the rows of a source. */
  readonly sinkOf: (source: string) => RowSink;
  readonly onFault: (fault: CollectorFault) => void;
  /** Default: real processes. */
  readonly run?: RunCommand;
}

export interface FleetCollecting {
  readonly words: string;
  droppedRows(): number;
  /** Reads the mapping's file again if it has changed. */
  reload(): void;
  stop(): Promise<void>;
}

/** Starts at once. Throws `UnusableMapping`. */
export function startFleetCollecting(parts: FleetCollectingParts): FleetCollecting {
  const { host, path } = parts;
  const { settings, clock, random, log, health, metrics } = parts.base;
  const placements = join(settings.data, 'placements.json');
  const sinks = new Map<string, RowSink>();
  const absent = new Set<string>();
  const watch = new MappingWatch({
    path,
    clock,
    onMapping: (mapping) => {
      log.info({ rules: mapping.rules.length }, 'A new mapping is in use');
      absent.clear();
      void fleet.take(mapping);
    },
    onFault: (problems) =>
      log.error({ problems }, 'The mapping cannot be used; the previous one stays in use'),
  });
  const isProject = (project: string) => host.view(project).record('project', project);
  const exists = (project: string): boolean => {
    if (isProject(project)) return true;
    if (!absent.has(project)) {
      log.warn({ project }, 'The mapping names a project that does not exist: nothing is stored');
    }
    absent.add(project);
    return false;
  };
  const state = readPlacements(placements);
  const fleet: Fleet = new Fleet({
    mapping: watch.first,
    clock,
    random,
    onFault: parts.onFault,
    intervalMs: settings.sampleIntervalSeconds * 1000,
    fileSystems: settings.libvirtFilesystems,
    ...(parts.run && { run: parts.run }),
    ...(state && { state }),
    onState: (next) => writePlacements(placements, next),
    onMoved: (vm, from, to) => log.info({ vm, from, to }, 'A domain moved to another project'),
    sink: {
      async write(project, rows, source) {
        if (!exists(project)) return;
        const sink = sinks.get(source) ?? parts.sinkOf(source);
        sinks.set(source, sink);
        await sink.observe(project, rows);
      },
      async retire(project, vms) {
        const by = { kind: 'collector', name: 'collector fleet' } as const;
        if (isProject(project)) await retireVms(host, { project, by, vms });
        return true;
      },
    },
  });
  health.watch({ kind: 'collector', name: 'collector fleet' }, () =>
    healthOf(fleet, [...watch.problems(), ...[...absent].map((id) => `no project ${id}`)]),
  );
  metrics.gauge(
    'svc_collector_unmatched_domains',
    'Domains that no rule of the mapping matches, whose readings are not stored',
    [],
    (gauge) => gauge.set(fleet.status().unmatched.length),
  );
  return {
    words: `${watch.first.sources.length} libvirts by the mapping ${path}`,
    droppedRows: () => fleet.status().sources.reduce((sum, one) => sum + one.droppedRows, 0),
    reload: () => watch.reload(),
    async stop() {
      watch.close();
      await fleet.stop();
    },
  };
}

function healthOf(fleet: Fleet, problems: readonly string[]): PartHealth {
  const { sources, retireFault } = fleet.status();
  const faults = sources.flatMap(({ source, faults: [fault] }) =>
    fault === undefined ? [] : [`${source}: ${fault.message}`],
  );
  const reasons = [...problems, ...faults, ...(retireFault === undefined ? [] : [retireFault])];
  if (reasons.length === 0) return ready;
  const summary = 'A collector cannot read all of its source';
  return { state: 'degraded', reason: reasons.join('; '), summary };
}
