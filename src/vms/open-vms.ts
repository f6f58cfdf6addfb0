/** Opens the VMs room: the registry, the state of data centers, and the enrolment of single VMs. */
import { hostname } from 'node:os';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { ProjectLimitsReader } from '../../actors/platform/project-limits.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import { Datacenters } from '../../actors/vms/datacenters.ts';
import { createEnrolments, type Enrolments } from '../../actors/vms/enrolments.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { NewestReport } from '../../actors/vms/vm-sources.ts';
import { EXPANDED_SERIES } from '../../streams/telemetry/metrics/catalogue.ts';
import type { LatestRow } from '../../streams/telemetry/samples/columns.ts';
import { hashKey, mintSecret, parseSecret } from '../platform/keys.ts';
import type { LostWork, RoomBase, Storage } from '../platform/room-base.ts';

export interface VmsParts {
  readonly base: RoomBase;
  readonly storage: Pick<Storage, 'member' | 'history'>;
  readonly host: Host;
  readonly projectLimits: ProjectLimitsReader;
  readonly lost: LostWork;
}

/** Interval of checks of data centers for silence, ms. */
const DATACENTER_CHECK_MS = 5_000;
/** A data center is silent after this many sampling intervals without a row. */
const SILENT_INTERVALS = 3;

export function openVms({ base, storage, host, projectLimits: limits, lost }: VmsParts) {
  const { settings, clock, random } = base;
  const { member, history } = storage;
  const datacenters = new Datacenters({
    host,
    clock,
    datacenter: settings.datacenter,
    onLost: lost('datacenters'),
    silenceMs: SILENT_INTERVALS * settings.sampleIntervalSeconds * 1000,
    ownership: member,
    heardElsewhere: () => member.heardElsewhere(),
  });
  addDatacenterGauges(base, datacenters);
  const registry = new VmRegistry({
    host,
    clock,
    datacenter: settings.datacenter,
    limits,
    newest: (project, vm) => newestReport(history.newest(project, vm)),
    ...(!member.isAlone && { machine: hostname() }),
  });
  const enrolments = openEnrolments({
    host,
    clock,
    random,
    datacenters: settings.expandedDatacenters,
  });
  const watch: Part = {
    name: 'datacenters',
    run: (signal) => datacenters.run([settings.datacenter], DATACENTER_CHECK_MS, signal),
  };
  return { registry, datacenters, enrolments, parts: [watch] };
}

/**
 * The newest row of a collector among a VM's newest rows. An agent's row has neither a state nor
 * baseline series.
 */
export function newestReport(latest: LatestRow | undefined): NewestReport | undefined {
  if (latest === undefined) return undefined;
  const { timesMs, state, stateReason, strings, series } = latest.columns;
  const baseline = [...series].filter(([key]) => !EXPANDED_SERIES.has(key));
  const hasReadings = (i: number) =>
    baseline.some(([, values]) => !Number.isNaN(values[i] ?? Number.NaN));
  for (let i = timesMs.length - 1; i >= 0; i--) {
    const code = state[i] ?? 0;
    if (code === 0 && !hasReadings(i)) continue;
    return {
      observedMs: timesMs[i] ?? 0,
      state: code,
      stateReason: strings[stateReason[i] ?? 0] ?? '',
      hasReadings: hasReadings(i),
    };
  }
  return undefined;
}

/**
 * Data centers as alert rules see them. A data center without rows since the start and in the
 * sample log has no time; its row states that it is stale.
 */
export function addDatacenterGauges(
  { metrics, clock }: Pick<RoomBase, 'metrics' | 'clock'>,
  datacenters: Pick<Datacenters, 'ages' | 'states'>,
): void {
  metrics.gauge(
    'svc_datacenter_last_reading_timestamp_seconds',
    'Time when readings of the data center last arrived, at any member, Unix time',
    ['datacenter'],
    (gauge) => {
      for (const [datacenter, agoMs] of Object.entries(datacenters.ages())) {
        gauge.set({ datacenter }, Math.round(clock.now() - agoMs) / 1000);
      }
    },
  );
  metrics.gauge(
    'svc_datacenter_stale',
    '1 = no reading of the data center arrived for three sampling intervals',
    ['datacenter'],
    (gauge) => {
      for (const [datacenter, state] of datacenters.states()) {
        gauge.set({ datacenter }, state === 'stale' ? 1 : 0);
      }
    },
  );
}

/** @param options `datacenters`: those with expanded monitoring */
export function openEnrolments(
  options: Pick<RoomBase, 'clock' | 'random'> & {
    readonly host: Pick<Host, 'submit' | 'findInstance' | 'view' | 'onApplied'>;
    readonly datacenters: readonly string[];
  },
): Enrolments {
  const { host, clock, random, datacenters } = options;
  const now = () => ({ nowMs: clock.now(), random });
  return createEnrolments({
    host,
    datacenters,
    secrets: {
      mintToken: (id) => mintSecret('enrol', { ...now(), id }),
      mintKey: () => mintSecret('vm', now()),
      parseToken: (text) => parseSecret('enrol', text),
      hash: hashKey,
    },
  });
}
