/** Forms of edges, and of the types that a project's other values consist of. */
import type { RunEvent } from '../../../../machines/alerting/alert-instance-path.ts';
import type { MissingReason } from '../../../../machines/alerting/incident.ts';
import type { Edge, InstanceKey, ObservedValue } from '../../../telemetry/entry.ts';
import {
  type Fields,
  type Form,
  flag,
  list,
  number,
  optional,
  record,
  text,
  time,
  variants,
  word,
} from './forms.ts';

/** The reason why data is missing. */
export const missingReason: Form<MissingReason> = word<MissingReason>([
  'NO_DATA',
  'VM_STOPPED',
  'CLOCK_AHEAD',
  'DATACENTER_STALE',
]);

/** The identity of an instance. */
export const instanceKey: Form<InstanceKey> = record<InstanceKey>({
  project: text,
  rule: text,
  evaluationRevision: number,
  vm: text,
  labels: text,
  generation: optional(number),
});

/** One value of a deciding window. */
export const observedValue: Form<ObservedValue> = record<ObservedValue>({
  observedMs: time,
  value: number,
});

const runEvent = variants<'type', RunEvent>('type', {
  breachStarted: { eventMs: time },
  breachEnded: { eventMs: time },
  dataMissing: { eventMs: time, sinceMs: time, reason: missingReason },
});

const no: Form<false> = { write: () => {}, read: () => false };

type EdgeBase = Pick<Edge, 'key' | 'atMs' | 'observedMs' | 'value'>;

const base: Fields<EdgeBase> = {
  key: instanceKey,
  atMs: time,
  observedMs: optional(time),
  value: optional(number),
};
const window = list(observedValue, 2);

/** An edge that is not decided yet. */
export const edge: Form<Edge> = variants<'kind', Edge>('kind', {
  fired: {
    ...base,
    startedMs: time,
    run: list(runEvent, 2),
    window,
    notify: flag,
    held: optional(record({ datacenter: text, vms: list(text) })),
  },
  recovered: { ...base, window, notify: optional(no) },
  dataMissing: { ...base, sinceMs: time, reason: missingReason },
  dataObserved: base,
  retired: base,
  evaluatorFailed: { ...base, reason: text },
  evaluatorHealthy: base,
  corrected: { ...base, startedMs: time },
});
