/**
 * The largest possible responses, requested continuously: 50,000 points of one VM, and pages of
 * 1,000 out of 10,000 VMs. Their only cost on the main thread is forwarding bytes.
 */
import { fleetVm } from '../../test/support/fleet.ts';
import type { Api } from './api.ts';

const VMS = 10_000;
const ROWS_A_REQUEST = 1_000;
const MOUNTS = 5;
/** Minutes of a VM with a value for each mount in each of them: the maximum is 10,000 points. */
const MINUTES = 9_998;
const PAGE_SIZE = 1_000;
const ASKERS = 4;

/** The VM with the points; it is not one of the fleet that others write. */
const LARGE_VM = 'large-answer-vm';

/** Writes the data to be requested. */
export async function writeLarge(api: Api): Promise<void> {
  const now = Date.now();
  for (let first = 0; first < VMS; first += ROWS_A_REQUEST) {
    await api.write(
      Array.from({ length: ROWS_A_REQUEST }, (_, i) => ({
        vmName: fleetVm(first + i),
        observedUnixMs: BigInt(now - 60_000),
        state: 1,
        values: [{ series: 'svc_vm_cpu_utilization_pct', value: i % 100 }],
      })),
    );
  }
  for (let minute = MINUTES; minute > 0; minute -= ROWS_A_REQUEST) {
    const rows = Math.min(minute, ROWS_A_REQUEST);
    await api.write(
      Array.from({ length: rows }, (_, i) => ({
        vmName: LARGE_VM,
        observedUnixMs: BigInt(now - (minute - i) * 60_000),
        state: 1,
        values: Array.from({ length: MOUNTS }, (_, mount) => ({
          series: 'svc_vm_filesystem_used_bytes',
          labels: { mountpoint: `/${mount}` },
          value: 1e9 + minute * mount + i,
        })),
      })),
    );
  }
}

/** Sends requests for `durationMs`; resolves to a sentence with the number of responses. */
export async function readLarge(api: Api, durationMs: number): Promise<string> {
  const endMs = performance.now() + durationMs;
  const nowUnix = Math.floor(Date.now() / 1000);
  let [queries, pages] = [0, 0];
  const query = async (): Promise<void> => {
    for (; performance.now() < endMs; queries++) {
      await api.call('monitoring.v1.MonitoringService/QueryVMMonitoring', {
        name: `projects/demo/vms/${LARGE_VM}`,
        metricIds: ['filesystem_used_bytes'],
        startTimeUnix: String(nowUnix - MINUTES * 60),
        endTimeUnix: String(nowUnix),
        stepSeconds: 60,
      });
    }
  };
  const list = async (): Promise<void> => {
    for (let pageToken = ''; performance.now() < endMs; pages++) {
      const request = { pageSize: PAGE_SIZE, pageToken };
      const page = await api.call('monitoring.v1.MonitoringService/ListVMMonitoring', request);
      pageToken = String(page.nextPageToken);
    }
  };
  const askers = Array.from({ length: ASKERS }, () => [query(), list()]);
  await Promise.all(askers.flat());
  const aSecond = (count: number) => (count / (durationMs / 1000)).toFixed(1);
  return `${aSecond(queries)} responses of 50,000 points and ${aSecond(pages)} pages of 1,000 VMs per second`;
}
