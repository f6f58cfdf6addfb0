/**
 * The source that reports a VM. Rows of one VM can come from several sources: hosts of a failover,
 * both ends of a migration, a clone that kept its UUID, two members that read one libvirt, a
 * collector with a new key. One of them is accepted, by the rules of the machine `vmSource`; the
 * rows of the others are rejected. Only a takeover is committed; otherwise a row costs one look-up
 * of its VM's record. An agent inside the guest is not such a source, because it sends series that
 * no collector may send.
 *
 * The other sources are remembered only in memory, for display to an operator and to know where a
 * VM has just been started.
 */
import {
  type Copy,
  SOURCE_SILENT_MS,
  type SourceClaim,
  takeOver,
} from '../../machines/vms/vm-source.ts';
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import { VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import { bootOf } from '../../streams/telemetry/samples/boot.ts';
import type { Draft, Host } from '../platform/host/host-port.ts';
import { ProjectShares } from '../platform/project-shares.ts';
import type { IngestRow, SenderReach } from './sent-row.ts';
import { type Granted, leaveVm, takeVm, type VmReporter } from './vm-source-decisions.ts';

/** The part of a VM's record that is used here. */
interface ReportedVm {
  readonly retiredMs?: number;
  readonly reportedBy?: VmReporter;
}

/** The newest row of a VM that a collector has sent, through any member. */
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
  /**
   * Name of this member's machine, added to its own sources; absent if there is only one member.
   */
  readonly machine?: string;
  /**
   * undefined if absent. If it throws, for example because history is damaged, the row
   * counts as unknown and no source as silent. Absent: it is never known.
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

/** The differences from storing the rows as they arrived. */
export interface SourceVerdict {
  /** Indexes of rows of another source. */
  readonly refused: ReadonlySet<number>;
  /** Boot ids that name their origin, by index of their row. */
  readonly boots: ReadonlyMap<number, string>;
}

/**
 * A source other than the one that reports the VM, as last received. Times are Unix ms by the clock
 * of this member.
 */
export interface OtherSource {
  readonly source: string;
  readonly copy: Copy;
  /** True if the VM is off there as its owner wants: a definition that was left behind. */
  readonly isOff: boolean;
  /** Start of the stretch in which its rows were rejected, without a pause of three intervals. */
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly boot: string;
  /** Observation of the first row in which it runs, if it did not before. */
  readonly freshMs?: number;
}

/** A VM that two sources report as running at the same time. */
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
/** Silence of all senders of this member after which none of them is judged: see `#silentMs`. */
const DEAF_MS = 90_000;
/** Maximum other sources that are remembered, of all projects. */
const OTHERS_MAX = 50_000;
/** Maximum takeovers in one commit. */
const BATCH = 100;

/** False also for a time by a clock that was set back since: a live source is heard again soon. */
function isRecent({ lastMs }: OtherSource, nowMs: number): boolean {
  return lastMs >= nowMs - SOURCE_SILENT_MS && !isAhead(lastMs, nowMs);
}

export class VmSources {
  readonly #deps: VmSourcesDeps;
  readonly #others = new ProjectShares<OtherSource>(OTHERS_MAX);
  /** Time when each source was first received without a pause, and last received; elapsed ms. */
  readonly #heard = new Map<string, { sinceMs: number; lastMs: number }>();
  readonly #names = new Map<string, string>();
  /**
   * Start of the time in which this member receives any source, and the last such time; elapsed ms.
   */
  #hearing: { sinceMs: number; lastMs: number };

  constructor(deps: VmSourcesDeps) {
    this.#deps = deps;
    const nowMs = deps.clock.elapsed();
    this.#hearing = { sinceMs: nowMs, lastMs: nowMs };
  }

  /**
   * Name of a sender as the source of a VM. All libvirts of one process are one source, which
   * decides itself which of them reports a VM.
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
   * Decides which rows are accepted; undefined if all belong to the sender, as is nearly always the
   * case. Commits takeovers. Rows of VMs without a source are not judged, because their
   * registration makes the sender their source. Rejects with the errors of the host's submit.
   */
  judge(
    project: string,
    rows: readonly IngestRow[],
    sender: RowSender,
  ): SourceVerdict | Promise<SourceVerdict> | undefined {
    // An agent's rows are always its own.
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

  /** This member could not reach the streams. Whether a source was silent until now is unknown. */
  isolated(): void {
    this.#hearing.sinceMs = this.#deps.clock.elapsed();
  }

  /** True if a source other than `me` reports the VM, or has it now. */
  isOthers(project: string, vm: string, me: string): boolean {
    const by = this.#deps.vms(project).get(vm)?.reportedBy;
    if (by === undefined) return false;
    if (by.source === me) return this.#othersOf(project, vm).some(({ copy }) => copy !== 'DOWN');
    if (by.hasLeft || this.#isEnded(by.source)) return false;
    return this.#present(project, vm).silentMs <= SOURCE_SILENT_MS;
  }

  /**
   * True if rows of another source were rejected in the stretch, except those that report the VM as
   * off. Unix ms.
   */
  isReportedElsewhere(project: string, vm: string, fromMs: number, toMs: number): boolean {
    for (const key of this.#keysOf(project, vm)) {
      const other = this.#others.get(project, key);
      if (other && !other.isOff && other.sinceMs <= toMs && other.lastMs >= fromMs) return true;
    }
    return false;
  }

  /** Sources of this service that were received since its start, by their own names. */
  ownSources(): readonly string[] {
    return [...this.#names.keys()].filter((source) => source !== '');
  }

  /**
   * VMs of each project whose rows of this source are currently rejected, and how many of them run
   * there.
   */
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

  /** VMs that run in two places according to their sources, for at least three intervals. */
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
      // It did not exist yet, or no longer exists: the source that registers it becomes its source.
      const by = known?.retiredMs === undefined ? known?.reportedBy : undefined;
      if (isGoneFrom(row) || (by && !isOwn(by, me, row))) refused.add(i);
      else if (by && by.turn > 1 && row.observedMs >= beganMs(by)) {
        boots.set(i, bootOf(row.boot, String(by.turn)));
      }
    }
    return { refused, boots };
  }

  /**
   * The event by which the sender takes over the VM; undefined if it does not. The row is
   * remembered.
   */
  #granted(
    project: string,
    row: IngestRow,
    { me, by }: { readonly me: string; readonly by: VmReporter },
  ): Granted['event'] | undefined {
    const present = this.#present(project, row.vm);
    const { newest } = present;
    const other = this.#remember(project, row, me);
    // A row older than the last one of the current source says nothing about the present.
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
   * Newest row of the source that reports the VM, and how long it has been silent since, counting
   * only time in which this member could have received it. After a start, or when no source was
   * received at all, silence proves nothing.
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

  /** True if the key of the source has ended. A source of the service itself has none. */
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
    const goesOn =
      before !== undefined &&
      nowMs - before.lastMs <= SOURCE_SILENT_MS &&
      !isAhead(before.lastMs, nowMs);
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

  /** Time when the running copy was first seen; undefined if it may have run for long. */
  #freshMs(row: IngestRow, source: string, before: OtherSource | undefined): number | undefined {
    if (before === undefined) {
      const heard = this.#heard.get(source);
      const isKnown = heard !== undefined && heard.lastMs - heard.sinceMs >= SOURCE_SILENT_MS;
      return isKnown ? row.observedMs : undefined;
    }
    const isSame = before.copy === 'RUNNING' && before.boot === row.boot;
    return isSame ? before.freshMs : row.observedMs;
  }

  /** Keys of a VM's other sources. There are few sources. */
  *#keysOf(project: string, vm: string): Generator<string> {
    for (const source of this.#heard.keys()) {
      const key = keyOf(vm, source);
      if (this.#others.get(project, key)) yield key;
    }
  }

  #othersOf(project: string, vm: string): OtherSource[] {
    const nowMs = this.#deps.clock.now();
    const found = [...this.#keysOf(project, vm)].map((key) => this.#others.get(project, key));
    return found.filter((other) => other !== undefined && isRecent(other, nowMs)) as OtherSource[];
  }

  *#recent(): Generator<{ project: string; vm: string; other: OtherSource }> {
    const nowMs = this.#deps.clock.now();
    for (const [project, share] of this.#others.shares()) {
      for (const [key, other] of share) {
        const vm = key.slice(0, key.indexOf(' '));
        if (isRecent(other, nowMs)) yield { project, vm, other };
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

/** libvirt keeps the definition of a VM that was migrated away: it is not off, but elsewhere. */
function isGoneFrom({ state, stateReason }: Pick<IngestRow, 'state' | 'stateReason'>): boolean {
  return state === STOPPED && stateReason === 'migrated';
}

function copyOf(row: Omit<NewestReport, 'observedMs'>): Copy {
  if (row.state === RUNNING) return 'RUNNING';
  if (row.state === UNKNOWN) return row.hasReadings ? 'RUNNING' : 'DOWN';
  return row.state === PAUSED && row.stateReason !== 'migration' ? 'PAUSED' : 'DOWN';
}

/** Beginning of the turn of the source, Unix ms. After its departure, `sinceMs` is another time. */
function beganMs(by: VmReporter): number {
  return by.turnsMs?.at(-1) ?? (by.hasLeft ? 0 : by.sinceMs);
}

/** A delayed row that a source observed in its turn, which is over. */
function isHistory(by: VmReporter, me: string, { observedMs }: IngestRow): boolean {
  if (observedMs < beganMs(by)) return me === by.before;
  return me === by.source && by.hasLeft === true && observedMs < by.sinceMs;
}

/** True if the sender may report the row. */
function isOwn(by: VmReporter, me: string, row: IngestRow): boolean {
  if (isHistory(by, me, row)) return true;
  // Rows that the source observed before it took over belong to the time of another one.
  return by.source === me && !by.hasLeft && (by.turn === 1 || row.observedMs >= by.sinceMs);
}

function presentOf({ before = '', sinceMs, hasLeft, reason }: VmReporter) {
  return { sourceBefore: before, sinceMs, hasLeft: hasLeft === true, reason: reason ?? null };
}
