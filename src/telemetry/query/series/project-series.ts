/**
 * The series of one project, as one thread keeps them from query to query: its VMs with the labels
 * of their present records, label sets made once, and what each selector found last time. Nothing
 * in here is shared with another project but decoded columns, which are reached through a VM.
 */

import { recordsOf } from '../../../../actors/platform/host/host-port.ts';
import type { VmBody } from '../../../../actors/vms/vm-registry.ts';
import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import type { ColumnView } from '../../../../sqlite/telemetry/history/columns/column-view.ts';
import type { VmHistory } from '../../../../sqlite/telemetry/history/columns/vm-history.ts';
import { type LabelPair, Labels } from '../../promql/labels.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { ProjectCache } from '../project-cache.ts';
import { PlannedSelector } from './planned-selector.ts';
import type { ReadableKey, ReadableKeys } from './readable-key.ts';

/** What a VM's labels are made of. */
type VmNames = Pick<VmBody, 'displayName' | 'datacenter'>;

const NO_NAMES: VmNames = { displayName: '', datacenter: '' };

/** A VM with the labels that its series have now: a rename relabels all of its history. */
export class LabelledVm {
  readonly history: VmHistory;
  /** Sorted by name. */
  readonly labels: readonly LabelPair[];
  readonly datacenter: string;
  readonly #displayName: string;
  readonly #sets = new Map<ReadableKey, Labels>();
  readonly #onSet: () => void;

  /** `onSet`: a label set was made, and is kept. */
  constructor(history: VmHistory, { displayName, datacenter }: VmNames, onSet: () => void) {
    this.history = history;
    this.datacenter = datacenter;
    this.#displayName = displayName;
    this.#onSet = onSet;
    this.labels = [
      ['datacenter', this.datacenter],
      ['project', history.project],
      ['vm', history.vm],
      ['vm_name', displayName],
    ];
  }

  /** Label sets that are kept. */
  get labelSets(): number {
    return this.#sets.size;
  }

  isNamed({ displayName, datacenter }: VmNames): boolean {
    return displayName === this.#displayName && datacenter === this.datacenter;
  }

  labelsOf(key: ReadableKey): Labels {
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = Labels.of([...key.pairs, ...this.labels]);
      this.#sets.set(key, set);
      this.#onSet();
    }
    return set;
  }
}

export interface ProjectSeriesDeps {
  readonly view: ColumnView;
  readonly records: RecordReader;
  readonly keys: ReadableKeys;
  /** Of all projects of the thread. */
  readonly plans: ProjectCache<PlannedSelector>;
}

export class ProjectSeries {
  readonly project: string;
  readonly #deps: ProjectSeriesDeps;
  readonly #vms = new Map<VmHistory, LabelledVm>();
  #names: ReadonlyMap<string, VmNames> = new Map();
  #revision: number | undefined;
  #forgotten = 0;
  #labelSets = 0;

  constructor(project: string, deps: ProjectSeriesDeps) {
    this.project = project;
    this.#deps = deps;
  }

  /** Label sets that are kept, of all VMs. */
  get labelSets(): number {
    return this.#labelSets;
  }

  /** `revision` changes whenever a record of one of the project's VMs does. */
  useRecords(revision: number): void {
    if (revision === this.#revision) return;
    const records = recordsOf(this.#deps.records, this.project, 'vm');
    this.#names = new Map(records.map(({ id, body }) => [id, body]));
    // A VM that joins a large project must not cost what is known of all the others.
    for (const vm of this.#vms.values()) if (!vm.isNamed(this.#namesOf(vm.history))) this.#drop(vm);
    this.#deps.plans.recount();
    this.#revision = revision;
  }

  /** All VMs that have rows. */
  vms(): Iterable<LabelledVm> {
    const { view } = this.#deps;
    const histories = view.vmsOf(this.project);
    if (view.forgotten !== this.#forgotten) {
      this.#forgotten = view.forgotten;
      for (const vm of this.#vms.values()) {
        if (histories.get(vm.history.vm) !== vm.history) this.#drop(vm);
      }
      this.#deps.plans.recount();
    }
    if (histories.size !== this.#vms.size) {
      for (const history of histories.values()) {
        if (this.#vms.has(history)) continue;
        const onSet = () => this.#labelSets++;
        this.#vms.set(history, new LabelledVm(history, this.#namesOf(history), onSet));
      }
    }
    return this.#vms.values();
  }

  #namesOf({ vm }: VmHistory): VmNames {
    return this.#names.get(vm) ?? NO_NAMES;
  }

  /** The VM is labelled anew when it is met next. */
  #drop(vm: LabelledVm): void {
    this.#vms.delete(vm.history);
    this.#labelSets -= vm.labelSets;
    for (const { finds } of this.#deps.plans.values(this.project)) finds.drop(vm);
  }

  plan(matchers: readonly Matcher[]): PlannedSelector {
    const { plans, keys } = this.#deps;
    const text = matchers.map(({ label, op, value }) => [label, op, value]);
    const key = JSON.stringify(text);
    const known = plans.get(this.project, key);
    if (known !== undefined) return known;
    const made = new PlannedSelector(matchers, keys);
    plans.put(this.project, key, made);
    return made;
  }
}
