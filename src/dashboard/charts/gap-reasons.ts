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
  READ_FAILED: 'stored readings could not be read',
  STORE_FULL: 'accepted readings cannot be read yet: the store is full',
  REPORTED_ELSEWHERE: 'another collector has this VM too; its readings are refused',
});

/** A reason in words; one that a newer service has is shown as it is. */
export function gapReason(reason: string): string {
  return reasons[reason] ?? reason;
}
