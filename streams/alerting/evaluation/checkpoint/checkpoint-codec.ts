/**
 * Bytes of a checkpoint of evaluation: the state of one partition between two entries, so that a
 * restart folds only the entries after it. A restored state and the following entries lead to the
 * same edges as the original state.
 *
 *     head    everything that belongs to no VM
 *     VMs     one part for each, in any order: those that did not change keep their bytes
 *     edges   undecided ones, which are kept beside the state
 *
 * Each part ends with a checksum over its bytes and its name. Routes and plans of rows, sets of a
 * rule's VMs and sums are rebuilt. The head also stores the sums, so that a missing VM is noticed.
 */
import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import {
  type Edge,
  type EvaluationRule,
  OPERATORS,
  type Outage,
} from '../../../telemetry/entry.ts';
import { DamagedBytes } from '../../../telemetry/samples/byte-reader.ts';
import type { RuleInForce, Stretch } from '../instance.ts';
import {
  addRule,
  type EvaluationCounters,
  type EvaluationState,
  emptyState,
  type SeedIncident,
  type WatchedProject,
} from '../state.ts';
import { CheckpointReader, CheckpointWriter } from './checkpoint-bytes.ts';
import { edge, instanceKey } from './edge-form.ts';
import { flag, list, map, maybe, number, optional, record, text, time, word } from './forms.ts';
import { decidedFields, stretchFields } from './instance-form.ts';
import {
  heldPieces,
  type Place,
  readHeld,
  readVm,
  type Shared,
  writeHeld,
  writeVm,
} from './vm-form.ts';

/**
 * Raised when the encoding or the meaning of the folded state changes. A checkpoint in another
 * format is not restored.
 */
export const CHECKPOINT_FORM = 2;

/** A checkpoint, or a part of one, that is damaged or has another format. */
export class DamagedCheckpoint extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DamagedCheckpoint';
  }
}

/**
 * Everything that a checkpoint stores about one VM: retirement, facts, buffers with rows,
 * instances. VMs held by a data center's instance follow in further pieces.
 */
export interface EncodedVm {
  readonly project: string;
  readonly vm: string;
  /** 0: the VM itself, before its pieces. */
  readonly piece: number;
  readonly data: Uint8Array;
}

const evaluationRule = record<EvaluationRule>({
  project: text,
  rule: text,
  evaluationRevision: number,
  metricId: text,
  operator: word(OPERATORS),
  threshold: number,
  sustainedMs: number,
  recoveryThreshold: optional(number),
  recoveryMs: number,
  vms: optional(list(text)),
  fromMs: optional(time),
});

/** Fields of a state that are parts of VMs, are rebuilt, or have one value in a live state. */
type StateElsewhere =
  | 'projects'
  | 'retired'
  | 'facts'
  | 'open'
  | 'plans'
  | 'planCharacters'
  | 'plansByList'
  | 'stale'
  | 'isReplaying'
  | 'isLive'
  | 'aheadFromMs';

const stateFields = record<Omit<EvaluationState, StateElsewhere>>({
  limits: map(text, number),
  outages: maybe(
    map(text, record<Outage>({ datacenter: text, sinceMs: time, laterMs: optional(list(time)) })),
  ),
  blind: maybe(record<Stretch>(stretchFields)),
  paused: map(text, number),
  seeds: list(record<SeedIncident>({ key: instanceKey, ...decidedFields }), 8),
  counters: record<EvaluationCounters>({
    conflicts: number,
    duplicates: number,
    tooLate: number,
    future: number,
    clockBackwards: number,
    rebased: number,
    unrecorded: number,
    failures: number,
  }),
  epoch: number,
  nowMs: time,
  latestMs: time,
  listeningSinceMs: time,
  lastTickMs: time,
  isAlwaysListening: flag,
  lastSweepMs: time,
});

/** Fields of a project that are parts of VMs or of the state, or are rebuilt. */
type ProjectElsewhere = 'vms' | 'retired' | 'facts' | 'instancesMax' | 'version';

/** A project with rules; `vms` is the number of its watched VMs. */
interface ProjectHead extends Omit<WatchedProject, ProjectElsewhere | 'rules'> {
  readonly id: string;
  readonly rules: readonly Omit<RuleInForce, 'vms'>[];
  readonly vms: number;
}

const projectHead = record<ProjectHead>({
  id: text,
  rules: list(
    record<Omit<RuleInForce, 'vms'>>({ rule: evaluationRule, sinceMs: time, breachFromMs: time }),
  ),
  instances: number,
  unevaluated: map(text, number),
  vms: number,
});

/** Totals that the parts of all VMs must add up to. */
interface Census {
  readonly projects: readonly ProjectHead[];
  readonly facts: number;
  readonly retired: number;
  readonly open: number;
  /** VMs held by instances of data centers. */
  readonly held: number;
}

const census = record<Census>({
  projects: list(projectHead, 5),
  facts: number,
  retired: number,
  open: number,
  held: number,
});

/** A restoration in progress. */
interface Restoration {
  readonly expected: Census;
  readonly shared: Shared;
}

const restorations = new WeakMap<EvaluationState, Restoration>();

// Reused between calls: encoding is synchronous.
const writer = new CheckpointWriter(64 * 1024);
const CHECKSUM_BYTES = 4;

/** The head: rules in force, quotas, outages, times, paused rules, seeds. The state must be live. */
export function encodeHead(state: EvaluationState): Uint8Array {
  if (!state.isLive || state.isReplaying || Number.isFinite(state.aheadFromMs)) {
    throw new RangeError('A checkpoint is of a state whose log has been read to its end');
  }
  return encoded('head', () => {
    stateFields.write(writer, state);
    census.write(writer, censusOf(state));
  });
}

/**
 * The VMs of a live state, piece by piece. No entry may be folded before the last one. The bytes of a
 * VM can change without a row of its own: with a tick, a marker, or another blind window.
 */
export function* encodedVms(state: EvaluationState): Generator<EncodedVm> {
  const { facts, retired, projects } = state;
  for (const project of new Set([...facts.keys(), ...retired.keys(), ...projects.keys()])) {
    const known = facts.get(project);
    const gone = retired.get(project);
    for (const vm of known?.keys() ?? []) yield* piecesOf({ state, project, vm });
    for (const vm of gone?.keys() ?? []) {
      if (!known?.has(vm)) yield* piecesOf({ state, project, vm });
    }
  }
}

/** A state without VMs. Throws `DamagedCheckpoint`. */
export function restoreHead(head: Uint8Array): EvaluationState {
  return decoded(head, 'head', (reader) => {
    const state = stateFields.readInto(reader, emptyState());
    state.isLive = true;
    const expected = census.read(reader);
    for (const { rules } of expected.projects) {
      for (const { rule, sinceMs, breachFromMs } of rules) {
        addRule(state, rule, sinceMs, breachFromMs);
      }
    }
    restorations.set(state, { expected, shared: { inputs: new Map(), texts: new Map() } });
    return state;
  });
}

/** Adds a piece of a VM. After an error the state is unusable. Throws `DamagedCheckpoint`. */
export function restoreVm(state: EvaluationState, { project, vm, piece, data }: EncodedVm): void {
  const { shared } = restorationOf(state);
  if (piece > 0) {
    decoded(data, vmName(project, vm, piece), (reader) => readHeld(reader, { state, project, vm }));
    return;
  }
  if (state.facts.get(project)?.has(vm) || state.retired.get(project)?.has(vm)) {
    throw new DamagedCheckpoint(`The VM ${vm} of ${project} is in the checkpoint twice`);
  }
  decoded(data, vmName(project, vm), (reader) => readVm(reader, { state, project, vm }, shared));
}

/** Ends the restoration, after all VMs counted in the head. Throws `DamagedCheckpoint`. */
export function endRestore(state: EvaluationState): void {
  const { expected } = restorationOf(state);
  const restored = censusOf(state);
  const textOf = (each: Census): string =>
    JSON.stringify([
      each.facts,
      each.retired,
      each.open,
      each.held,
      each.projects.map(({ id, instances, unevaluated, vms }) => [
        id,
        vms,
        instances,
        ...unevaluated,
      ]),
    ]);
  if (textOf(restored) !== textOf(expected)) {
    throw new DamagedCheckpoint('The VMs of the checkpoint are not those that its head counts');
  }
  restorations.delete(state);
}

/** Bytes of edges that are not decided yet. */
export function encodeEdges(edges: readonly Edge[]): Uint8Array {
  return encoded('edges', () => edgeList.write(writer, [...edges]));
}

/** The edges. Throws `DamagedCheckpoint`. */
export function decodeEdges(data: Uint8Array): Edge[] {
  return decoded(data, 'edges', (reader) => edgeList.read(reader));
}

const edgeList = list(edge, 8);

function* piecesOf(place: Place): Generator<EncodedVm> {
  const { project, vm } = place;
  const data = encoded(vmName(project, vm), () => writeVm(writer, place));
  yield { project, vm, piece: 0, data };
  let piece = 0;
  for (const held of heldPieces(place)) {
    const data = encoded(vmName(project, vm, ++piece), () => writeHeld(writer, held));
    yield { project, vm, piece, data };
  }
}

function vmName(project: string, vm: string, piece = 0): string {
  return piece === 0 ? `${project}/${vm}` : `${project}/${vm}/${piece}`;
}

function censusOf(state: EvaluationState): Census {
  const projects = [...state.projects].map(([id, project]) => {
    const { rules, vms, instances } = project;
    // Its order is that of the VMs, which differs.
    const unevaluated = new Map([...project.unevaluated].sort(([a], [b]) => (a < b ? -1 : 1)));
    return { id, rules: [...rules.values()], instances, unevaluated, vms: vms.size };
  });
  const sizeOf = (maps: Map<string, Map<string, unknown>>): number =>
    [...maps.values()].reduce((sum, { size }) => sum + size, 0);
  const { facts, retired, open } = state;
  const counts = { facts: sizeOf(facts), retired: sizeOf(retired), open: open.size };
  return { projects, ...counts, held: heldIn(state) };
}

function heldIn({ projects }: EvaluationState): number {
  let count = 0;
  for (const { vms } of projects.values()) {
    for (const { instances } of vms.get('')?.buffers.values() ?? []) {
      for (const { held } of instances) count += held?.size ?? 0;
    }
  }
  return count;
}

function restorationOf(state: EvaluationState): Restoration {
  const restoration = restorations.get(state);
  if (!restoration) throw new RangeError('This state is not being restored');
  return restoration;
}

/** The bytes that `write` leaves in the writer, with a checksum over them and `name`. */
function encoded(name: string, write: () => void): Uint8Array {
  writer.clear();
  write();
  writer.u32(checksum(name, writer.view()));
  return Buffer.from(writer.view());
}

function decoded<T>(data: Uint8Array, name: string, read: (reader: CheckpointReader) => T): T {
  const content = data.subarray(0, Math.max(0, data.length - CHECKSUM_BYTES));
  try {
    const end = new CheckpointReader(data, content.length);
    if (end.u32() !== checksum(name, content)) {
      throw new DamagedBytes('CHECKSUM', 'The checksum does not match');
    }
    const reader = new CheckpointReader(content);
    const value = read(reader);
    reader.assertEnd();
    return value;
  } catch (cause) {
    if (!(cause instanceof DamagedBytes)) throw cause;
    const message = `The part ${JSON.stringify(name)} of the checkpoint cannot be read`;
    throw new DamagedCheckpoint(`${message}: ${cause.message}`, { cause });
  }
}

/** Parts with another format or another name have another checksum. */
function checksum(name: string, content: Uint8Array): number {
  return crc32(content, crc32(`${CHECKPOINT_FORM} ${name}`));
}
