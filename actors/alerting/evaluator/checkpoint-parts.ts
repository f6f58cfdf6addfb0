/**
 * The contents of a partition's checkpoint as blocks of parts: the state of the fold
 * (`streams/alerting/evaluation/checkpoint`), the edges that are not decided yet, and what liveness
 * knows about each VM. Parts of one VM are small, so that no turn has to encode a whole tenant.
 *
 *     block   part part part ...        at most `BLOCK_BYTES` and one part
 *     part    kind, project, name, number, length, bytes
 */
import {
  decodeEdges,
  type EncodedVm,
  encodedVms,
  encodeEdges,
  encodeHead,
  endRestore,
  restoreHead,
  restoreVm,
} from '../../../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import type { EvaluationState } from '../../../streams/alerting/evaluation/state.ts';
import type { RulesEntry } from '../../../streams/telemetry/entry.ts';
import { decodeEntry, encodeEntry } from '../../../streams/telemetry/entry-codec.ts';
import { ByteReader, malformed } from '../../../streams/telemetry/samples/byte-reader.ts';
import { ByteWriter } from '../../../streams/telemetry/samples/byte-writer.ts';
import type { HeldEdges, UndecidedEdges, WaitingEntry } from './edge-commits.ts';
import type { KnownVm } from './vm-liveness.ts';

/** Everything that evaluation holds for one partition, between two entries of the log. */
export interface PartitionContents {
  readonly state: EvaluationState;
  readonly undecided: UndecidedEdges;
  readonly known: Iterable<KnownVm>;
}

/** Size at which a block is closed, bytes. */
const BLOCK_BYTES = 512 * 1024;

const HEAD = 1;
const MARKER = 2;
const WAITING = 3;
const HELD = 4;
const KNOWN = 5;
const VM = 6;

/** VMs of one part of liveness facts. */
const KNOWN_AT_ONCE = 100;

interface Part {
  readonly kind: number;
  readonly project?: string;
  /** Id of a VM or a rule. */
  readonly name?: string;
  /** Sequence of the entry in the log; of a VM: its piece. */
  readonly number?: number;
  readonly data: Uint8Array;
}

/**
 * The blocks of a checkpoint; undefined after each part, so that the caller may yield to other work.
 * The contents must not change until it has ended.
 */
export function* blocksOf(contents: PartitionContents): Generator<Uint8Array | undefined> {
  const out = new ByteWriter(BLOCK_BYTES);
  for (const part of partsOf(contents)) {
    write(out, part);
    if (out.length >= BLOCK_BYTES) {
      yield Uint8Array.from(out.view());
      out.clear();
    } else yield undefined;
  }
  yield Uint8Array.from(out.view());
}

function* partsOf({ state, undecided, known }: PartitionContents): Generator<Part> {
  yield { kind: HEAD, data: encodeHead(state) };
  for (const { sequence, entry, edges } of undecided.waiting) {
    if (entry) yield { kind: MARKER, number: sequence, data: encodeEntry(entry) };
    yield { kind: WAITING, number: sequence, data: encodeEdges(edges) };
  }
  for (const { project, rule, sequence, edges } of undecided.held) {
    yield { kind: HELD, project, name: rule, number: sequence, data: encodeEdges(edges) };
  }
  yield* knownParts(known);
  for (const { project, vm, piece, data } of encodedVms(state)) {
    yield { kind: VM, project, name: vm, number: piece, data };
  }
}

function* knownParts(known: Iterable<KnownVm>): Generator<Part> {
  const out = new ByteWriter();
  let count = 0;
  for (const { project, vm, newestMs, powerMs, power } of known) {
    out.text(project);
    out.text(vm);
    out.number(newestMs);
    out.number(powerMs);
    out.text(power);
    if (++count % KNOWN_AT_ONCE > 0) continue;
    yield { kind: KNOWN, data: Uint8Array.from(out.view()) };
    out.clear();
  }
  yield { kind: KNOWN, data: Uint8Array.from(out.view()) };
}

function write(out: ByteWriter, { kind, project = '', name = '', number = 0, data }: Part): void {
  out.u8(kind);
  out.text(project);
  out.text(name);
  out.varint(number);
  out.varint(data.length);
  out.bytes(data);
}

/** Reads a checkpoint, block after block. Throws `DamagedBytes` for what this program did not write. */
export class ContentsReader {
  readonly #partition: number;
  #state: EvaluationState | undefined;
  #marker: { readonly sequence: number; readonly entry: RulesEntry } | undefined;
  readonly #waiting: WaitingEntry[] = [];
  readonly #held: HeldEdges[] = [];
  readonly #known: KnownVm[] = [];

  constructor(partition: number) {
    this.#partition = partition;
  }

  /** Takes a block; yields after each part, so that the caller may yield to other work. */
  *take(block: Uint8Array): Generator<undefined> {
    const reader = new ByteReader(block);
    while (reader.left > 0) {
      const kind = reader.u8();
      const project = reader.text();
      const name = reader.text();
      const number = reader.varint();
      this.#add({ kind, project, name, number, data: reader.bytes(reader.count(1)) });
      yield;
    }
  }

  /** After the last block. Throws `DamagedBytes` if something is missing. */
  end(): PartitionContents {
    const state = this.#state;
    if (state === undefined) throw malformed('a checkpoint has no head');
    endRestore(state);
    return { state, undecided: { waiting: this.#waiting, held: this.#held }, known: this.#known };
  }

  #add({ kind, project, name, number, data }: Required<Part>): void {
    switch (kind) {
      case HEAD:
        this.#state = restoreHead(data);
        return;
      case MARKER: {
        const entry = decodeEntry(data);
        if (entry.kind !== 'rules') throw malformed('a marker is of another kind');
        this.#marker = { sequence: number, entry };
        return;
      }
      case WAITING: {
        const { sequence, entry } = this.#marker ?? {};
        this.#waiting.push({
          sequence: number,
          partition: this.#partition,
          edges: decodeEdges(data),
          entry: sequence === number ? entry : undefined,
        });
        return;
      }
      case HELD:
        this.#held.push({ project, rule: name, sequence: number, edges: decodeEdges(data) });
        return;
      case KNOWN:
        this.#known.push(...knownIn(data));
        return;
      case VM:
        this.#restoreVm({ project, vm: name, piece: number, data });
        return;
      default:
        throw malformed(`a part has the unknown kind ${kind}`);
    }
  }

  #restoreVm(encoded: EncodedVm): void {
    if (this.#state === undefined) throw malformed('a VM is before the head');
    restoreVm(this.#state, encoded);
  }
}

function* knownIn(data: Uint8Array): Generator<KnownVm> {
  const reader = new ByteReader(data);
  while (reader.left > 0) {
    const [project, vm] = [reader.text(), reader.text()];
    const [newestMs, powerMs] = [reader.number(), reader.number()];
    yield { project, vm, newestMs, powerMs, power: powerNamed(reader.text()) };
  }
}

function powerNamed(name: string): KnownVm['power'] {
  switch (name) {
    case 'RUNNING':
    case 'STOPPED':
    case 'DOWN':
    case 'UNREPORTED':
      return name;
    default:
      throw malformed('a power state is unknown');
  }
}
