/**
 * The series of one project, as one thread keeps them from query to query: its VMs with the labels
 * of their present records, label sets made once, and what each selector found last time. Nothing
 * in here is shared with another project but decoded columns, which are reached through a VM.
 */

import type { VmBody } from '../../../actors/vm-registry.ts';
import type { ColumnView } from '../../../sqlite/history/columns/column-view.ts';
import type { VmHistory } from '../../../sqlite/history/columns/vm-history.ts';
import type { RecordReader } from '../../../sqlite/record-reader.ts';
import { type LabelPair, Labels } from '../../promql/labels.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { ProjectCache } from '../project-cache.ts';
import { PlannedSelector } from './planned-selector.ts';
import type { ReadableKey, ReadableKeys } from './readable-key.ts';

/** A VM with the labels that its series have now: a rename relabels all of its history. */
export class LabelledVm {
  readonly history: VmHistory;
  /** Sorted by name. */
  readonly labels: readonly LabelPair[];
  readonly datacenter: string;
  readonly #sets = new Map<ReadableKey, Labels>();

  constructor(history: VmHistory, record: VmBody | undefined) {
    this.history = history;
    this.datacenter = record?.datacenter ?? '';
    this.labels = [
      ['datacenter', this.datacenter],
      ['project', history.project],
      ['vm', history.vm],
      ['vm_name', record?.displayName ?? ''],
    ];
  }

  labelsOf(key: ReadableKey): Labels {
    let set = this.#sets.get(key);
    if (set === undefined) {
      set = Labels.of([...key.pairs, ...this.labels]);
      this.#sets.set(key, set);
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
  #records: ReadonlyMap<string, VmBody> = new Map();
  #revision: number | undefined;

  constructor(project: string, deps: ProjectSeriesDeps) {
    this.project = project;
    this.#deps = deps;
  }

  /** `revision` changes whenever a record of one of the project's VMs does. */
  useRecords(revision: number): void {
    if (revision === this.#revision) return;
    const records = this.#deps.records.read(this.project, 'vm');
    // Records of this kind are written by the registry alone.
    this.#records = new Map(records.map(({ id, body }) => [id, body as unknown as VmBody]));
    this.#vms.clear();
    this.#deps.plans.forget(this.project);
    this.#revision = revision;
  }

  /** All VMs that have rows. */
  vms(): Iterable<LabelledVm> {
    const histories = this.#deps.view.vmsOf(this.project);
    if (histories.size !== this.#vms.size) {
      for (const history of histories.values()) {
        if (this.#vms.has(history)) continue;
        this.#vms.set(history, new LabelledVm(history, this.#records.get(history.vm)));
      }
    }
    return this.#vms.values();
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
