/** Reasons for missing readings, in words: those of gaps and of a response's quality. */
import { localized } from '../messages/localized.ts';

const reasons: Readonly<Record<string, string>> = localized({
  NO_SAMPLES: 'its source sent no samples',
  HISTORY_LOST: 'the service lost the samples of that time',
  NOT_RUNNING: 'the VM was not running',
  NOT_REPORTED: 'its source did not report this metric',
  NOT_REPORTED_BY_GUEST: 'the guest does not report this metric',
  EXPANDED_MONITORING_OFF: 'expanded monitoring is off',
  DATACENTER_STALE: 'the whole data center is silent',
  FROZEN: 'an hour of identical readings',
  CONFLICTING_SAMPLES: 'two sources reported different values',
  CLOCK_BACKWARDS: "the source's clock went back",
  CLOCK_AHEAD: "the VM's clock is ahead",
  OUT_OF_RANGE: 'readings were out of range',
  CAPACITY_CHANGED: 'the capacity of the VM changed',
  IMPOSSIBLE: 'readings were impossible: negative or far above the capacity',
  MEMORY_NOT_POLLED: 'libvirt has never received memory figures from the guest',
  NO_MEMORY_FIGURES: "the guest's balloon driver reports no memory figures",
  NO_BALLOON: 'the VM has no memory balloon',
  CLOCKS_APART: 'the clocks of the hypervisor and the collector differ',
  NOT_REFRESHED: 'the figures were not refreshed',
  VM_PAUSED: 'the VM was paused',
  HYPERVISOR_NOT_ANSWERING: 'the hypervisor process did not respond',
  VCPU_TIMES_INCOMPLETE: "a vCPU's time was missing",
  NO_COUNTERS: 'the device has no counters',
  NOT_ASKED: 'the collector does not query the guest agent',
  GUEST_AGENT_SILENT: 'the guest agent did not respond',
  NO_SIZES: 'the guest agent reports no sizes',
  FILE_SYSTEM_NOT_ANSWERING: 'a file system did not respond',
  UNREADABLE: 'the source could not be read or parsed',
  READ_FAILED: 'stored readings could not be read',
  STORE_FULL: 'stored readings cannot be read yet: the store is full or has just started',
  REPORTED_ELSEWHERE: 'another collector reports this VM too, so its readings are rejected',
});

/** A reason in words. Unknown reasons are shown as is. */
export function gapReason(reason: string): string {
  return reasons[reason] ?? reason;
}
