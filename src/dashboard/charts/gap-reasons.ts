/** Why there is no reading, in words: the reasons of gaps and of an answer's quality. */
import { localized } from '../messages/localized.ts';

const reasons: Readonly<Record<string, string>> = localized({
  NO_SAMPLES: 'nothing came from its source',
  HISTORY_LOST: 'the service has lost what came then',
  NOT_RUNNING: 'the VM was not running',
  NOT_REPORTED: 'its source did not report this metric',
  NOT_REPORTED_BY_GUEST: 'the guest does not report this metric',
  EXPANDED_MONITORING_OFF: 'expanded monitoring is off',
  DATACENTER_STALE: 'the whole data center is silent',
  FROZEN: 'an hour of identical readings',
  CONFLICTING_SAMPLES: 'two sources reported different values',
  CLOCK_BACKWARDS: "the source's clock went back",
  CLOCK_AHEAD: "the VM's clock is ahead",
  OUT_OF_RANGE: 'readings were outside what is possible',
  CAPACITY_CHANGED: 'the capacity of the VM changed',
  IMPOSSIBLE: 'readings cannot be: below zero or far above the capacity',
  MEMORY_NOT_POLLED: 'libvirt has never got memory figures from the guest',
  NO_MEMORY_FIGURES: 'the guest answers the balloon without memory figures',
  NO_BALLOON: 'the VM has no memory balloon',
  CLOCKS_APART: 'the clocks of hypervisor and collector are apart',
  NOT_REFRESHED: 'the figures were not refreshed',
  VM_PAUSED: 'the VM was paused',
  HYPERVISOR_NOT_ANSWERING: 'the hypervisor process did not answer',
  VCPU_TIMES_INCOMPLETE: "a vCPU's time was missing",
  NO_COUNTERS: 'the device has no counters',
  NOT_ASKED: "the collector does not ask the guest's agent",
  GUEST_AGENT_SILENT: "the guest's agent did not answer",
  NO_SIZES: "the guest's agent reports no sizes",
  FILE_SYSTEM_NOT_ANSWERING: 'a file system did not answer',
  UNREADABLE: 'the source could not be read or understood',
  READ_FAILED: 'stored readings could not be read',
  STORE_FULL: 'accepted readings cannot be read yet: the store is full',
  REPORTED_ELSEWHERE: 'another collector has this VM too; its readings are refused',
});

/** A reason in words; one that a newer service has is shown as it is. */
export function gapReason(reason: string): string {
  return reasons[reason] ?? reason;
}
