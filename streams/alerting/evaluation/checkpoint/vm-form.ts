/**
 * Form of everything that a state holds about one VM: its retirement, its facts, and, in a project
 * with rules, its buffers with rows and instances. It names rules by their ids, so that it does not
 * change with the rules of other VMs.
 */
import type { RetiredVm } from '../../../telemetry/entry.ts';
import { metricCatalogue } from '../../../telemetry/metrics/catalogue.ts';
import type { Power } from '../../../telemetry/metrics/derive.ts';
import { malformed } from '../../../telemetry/samples/byte-reader.ts';
import { createInstance, type Instance, type SeriesBuffer, type Stretch } from '../instance.ts';
import { bufferKey } from '../observe-batch.ts';
import { createBuffer } from '../series-buffer.ts';
import {
  type EvaluationState,
  factsOf,
  projectFacts,
  recordUnevaluated,
  retiredOf,
  type VmFacts,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from '../state.ts';
import type { CheckpointReader, CheckpointWriter } from './checkpoint-bytes.ts';
import { flag, list, map, maybe, number, record, text, time, word } from './forms.ts';
import { bufferFields, instanceFields, stretchFields } from './instance-form.ts';
import { type Inputs, readRows, writeRows } from './row-form.ts';

/** A VM by the names that its project gives it. */
export interface Place {
  readonly state: EvaluationState;
  readonly project: string;
  readonly vm: string;
}

/** Objects and texts that many VMs share, while a state is restored. */
export interface Shared {
  readonly inputs: Inputs;
  readonly texts: Map<string, string>;
}

type Retirement = Omit<RetiredVm, 'project' | 'vm'>;

/** Head of a watched VM, before its buffers. */
interface VmHead {
  readonly retired: Retirement | undefined;
  readonly facts: VmFacts | undefined;
  readonly watched: Omit<WatchedVm, WatchedElsewhere> | undefined;
}

/**
 * Fields of a watched VM that belong to its slot, follow from its retirement, or are rebuilt with
 * the next row.
 */
type WatchedElsewhere = 'vm' | 'generation' | 'facts' | 'buffers' | 'routes' | 'routesVersion';

const vmHead = record<VmHead>({
  retired: maybe(record<Retirement>({ generation: number, atMs: time })),
  facts: maybe(
    record<VmFacts>({
      newestMs: time,
      powerMs: time,
      power: word<Power>(['UNREPORTED', 'RUNNING', 'STOPPED', 'DOWN']),
      datacenter: text,
      aheadMs: time,
    }),
  ),
  watched: maybe(
    record<Omit<WatchedVm, WatchedElsewhere>>({ unevaluated: map(text, list<string>(text)) }),
  ),
});

/** Head of a buffer, before its other fields. */
interface BufferHead extends Pick<SeriesBuffer, 'metricId' | 'labels'> {
  readonly generation: number | undefined;
  readonly suppressed: readonly SuppressedStretch[];
}

/** `isBlind`: it is the state's own stretch, which is recognised by its identity. */
interface SuppressedStretch extends Stretch {
  readonly isBlind: boolean;
}

const bufferHead = record<BufferHead>({
  metricId: text,
  labels: text,
  generation: maybe(number),
  suppressed: list(record<SuppressedStretch>({ ...stretchFields, isBlind: flag }), 3),
});

/** Head of an instance, before its other fields: its rule, and its position among the open ones. */
interface InstanceHead {
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly isOpen: boolean;
}

const instanceHead = record<InstanceHead>({
  rule: text,
  evaluationRevision: number,
  isOpen: flag,
});

/** Appends everything about a VM. */
export function writeVm(to: CheckpointWriter, { state, project, vm }: Place): void {
  const watched = state.projects.get(project)?.vms.get(vm);
  vmHead.write(to, {
    retired: state.retired.get(project)?.get(vm),
    facts: state.facts.get(project)?.get(vm),
    watched,
  });
  if (!watched) return;
  const buffers = [...watched.buffers.values()];
  to.varint(buffers.length);
  for (const buffer of buffers) writeBuffer(to, buffer, state);
  writeRows(to, buffers);
}

/**
 * Reads everything about a VM into the state, which does not hold it yet. Throws `DamagedBytes`.
 */
export function readVm(from: CheckpointReader, place: Place, shared: Shared): void {
  const { state, project: id, vm } = place;
  const { retired, facts, watched } = vmHead.read(from);
  if (retired) retiredOf(state, id).set(vm, { project: id, vm, ...retired });
  if (facts) {
    const datacenter = sharedText(shared, facts.datacenter);
    Object.assign(factsOf(projectFacts(state, id), vm), { ...facts, datacenter });
  }
  if (!watched) return;
  const project = state.projects.get(id);
  if (!project) throw malformed('a watched VM of a project without rules');
  const target = watchedVm(project, vm);
  for (const [buffer, rules] of watched.unevaluated) {
    const known = rules.map((rule) => sharedText(shared, rule));
    recordUnevaluated(project, target, sharedText(shared, buffer), known);
  }
  for (let left = from.count(8); left > 0; left--) {
    const buffer = readBuffer(from, { state, project, target }, shared);
    const key = bufferKey(buffer);
    if (target.buffers.has(key)) throw malformed('two buffers of one series');
    target.buffers.set(key, buffer);
  }
  const buffers = [...target.buffers.values()];
  readRows(from, buffers, shared.inputs);
  for (const { settledRows, rows } of buffers) {
    if (settledRows > rows.length) throw malformed('more settled rows than rows');
  }
}

/** VMs that a data center's instance holds: some of them, because there may be 50,000. */
interface HeldPiece {
  /** Key of the instance's buffer, and its rule. */
  readonly buffer: string;
  readonly rule: string;
  /** Time of each VM's last observation. */
  readonly vms: ReadonlyMap<string, number>;
}

/** Maximum held VMs per piece, so that it takes under 1 ms to write and under 2 ms to read. */
const HELD_AT_ONCE = 1_000;

const heldPiece = record<HeldPiece>({ buffer: text, rule: text, vms: map(text, time) });

/** The held VMs of a data center's instances, in pieces, after the instances themselves. */
export function* heldPieces({ state, project, vm }: Place): Generator<HeldPiece> {
  const watched = vm === '' ? state.projects.get(project)?.vms.get(vm) : undefined;
  for (const [buffer, { instances }] of watched?.buffers ?? []) {
    for (const { held, rule } of instances) {
      let vms = new Map<string, number>();
      for (const [heldVm, heldMs] of held ?? []) {
        vms.set(heldVm, heldMs);
        if (vms.size < HELD_AT_ONCE) continue;
        yield { buffer, rule: rule.rule.rule, vms };
        vms = new Map();
      }
      if (vms.size > 0) yield { buffer, rule: rule.rule.rule, vms };
    }
  }
}

export function writeHeld(to: CheckpointWriter, piece: HeldPiece): void {
  heldPiece.write(to, piece);
}

/** Adds a piece to its instance, which has been read. Throws `DamagedBytes`. */
export function readHeld(from: CheckpointReader, { state, project, vm }: Place): void {
  const { buffer, rule, vms } = heldPiece.read(from);
  const instances = state.projects.get(project)?.vms.get(vm)?.buffers.get(buffer)?.instances;
  const held = instances?.find((instance) => instance.rule.rule.rule === rule)?.held;
  if (held === undefined) throw malformed('held VMs without their instance');
  for (const [heldVm, heldMs] of vms) held.set(heldVm, heldMs);
}

function writeBuffer(to: CheckpointWriter, buffer: SeriesBuffer, state: EvaluationState): void {
  const suppressed = buffer.suppressed.map((one) => ({ ...one, isBlind: one === state.blind }));
  const { metricId, labels, generation } = buffer;
  bufferHead.write(to, { metricId, labels, generation, suppressed });
  bufferFields.write(to, buffer);
  to.varint(buffer.instances.length);
  for (const instance of buffer.instances) {
    const { rule, evaluationRevision } = instance.rule.rule;
    instanceHead.write(to, { rule, evaluationRevision, isOpen: state.open.has(instance) });
    instanceFields.write(to, instance);
  }
}

/** Owner of a buffer. */
interface BufferPlace {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly target: WatchedVm;
}

function readBuffer(
  from: CheckpointReader,
  { state, project, target }: BufferPlace,
  shared: Shared,
): SeriesBuffer {
  const { labels, metricId, generation, suppressed } = bufferHead.read(from);
  const metric = metricCatalogue.get(metricId);
  if (!metric) throw malformed('an unknown metric');
  const about = {
    vm: target.vm,
    metricId: metric.metricId,
    labels: sharedText(shared, labels),
    derivation: metric.derivation,
  };
  const buffer = createBuffer({ ...about, ...(generation !== undefined && { generation }) });
  bufferFields.readInto(from, buffer);
  if (suppressed.length > 0) {
    buffer.suppressed = suppressed.map((one) => stretchOf(one, state.blind));
  }
  for (let left = from.count(8); left > 0; left--) {
    buffer.instances.push(readInstance(from, { state, project, buffer }, shared));
  }
  project.instances += buffer.instances.length;
  return buffer;
}

function stretchOf({ fromMs, untilMs, isBlind }: SuppressedStretch, blind: Stretch | undefined) {
  if (!isBlind) return { fromMs, untilMs };
  if (blind?.fromMs !== fromMs || blind.untilMs !== untilMs) {
    throw malformed('a blind window of another state');
  }
  return blind;
}

function readInstance(
  from: CheckpointReader,
  { state, project, buffer }: Omit<BufferPlace, 'target'> & { readonly buffer: SeriesBuffer },
  shared: Shared,
): Instance {
  const { rule: id, evaluationRevision, isOpen } = instanceHead.read(from);
  const rule = project.rules.get(id);
  if (rule?.rule.evaluationRevision !== evaluationRevision) {
    throw malformed('an instance of a rule that is not in force');
  }
  const instance = instanceFields.readInto(from, createInstance(rule, buffer));
  const { failure } = instance;
  if (failure !== undefined) instance.failure = sharedText(shared, failure);
  if (isOpen) state.open.add(instance);
  return instance;
}

/** Equal texts of all VMs are one string in memory. */
function sharedText({ texts }: Shared, text: string): string {
  const known = texts.get(text);
  if (known !== undefined) return known;
  texts.set(text, text);
  return text;
}
