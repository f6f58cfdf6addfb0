/**
 * The first few VMs with their readings. A new VM has its memory reading at once, and CPU with the
 * second reading; the page announces when, and reloads at that moment.
 */

import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { DataView } from '../../components/data-view.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import type { Vm } from '../../data/catalogue.ts';
import { serverClock } from '../../data/clock.ts';
import { type Load, useLoaded } from '../../data/loaded.ts';
import { idOf } from '../../data/names.ts';
import { pathOf } from '../../router/match.ts';
import { Reading, vmColumns } from '../vms/readings.tsx';
import { texts } from './texts.ts';

const POLL_SECONDS = 15;
const SHOWN_MAX = 5;
/** Delay from the due time of a reading until it is taken, sent and stored, ms. */
const ARRIVAL_MS = 2_000;

interface Watched extends Vm {
  /**
   * When the second reading is due, server's time; undefined if it has arrived or none is expected.
   */
  readonly secondMs: number | undefined;
}

export function WatchedVms({ project }: { readonly project: string }): VNode {
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `watched ${projectName}`,
    (options) => loadWatched(projectName, options),
    POLL_SECONDS,
  );
  const due = loader.state.value.value
    ?.flatMap(({ secondMs }) => secondMs ?? [])
    .filter((ms) => ms + ARRIVAL_MS > serverClock.now());
  const dueMs = due && due.length > 0 ? Math.min(...due) : undefined;
  useEffect(() => {
    if (dueMs === undefined) return undefined;
    return serverClock.wakeAfter(dueMs + ARRIVAL_MS - serverClock.now(), loader.reload);
  }, [dueMs, loader]);
  return (
    <DataView
      of={loader}
      lines={2}
      isEmpty={(vms) => vms.length === 0}
      empty={
        <>
          <strong>{texts.noVms}</strong>
          <p>{texts.noVmsHelp}</p>
        </>
      }
    >
      {(vms) => (
        <Table
          label={texts.watched}
          columns={columns}
          rows={vms}
          keyOf={({ name }) => name}
          href={({ name }) => pathOf('vm', { project, vm: idOf(name) })}
        />
      )}
    </DataView>
  );
}

async function loadWatched(
  projectName: string,
  options: Parameters<Load<Watched[]>>[0],
): Promise<Watched[]> {
  const request = { projectName, pageSize: SHOWN_MAX };
  const { vms } = await read('MonitoringService', 'listVMMonitoring', request, options);
  return await Promise.all(
    vms.map(async (vm) => ({ ...vm, secondMs: await secondReadingMs(vm, options) })),
  );
}

/** Checks the readings of a live VM without CPU: the second is expected only after exactly one. */
async function secondReadingMs(
  { name, cpuUtilizationPct, memoryUsedBytes, telemetry }: Vm,
  options: Parameters<Load<Watched[]>>[0],
): Promise<number | undefined> {
  const observedMs = msOf(telemetry?.lastObservedUnix);
  const isFresh = telemetry?.state === 'LIVE' && observedMs !== undefined;
  if (!isFresh || cpuUtilizationPct !== undefined || memoryUsedBytes === undefined)
    return undefined;
  const nowUnix = Math.floor(serverClock.now() / 1_000);
  const request = {
    name,
    metricIds: ['memory_used_bytes'],
    startTimeUnix: String(nowUnix - 600),
    endTimeUnix: String(nowUnix),
    stepSeconds: 30,
  };
  const [answer, service] = await Promise.all([
    read('MonitoringService', 'queryVMMonitoring', request, options),
    read('ProjectService', 'getServiceInfo', {}, options),
  ]);
  const count = Number(answer.quality?.observedSamples);
  return count <= 1 ? observedMs + service.samplingIntervalSeconds * 1_000 : undefined;
}

const { name, state, memory, cpu, telemetry, observed } = vmColumns;

const columns: readonly Column<Watched>[] = [
  name,
  state,
  memory,
  {
    ...cpu,
    cell: ({ cpuUtilizationPct, secondMs, state }) => (
      <Reading value={cpuUtilizationPct} unit="percent" secondMs={secondMs} state={state} />
    ),
  },
  telemetry,
  observed,
];
