/**
 * Which source reports a VM. Rows of one VM can come from several: hosts of a failover, both ends of a
 * migration, a clone that kept its UUID, two members that read one libvirt, a collector with a new key. One of
 * them speaks, by the rules of the machine `vmSource`; the rows of the others are refused. Only a take-over is
 * committed: otherwise a row costs a look at its VM's record. An agent inside the guest is no such source: it
 * sends series that no collector may send.
 *
 * The other sources are remembered in memory alone, for what an operator is shown and to know where a VM was
 * started just now.
 */
import { createHash } from 'node:crypto';
import {
  type Copy,
  SOURCE_SILENT_MS,
  type SourceClaim,
  type TakeOver,
  takeOver,
} from '../../machines/vms/vm-source.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import { bootOf } from '../../streams/telemetry/samples/boot.ts';
import type { Draft, Host } from '../platform/host/host-port.ts';
import { ProjectShares } from '../platform/project-shares.ts';
import type { IngestRow, SenderReach } from './sent-row.ts';

/** Who reports a VM, as its record has it. Times are observation times, Unix ms. */
export interface VmReporter {
  /** Resource name of a collector's key, or a source of this service. */
  readonly source: string;
  /** The one before, whose rows from before `sinceMs` are still stored; absent: none. */
  readonly before?: string;
  /** From 1; counters of each turn begin anew. */
  readonly turn: number;
  readonly sinceMs: number;
  /** Why it took over; absent: it was the first. */
  readonly reason?: TakeOver;
  /** The VM has left the source. */
  readonly hasLeft?: true;
  /** First rows of the newest turns, oldest first, without that of the first. */
  readonly turnsMs?: readonly number[];
}

/** What a record of a VM says of it here. */
interface ReportedVm {
  readonly retiredMs?: number;
  readonly reportedBy?: VmReporter;
}

/** The newest row of a VM that a collector has sent, through whichever member. */
export interface NewestReport {
  /** Unix ms. */
  readonly observedMs: number;
  /** Index into `VM_STATES`. */
  readonly state: number;
  readonly stateReason: string;
  readonly hasReadings: boolean;
}

export interface VmSourcesDeps {
  readonly host: Pick<Host, 'submit' | 'findInstance'>;
  readonly clock: Clock;
  /** Name of this member's machine, beside those of its own sources; absent: there is one member. */
  readonly machine?: string;
  /**
   * undefined: there is none. What it throws, as where history is damaged, counts as not known: nobody is
   * silent then. Absent: it is never known.
   */
  readonly newest?: (project: string, vm: string) => NewestReport | undefined;
  /** VM records of a project. */
  readonly vms: (project: string) => ReadonlyMap<string, ReportedVm>;
}

/** Sender of a request: a credential, or a source of this service. */
export interface RowSender {
  readonly reach?: SenderReach | undefined;
  readonly source?: string | undefined;
}

/** What differs from storing the rows as they came. */
export interface SourceVerdict {
  /** Indexes of rows of another source. */
  readonly refused: ReadonlySet<number>;
  /** Boot ids that name their origin, by index of their row. */
  readonly boots: ReadonlyMap<number, string>;
}

/** Another source than the one that reports the VM, as last heard. Times: Unix ms by the clock of this member. */
export interface OtherSource {
  readonly source: string;
  readonly copy: Copy;
  /** It is off as its owner wants it: a definition that stayed behind. */
  readonly isOff: boolean;
  /** Begin of the stretch in which its rows were refused, without a pause of three intervals. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly boot: string;
  /** Observation of the first row in which it runs, where it did not before. */
  readonly freshMs?: number;
}

/** A VM of which two sources say at the same time that it runs. */
export interface ContestedVm {
  readonly project: string;
  readonly vm: string;
  readonly source: string;
  readonly other: string;
  readonly sinceMs: number;
}

const UNKNOWN = VM_STATES.indexOf('UNKNOWN');
const RUNNING = VM_STATES.indexOf('RUNNING');
const PAUSED = VM_STATES.indexOf('PAUSED');
const STOPPED = VM_STATES.indexOf('STOPPED');
/** Silence of all senders of this member by which it knows nothing of any: see `#silentMs`. */
const DEAF_MS = 90_000;
/** Other sources that are remembered, of all projects. */
const OTHERS_MAX = 50_000;
/** Take-overs of one commit. */
const BATCH = 100;
/** Take-overs whose times a record keeps: far more than a week of a VM has. */
const TURNS_MAX = 32;

/** A claim of a request that is granted, to be committed. */
interface Granted {
  readonly vm: string;
  readonly from: VmReporter;
  readonly event: { readonly type: 'claimed' } & SourceClaim;
}

export class VmSources {
  readonly #deps: VmSourcesDeps;
  readonly #others = new ProjectShares<OtherSource>(OTHERS_MAX);
  /** When each source was heard first without a pause, and last; elapsed ms. */
  readonly #heard = new Map<string, { sinceMs: number; lastMs: number }>();
  readonly #names = new Map<string, string>();
  /** Since when this member hears anybody, and when it last did; elapsed ms. */
  #hearing: { sinceMs: number; lastMs: number };

  constructor(deps: VmSourcesDeps) {
    this.#deps = deps;
    const nowMs = deps.clock.elapsed();
    this.#hearing = { sinceMs: nowMs, lastMs: nowMs };
  }

  /**
   * Name of a sender as the source of a VM. All libvirts of one process are one source, which decides
   * itself which of them reports a VM.
   */
  nameOf({ reach, source = '' }: RowSender): string {
    if (reach) return reach.name;
    let name = this.#names.get(source);
    if (name === undefined) {
      const kind = source.split(' ', 1)[0] || 'this service';
      const { machine } = this.#deps;
      name = machine === undefined ? kind : `${kind} on ${machine}`;
      this.#names.set(source, name);
    }
    return name;
  }

  /**
   * Whose rows they are; undefined: the sender's own, as nearly always. Commits take-overs. Rows of VMs
   * without a source are not judged: their registration makes the sender their source. Rejects with what
   * the host's submit throws.
   */
  judge(
    project: string,
    rows: readonly IngestRow[],
    sender: RowSender,
  ): SourceVerdict | Promise<SourceVerdict> | undefined {
    // What an agent sends is its own.
    if (sender.reach?.vm) return undefined;
    const me = this.nameOf(sender);
    this.#hear(me);
    const vms = this.#deps.vms(project);
    for (const row of rows) {
      const by = vms.get(row.vm)?.reportedBy;
      const isPlain = by === undefined || (by.source === me && by.turn === 1 && !by.hasLeft);
      if (!isPlain || isGoneFrom(row)) return this.#judge(project, rows, me);
    }
    return undefined;
  }

  /** This member did not reach the streams: whether a source was silent is not known of the time until now. */
  isolated(): void {
    this.#hearing.sinceMs = this.#deps.clock.elapsed();
  }

  /** Is another source than `me` the one that reports the VM, or does another one have it now? */
  isOthers(project: string, vm: string, me: string): boolean {
    const by = this.#deps.vms(project).get(vm)?.reportedBy;
    if (by === undefined) return false;
    if (by.source === me) return this.#othersOf(project, vm).some(({ copy }) => copy !== 'DOWN');
    if (by.hasLeft || this.#isEnded(by.source)) return false;
    return this.#present(project, vm).silentMs <= SOURCE_SILENT_MS;
  }

  /** Were rows of another source refused in the stretch, other than that the VM is off there? Unix ms. */
  isReportedElsewhere(project: string, vm: string, fromMs: number, toMs: number): boolean {
    for (const key of this.#keysOf(project, vm)) {
      const other = this.#others.get(project, key);
      if (other && !other.isOff && other.sinceMs <= toMs && other.lastMs >= fromMs) return true;
    }
    return false;
  }

  /** Sources of this service that were heard since its start, as they name themselves. */
  ownSources(): readonly string[] {
    return [...this.#names.keys()].filter((source) => source !== '');
  }

  /** VMs of each project whose rows of this source are refused now, and how many of them run there. */
  refusedOf(source: string): Map<string, { readonly vms: number; readonly running: number }> {
    const counts = new Map<string, { vms: number; running: number }>();
    for (const { project, other } of this.#recent()) {
      if (other.source !== source) continue;
      const count = counts.get(project) ?? { vms: 0, running: 0 };
      counts.set(project, count);
      count.vms++;
      if (other.copy === 'RUNNING') count.running++;
    }
    return counts;
  }

  /** VMs that run in two places, as their sources have said for three intervals and more. */
  contested(): ContestedVm[] {
    const found: ContestedVm[] = [];
    for (const { project, vm, other } of this.#recent()) {
      if (other.copy !== 'RUNNING' || other.lastMs - other.sinceMs < SOURCE_SILENT_MS) continue;
      const source = this.#deps.vms(project).get(vm)?.reportedBy?.source;
      if (source === undefined || source === other.source) continue;
      found.push({ project, vm, source, other: other.source, sinceMs: other.sinceMs });
    }
    return found;
  }

  #judge(
    project: string,
    rows: readonly IngestRow[],
    me: string,
  ): SourceVerdict | Promise<SourceVerdict> {
    const vms = this.#deps.vms(project);
    const granted = new Map<string, Granted>();
    const left = new Map<string, number>();
    for (const row of rows) {
      const known = vms.get(row.vm);
      const by = known?.reportedBy;
      if (by === undefined || known?.retiredMs !== undefined || granted.has(row.vm)) continue;
      if (by.source === me && !by.hasLeft) {
        if (isGoneFrom(row)) left.set(row.vm, row.observedMs);
      } else if (!isHistory(by, me, row)) {
        const event = this.#granted(project, row, { me, by });
        if (event) granted.set(row.vm, { vm: row.vm, from: by, event });
      }
    }
    if (granted.size + left.size === 0) return this.#verdict(project, rows, me);
    return this.#commit(project, { granted: [...granted.values()], left: [...left] }, me).then(() =>
      this.#verdict(project, rows, me),
    );
  }

  #verdict(project: string, rows: readonly IngestRow[], me: string): SourceVerdict {
    const vms = this.#deps.vms(project);
    const refused = new Set<number>();
    const boots = new Map<number, string>();
    for (const [i, row] of rows.entries()) {
      const known = vms.get(row.vm);
      // It was not there yet, or is no more: who registers it is its source.
      const by = known?.retiredMs === undefined ? known?.reportedBy : undefined;
      if (isGoneFrom(row) || (by && !isOwn(by, me, row))) refused.add(i);
      else if (by && by.turn > 1 && row.observedMs >= by.sinceMs) {
        boots.set(i, bootOf(row.boot, String(by.turn)));
      }
    }
    return { refused, boots };
  }

  /** The event by which the sender takes the VM over; undefined: it does not. The row is remembered. */
  #granted(
    project: string,
    row: IngestRow,
    { me, by }: { readonly me: string; readonly by: VmReporter },
  ): Granted['event'] | undefined {
    const present = this.#present(project, row.vm);
    const { newest } = present;
    const other = this.#remember(project, row, me);
    // What is older than the last word of the present source says nothing of now.
    if (isGoneFrom(row) || (newest && !by.hasLeft && row.observedMs <= newest.observedMs)) {
      return undefined;
    }
    const claim: SourceClaim = {
      source: me,
      copy: other.copy,
      observedMs: row.observedMs,
      isFresh: other.freshMs !== undefined && (newest?.observedMs ?? 0) < other.freshMs,
      presentCopy: newest ? copyOf(newest) : 'RUNNING',
      presentSilentMs: present.silentMs,
      isPresentEnded: this.#isEnded(by.source),
    };
    return takeOver(presentOf(by), claim) && { type: 'claimed', ...claim };
  }

  /**
   * Newest row of the source that reports the VM, and how long it was silent since, of the time in which this
   * member could have heard it. After a start, or when nobody was heard at all, silence proves nothing.
   */
  #present(
    project: string,
    vm: string,
  ): { readonly newest?: NewestReport | undefined; readonly silentMs: number } {
    const { clock, newest: read } = this.#deps;
    if (read === undefined) return { silentMs: 0 };
    let newest: NewestReport | undefined;
    try {
      newest = read(project, vm);
    } catch {
      return { silentMs: 0 };
    }
    const heardMs = clock.elapsed() - this.#hearing.sinceMs;
    if (newest === undefined) return { silentMs: heardMs };
    return { newest, silentMs: Math.min(heardMs, clock.now() - newest.observedMs) };
  }

  /** Has the key of the source ended? A source of the service itself has none. */
  #isEnded(source: string): boolean {
    const [, id] = /\/keys\/([^/]+)$/.exec(source) ?? [];
    if (id === undefined) return false;
    const key = this.#deps.host.findInstance('credential', id);
    return key === undefined || key.final;
  }

  #hear(source: string): void {
    const nowMs = this.#deps.clock.elapsed();
    if (nowMs - this.#hearing.lastMs > DEAF_MS) this.#hearing.sinceMs = nowMs;
    this.#hearing.lastMs = nowMs;
    const heard = this.#heard.get(source);
    if (heard === undefined || nowMs - heard.lastMs > SOURCE_SILENT_MS) {
      this.#heard.set(source, { sinceMs: nowMs, lastMs: nowMs });
    } else heard.lastMs = nowMs;
  }

  #remember(project: string, row: IngestRow, source: string): OtherSource {
    const nowMs = this.#deps.clock.now();
    const key = keyOf(row.vm, source);
    const before = this.#others.get(project, key);
    const goesOn = before !== undefined && nowMs - before.lastMs <= SOURCE_SILENT_MS;
    const copy = copyOf({ ...row, hasReadings: row.values.length > 0 });
    const freshMs =
      copy === 'RUNNING' ? this.#freshMs(row, source, goesOn ? before : undefined) : undefined;
    const other: OtherSource = {
      source,
      copy,
      isOff: row.state === STOPPED,
      sinceMs: goesOn ? before.sinceMs : nowMs,
      lastMs: nowMs,
      boot: row.boot,
      ...(freshMs !== undefined && { freshMs }),
    };
    this.#others.put(project, key, other);
    return other;
  }

  /** When the copy that runs was first seen; undefined: it may have run for long. */
  #freshMs(row: IngestRow, source: string, before: OtherSource | undefined): number | undefined {
    if (before === undefined) {
      const heard = this.#heard.get(source);
      const isKnown = heard !== undefined && heard.lastMs - heard.sinceMs >= SOURCE_SILENT_MS;
      return isKnown ? row.observedMs : undefined;
    }
    const isSame = before.copy === 'RUNNING' && before.boot === row.boot;
    return isSame ? before.freshMs : row.observedMs;
  }

  /** Keys of a VM's other sources; there are few sources. */
  *#keysOf(project: string, vm: string): Generator<string> {
    for (const source of this.#heard.keys()) {
      const key = keyOf(vm, source);
      if (this.#others.get(project, key)) yield key;
    }
  }

  #othersOf(project: string, vm: string): OtherSource[] {
    const sinceMs = this.#deps.clock.now() - SOURCE_SILENT_MS;
    const found = [...this.#keysOf(project, vm)].map((key) => this.#others.get(project, key));
    return found.filter((other) => other !== undefined && other.lastMs >= sinceMs) as OtherSource[];
  }

  *#recent(): Generator<{ project: string; vm: string; other: OtherSource }> {
    const sinceMs = this.#deps.clock.now() - SOURCE_SILENT_MS;
    for (const [project, share] of this.#others.shares()) {
      for (const [key, other] of share) {
        const vm = key.slice(0, key.indexOf(' '));
        if (other.lastMs >= sinceMs) yield { project, vm, other };
      }
    }
  }

  async #commit(
    project: string,
    {
      granted,
      left,
    }: {
      readonly granted: readonly Granted[];
      readonly left: readonly (readonly [string, number])[];
    },
    me: string,
  ): Promise<void> {
    const changes = [
      ...granted.map((one) => (draft: Draft) => takeVm(draft, one, me)),
      ...left.map(
        ([vm, sinceMs]) =>
          (draft: Draft) =>
            leaveVm(draft, { vm, sinceMs }, me),
      ),
    ];
    for (let start = 0; start < changes.length; start += BATCH) {
      const some = changes.slice(start, start + BATCH);
      await this.#deps.host.submit({
        project,
        by: { kind: 'collector', name: me },
        decide(draft) {
          for (const change of some) change(draft);
        },
      });
    }
    for (const { vm } of granted) this.#others.delete(project, keyOf(vm, me));
  }
}

function keyOf(vm: string, source: string): string {
  return `${vm} ${source}`;
}

/** libvirt keeps the definition of a VM that was migrated away: it is not off, it is elsewhere. */
function isGoneFrom({ state, stateReason }: Pick<IngestRow, 'state' | 'stateReason'>): boolean {
  return state === STOPPED && stateReason === 'migrated';
}

function copyOf(row: Omit<NewestReport, 'observedMs'>): Copy {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return row.hasReadings ? 'RUNNING' : 'DOWN';
  return row.state === PAUSED && row.stateReason !== 'migration' ? 'PAUSED' : 'DOWN';
}

/** A row that the source before observed while it was the VM's: it waited on the way. */
function isHistory(by: VmReporter, me: string, { observedMs }: IngestRow): boolean {
  return me === by.before && observedMs < by.sinceMs;
}

/** Is the row the sender's to report? */
function isOwn(by: VmReporter, me: string, row: IngestRow): boolean {
  if (isHistory(by, me, row)) return true;
  // What the source observed before it took over is of the time of another one.
  return by.source === me && !by.hasLeft && (by.turn === 1 || row.observedMs >= by.sinceMs);
}

function presentOf({ before = '', sinceMs, hasLeft, reason }: VmReporter) {
  return { sourceBefore: before, sinceMs, hasLeft: hasLeft === true, reason: reason ?? null };
}

// Decisions, each about one VM. The record of the VM and its source change together.

/** Id of the instance of a VM's source: two projects may know one VM id. */
export function vmSourceIdOf(project: string, vm: string): string {
  const digest = createHash('sha256').update(JSON.stringify(['vmSource', project, vm]));
  return digest.digest('hex').slice(0, 26);
}

function takeVm(draft: Draft, { vm, from, event }: Granted, me: string): void {
  const body = draft.record('vm', vm)?.body;
  const by = body?.reportedBy;
  // Another source was faster: what was known of the one before says nothing of it.
  if (!by || by.source !== from.source || by.turn !== from.turn) return;
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) startVmSource(draft, vm, by.source);
  const { instance } = draft.send('vmSource', id, { ...event, at: draft.at });
  const { source, turn, sinceMs, reason } = instance.context;
  if (source !== me || turn <= by.turn) return;
  const reportedBy: VmReporter = {
    source,
    before: by.source,
    turn,
    sinceMs,
    ...(reason !== null && { reason }),
    turnsMs: [...(by.turnsMs ?? []), sinceMs].slice(-TURNS_MAX),
  };
  // Which of the node's own sources it is follows with the registration of the row.
  const { source: _, ...rest } = body;
  draft.putRecord({ kind: 'vm', id: vm, body: { ...rest, reportedBy } });
}

function leaveVm(
  draft: Draft,
  { vm, sinceMs }: { readonly vm: string; readonly sinceMs: number },
  me: string,
): void {
  const body = draft.record('vm', vm)?.body;
  const by = body?.reportedBy;
  if (!by || by.source !== me || by.hasLeft) return;
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) startVmSource(draft, vm, me);
  draft.send('vmSource', id, { type: 'departed', at: draft.at, sinceMs });
  draft.putRecord({
    kind: 'vm',
    id: vm,
    body: { ...body, reportedBy: { ...by, sinceMs, hasLeft: true } },
  });
}

function startVmSource(draft: Draft, vm: string, source: string): void {
  const { project, at } = draft;
  draft.start('vmSource', vmSourceIdOf(project, vm), { at, project, vm, source });
}

/** The sender as the source of a VM that has none: it is new, or comes back after it was retired. */
export function firstReporter(
  draft: Draft,
  vm: string,
  { source, observedMs }: { readonly source: string; readonly observedMs: number },
): VmReporter {
  const id = vmSourceIdOf(draft.project, vm);
  if (!draft.instance('vmSource', id)) {
    startVmSource(draft, vm, source);
    return { source, turn: 1, sinceMs: draft.at };
  }
  const claim = { copy: 'RUNNING', isFresh: false, presentCopy: 'DOWN' } as const;
  const { instance } = draft.send('vmSource', id, {
    type: 'claimed',
    at: draft.at,
    source,
    observedMs,
    ...claim,
    presentSilentMs: 0,
    isPresentEnded: false,
  });
  const { turn, sinceMs } = instance.context;
  return { source: instance.context.source, turn, sinceMs, turnsMs: [sinceMs] };
}

/** The source of a VM that is retired, in the same decision. */
export function retireVmSource(draft: Draft, vm: string): void {
  const id = vmSourceIdOf(draft.project, vm);
  if (draft.instance('vmSource', id))
    draft.send('vmSource', id, { type: 'vmRetired', at: draft.at });
}

/** The VM goes to whoever else has it: its source lists it no more. */
export function leaveToOthers(draft: Draft, vm: string, source: string): void {
  leaveVm(draft, { vm, sinceMs: draft.at }, source);
}
