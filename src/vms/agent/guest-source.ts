/**
 * Source of readings from inside this guest: only the series that no hypervisor can measure, so that no
 * series of the VM has two sources. A file that cannot be read gives no reading, never a zero.
 */
import type { Reading, Source } from '../../../actors/telemetry/collectors/collector.ts';
import {
  type HostFiles,
  kernelFiles,
} from '../../../actors/telemetry/collectors/host/host-source.ts';
import {
  parseLoadavg,
  parseMeminfo,
  parseStat,
  value,
} from '../../../actors/telemetry/collectors/host/proc.ts';
import type { Clock } from '../../../streams/platform/clock.ts';

export interface GuestSourceOptions {
  readonly clock: Clock;
  /** Id of this VM. */
  readonly vm: string;
  /** Default: this machine's. */
  readonly files?: HostFiles;
}

const FILES = ['/proc/loadavg', '/proc/meminfo', '/proc/stat'] as const;

export function createGuestSource({ clock, vm, files = kernelFiles }: GuestSourceOptions): Source {
  return {
    // The VM's id in the name spreads the agents of many guests over the interval.
    name: `agent ${vm}`,
    async read(): Promise<Reading> {
      const [loadavg, meminfo, stat] = await Promise.all(FILES.map((path) => files.text(path)));
      const values = [
        ...value('svc_vm_load1', parseLoadavg(loadavg ?? '')),
        ...parseMeminfo(meminfo ?? '').expanded,
        ...value('svc_vm_processes_running', parseStat(stat ?? '').processesRunning),
      ];
      const missing = FILES.filter((_, i) => [loadavg, meminfo, stat][i] === undefined);
      const message = `cannot read ${missing.join(', ')}: their readings are absent`;
      const faults = missing.length > 0 ? [{ reason: 'INCOMPLETE', message } as const] : [];
      if (values.length === 0) return { rows: [], faults };
      const unknown = { displayName: '', bootId: '', sequence: 0, stateReason: '' };
      const row = { vm, observedMs: clock.now(), ...unknown, state: 'UNKNOWN', values } as const;
      return { rows: [row], faults };
    },
    async close() {},
  };
}
