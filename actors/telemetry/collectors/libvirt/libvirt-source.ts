/**
 * All VMs of one libvirt as a source: one read-only virsh per round for the counters of all of
 * them, killed at a deadline; optionally also the file systems reported by guest agents.
 *
 * One frozen QEMU process delays libvirt's response for all VMs. That round ends at its deadline
 * without rows. From then on virsh uses `--nowait`, which is complete for all VMs except the frozen
 * one, until that VM responds again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CancelWakeUp, Clock } from '../../../../streams/platform/clock.ts';
import type { AbsenceCause } from '../../../../streams/telemetry/metrics/absence-causes.ts';
import type { ObservedRow, ObservedValue, Reading, Source, SourceFault } from '../collector.ts';
import { type CommandOutcome, type RunCommand, runCommand } from '../command.ts';
import { fileSystemValues } from '../host/file-systems.ts';
import { balloonUpdate, domainRow, hasCounters } from './domain-row.ts';
import { type Libvirt, messageOf, runVirsh, virshFault } from './virsh.ts';
import {
  type Domain,
  indexesOf,
  parseGuestFileSystems,
  parseStatistics,
  statisticsCommand,
} from './virsh-text.ts';

/** The libvirt to read, and how long to wait for it. */
export interface LibvirtSourceOptions {
  readonly uri: string;
  readonly clock: Clock;
  readonly intervalMs: number;
  /**
   * Query the guest agents for file systems, over a connection that may also write. Default false.
   */
  readonly fileSystems?: boolean;
  /** Deadline of one round of counters, ms. Default a third of the interval, at most 10 s. */
  readonly deadlineMs?: number;
  /** libvirt's timeout for a guest agent, seconds. Default 3. */
  readonly agentSeconds?: number;
  readonly run?: RunCommand;
}

const DEADLINE_MS_MAX = 10_000;
/** Rows created in one turn of the event loop: about 5 ms. */
const ROWS_A_TURN = 100;

/** Returns a row for each domain of `uri`, running or not. */
export function createLibvirtSource(options: LibvirtSourceOptions): Source {
  return new LibvirtSource(options);
}

class LibvirtSource implements Source {
  readonly name = 'libvirt';
  readonly #options: LibvirtSourceOptions;
  readonly #libvirt: Libvirt;
  readonly #guests: GuestFileSystems | undefined;
  readonly #firstMs: number;
  readonly #firstElapsedMs: number;
  /** `balloon.last-update` of the previous round, by VM. */
  #balloonUpdates = new Map<string, number>();
  /** Runs in which a VM's QEMU has responded, by VM. */
  #answered = new Map<string, string>();
  #nowait = false;

  constructor(options: LibvirtSourceOptions) {
    const { uri, clock, run = runCommand, intervalMs, agentSeconds } = options;
    this.#options = options;
    this.#libvirt = { uri, clock, run };
    this.#firstMs = clock.now();
    this.#firstElapsedMs = clock.elapsed();
    this.#guests = options.fileSystems
      ? new GuestFileSystems({
          libvirt: this.#libvirt,
          intervalMs,
          ...(agentSeconds !== undefined && { agentSeconds }),
        })
      : undefined;
  }

  async read(signal: AbortSignal): Promise<Reading> {
    const { clock, intervalMs, deadlineMs } = this.#options;
    const startedMs = clock.now();
    const startedElapsedMs = clock.elapsed();
    const outcome = await runVirsh(this.#libvirt, {
      commands: statisticsCommand({ nowait: this.#nowait }),
      readOnly: true,
      deadlineMs: deadlineMs ?? Math.min(intervalMs / 3, DEADLINE_MS_MAX),
      signal,
    });
    if (outcome.kind === 'killed' && outcome.because === 'deadline') {
      this.#nowait = true;
      return { rows: [], faults: [lateAnswer] };
    }
    const fault = virshFault(this.#libvirt, outcome);
    const faults = fault ? [fault] : [];
    if (outcome.kind !== 'exited') return { rows: [], faults };
    // libvirt reads one domain after another and does not say when: the midpoint has the smallest
    // error.
    const observedMs = Math.round(startedMs + (clock.elapsed() - startedElapsedMs) / 2);
    return this.#rows(outcome, observedMs, faults);
  }

  async close(): Promise<void> {
    await this.#guests?.close();
  }

  async #rows(
    outcome: CommandOutcome,
    observedMs: number,
    faults: SourceFault[],
  ): Promise<Reading> {
    const { domains, changed, listed, uuids } = parseStatistics(outcome.stdout);
    // The exit code is that of the last command: the second list of all domains is complete.
    const whole = faults.length === 0 ? uuids : undefined;
    if (faults.length === 0 && domains.length === 0 && listed > 0) {
      faults.push(noStatistics(messageOf(outcome)));
    }
    for (const name of changed) faults.push(changedMeanwhile(name));
    const frozen = domains.filter((domain) => this.#isSilent(domain));
    for (const domain of frozen) faults.push(silent(domain));
    // Full queries resume only once all VMs respond: the next frozen one costs a round again.
    if (this.#nowait && domains.length > 0 && frozen.length === 0) this.#nowait = false;
    const rows: ObservedRow[] = [];
    for (const domain of domains) {
      const row = this.#row(domain, observedMs, frozen.includes(domain));
      if (rows.push(row) % ROWS_A_TURN === 0) await nextTurn();
    }
    this.#balloonUpdates = collect(domains, (domain) => balloonUpdate(domain));
    this.#answered = collect(domains, (domain) =>
      hasAnswered(domain) ? domain.id : this.#answered.get(domain.uuid),
    );
    const running = rows.filter((row) => row.state === 'RUNNING');
    this.#guests?.watch(running);
    const reading = { rows, faults: [...faults, ...(this.#guests?.faults() ?? [])] };
    return whole ? { ...reading, listed: whole } : reading;
  }

  #row(domain: Domain, observedMs: number, isSilent: boolean): ObservedRow {
    const { clock, intervalMs } = this.#options;
    const lastBalloonUpdate = this.#balloonUpdates.get(domain.uuid);
    const row = domainRow({
      domain,
      observedMs,
      // Calendar time of the start, plus a clock that never goes back.
      sequence: Math.round(this.#firstMs + clock.elapsed() - this.#firstElapsedMs),
      ...(lastBalloonUpdate !== undefined && { lastBalloonUpdate }),
      balloonAgeMsMax: intervalMs,
      isSilent,
    });
    if (row.state !== 'RUNNING') return row;
    const { values, cause } = this.#guests?.take(domain.uuid) ?? NOT_ASKED;
    if (cause === undefined) return { ...row, values: [...row.values, ...values] };
    const absences = [...(row.absences ?? []), { reading: 'filesystem', cause } as const];
    return { ...row, values: [...row.values, ...values], absences };
  }

  /**
   * true: QEMU does not respond. Some kinds of domain never have the numbers that only QEMU knows.
   * So in a full result, only those that have responded before in this run count as silent.
   */
  #isSilent(domain: Domain): boolean {
    if (!hasCounters(domain) || hasAnswered(domain)) return false;
    return this.#nowait || this.#answered.get(domain.uuid) === domain.id;
  }
}

/** Cause of missing file systems if guest agents are not queried. */
const NOT_ASKED: GuestTaken = { values: [], cause: 'NOT_ASKED' };

/** True if keys are present that only the domain's QEMU can report. */
function hasAnswered(domain: Domain): boolean {
  const { fields } = domain;
  const disks = indexesOf(fields, 'block.count');
  return fields.has('balloon.rss') || disks.some((disk) => fields.has(`block.${disk}.rd.bytes`));
}

function collect<T>(domains: readonly Domain[], of: (domain: Domain) => T | undefined) {
  const found = new Map<string, T>();
  for (const domain of domains) {
    const value = of(domain);
    if (value !== undefined) found.set(domain.uuid, value);
  }
  return found;
}

const lateAnswer: SourceFault = {
  reason: 'TIMED_OUT',
  message:
    'libvirt did not report the counters of its VMs in time: one QEMU process may be frozen; from the next round on, only VMs that respond at once are read',
};

/** @param message of virsh; '' if it printed none */
function noStatistics(message: string): SourceFault {
  const what = 'virsh lists domains, but the statistics of none of them could be read';
  return { reason: 'UNREADABLE', message: message === '' ? what : `${what}: ${message}` };
}

function changedMeanwhile(name: string): SourceFault {
  const message = `domain "${name}" started, stopped, appeared or disappeared while it was read: no row this time`;
  return { reason: 'INCOMPLETE', message };
}

function silent(domain: Domain): SourceFault {
  const message = `the QEMU process of "${domain.name}" is not responding: its disks and memory have no readings`;
  return { reason: 'INCOMPLETE', message, vm: domain.uuid };
}

/** Which libvirt's guest agents are queried, and how often. */
export interface GuestFileSystemsOptions {
  readonly libvirt: Libvirt;
  readonly intervalMs: number;
  /** libvirt's timeout for an agent, seconds. Default 3. */
  readonly agentSeconds?: number;
}

/** A run of a VM: after a restart of the VM its agent is tried afresh. */
export interface RequestedVm {
  readonly vm: string;
  readonly bootId: string;
}

const AGENT_SECONDS = 3;
/** Time beyond the agent's timeout for connecting and for libvirt's own work, ms. */
const DEADLINE_BEYOND_MS = 4_000;
/** VMs queried at once: those that responded last time, and those that did not. */
const SLOTS = { answering: 8, failing: 2 } as const;
const BACK_OFF_MS_MAX = 30 * 60_000;

interface VmSchedule {
  readonly bootId: string;
  failures: number;
  /** Due time, elapsed ms. */
  dueMs: number;
  asking: boolean;
  reading?: GuestTaken & { readonly takenMs: number };
  /** Reason why the last response was missing or incomplete. */
  cause?: AbsenceCause;
  fault?: SourceFault;
}

/** Values for a row from an agent's response, and the reason if some are missing. */
interface GuestTaken {
  readonly values: readonly ObservedValue[];
  readonly cause?: AbsenceCause;
}

/**
 * Reads from guest agents how full their file systems are (opt-in), beside the rounds of
 * statistics.
 *
 * An agent may be absent, off or silent, and libvirt waits as long as the agent does. So each VM
 * has one query at a time, with libvirt's own timeout and a deadline beyond it. A VM whose agent
 * failed waits twice as long for its next query, in a separate queue: silent agents never delay
 * those that respond.
 */
class GuestFileSystems {
  readonly #options: GuestFileSystemsOptions;
  readonly #vms = new Map<string, VmSchedule>();
  readonly #abort = new AbortController();
  readonly #asking = new Set<Promise<void>>();
  #cancel: CancelWakeUp = () => {};
  /** Time of the last round of statistics, elapsed ms. */
  #roundMs = 0;

  constructor(options: GuestFileSystemsOptions) {
    this.#options = options;
  }

  /**
   * Records the VMs that a round of statistics has seen running. They are queried shortly before
   * the next round, so that their data is fresh when that round's rows take it.
   */
  watch(running: readonly RequestedVm[]): void {
    this.#roundMs = this.#options.libvirt.clock.elapsed();
    const names = new Set(running.map(({ vm }) => vm));
    for (const vm of this.#vms.keys()) if (!names.has(vm)) this.#vms.delete(vm);
    for (const { vm, bootId } of running) {
      if (this.#vms.get(vm)?.bootId === bootId) continue;
      this.#vms.set(vm, { bootId, failures: 0, dueMs: this.#dueAfter(0), asking: false });
    }
    this.#pump();
  }

  /**
   * The response of the VM's agent since the last call, at most one interval old; otherwise
   * nothing.
   */
  take(vm: string): GuestTaken {
    const schedule = this.#vms.get(vm);
    const reading = schedule?.reading;
    // Before the first response there is nothing to report.
    if (!schedule || !reading) {
      return { values: [], ...(schedule?.cause !== undefined && { cause: schedule.cause }) };
    }
    delete schedule.reading;
    const ageMs = this.#options.libvirt.clock.elapsed() - reading.takenMs;
    if (ageMs <= this.#options.intervalMs) return reading;
    return { values: [], cause: 'NOT_REFRESHED' };
  }

  /** One fault per VM whose agent did not respond to its last query. */
  faults(): SourceFault[] {
    return [...this.#vms.values()].flatMap(({ fault }) => (fault ? [fault] : []));
  }

  async close(): Promise<void> {
    this.#cancel();
    this.#abort.abort();
    await Promise.all(this.#asking);
  }

  /** The first moment shortly before a round that is more than `waitMs` away, elapsed ms. */
  #dueAfter(waitMs: number): number {
    const { intervalMs, libvirt } = this.#options;
    const firstMs = this.#roundMs - Math.min(5_000, intervalMs / 4);
    const rounds = Math.floor((libvirt.clock.elapsed() + waitMs - firstMs) / intervalMs) + 1;
    return firstMs + rounds * intervalMs;
  }

  /** Starts due queries as far as slots are free, and schedules the next wake-up. */
  #pump(): void {
    this.#cancel();
    if (this.#abort.signal.aborted) return;
    const { clock } = this.#options.libvirt;
    const nowMs = clock.elapsed();
    const all = [...this.#vms.entries()];
    const idle = all.filter(([, { asking }]) => !asking).sort(([, a], [, b]) => a.dueMs - b.dueMs);
    const slots = { ...SLOTS };
    for (const [, schedule] of all) if (schedule.asking) takeSlot(slots, schedule);
    for (const [vm, schedule] of idle) {
      if (schedule.dueMs > nowMs || !takeSlot(slots, schedule)) continue;
      const asking = this.#ask(vm, schedule).finally(() => {
        this.#asking.delete(asking);
        this.#pump();
      });
      this.#asking.add(asking);
    }
    const next = idle.find(([, { dueMs }]) => dueMs > nowMs)?.[1].dueMs;
    if (next !== undefined) this.#cancel = clock.wakeAfter(next - nowMs, () => this.#pump());
  }

  /** Never rejects: an error becomes the VM's fault, and the query is repeated later. */
  async #ask(vm: string, schedule: VmSchedule): Promise<void> {
    schedule.asking = true;
    const answer = await this.#answerOf(vm).catch(String);
    schedule.asking = false;
    if (typeof answer === 'string') {
      schedule.failures += 1;
      const message = `no file systems of VM ${vm}: ${answer}`;
      schedule.fault = { reason: 'INCOMPLETE', message, vm };
      schedule.cause = 'GUEST_AGENT_SILENT';
    } else {
      schedule.failures = 0;
      delete schedule.fault;
      delete schedule.cause;
      schedule.reading = { ...answer, takenMs: this.#options.libvirt.clock.elapsed() };
    }
    // Skips 1, 3, 7, 15 rounds, and so on.
    const backOffMs = (2 ** schedule.failures - 1) * this.#options.intervalMs;
    schedule.dueMs = this.#dueAfter(Math.min(backOffMs, BACK_OFF_MS_MAX));
  }

  /** The values of its file systems, or a sentence with the reason why there are none. */
  async #answerOf(vm: string): Promise<GuestTaken | string> {
    const { libvirt, agentSeconds = AGENT_SECONDS } = this.#options;
    const outcome = await runVirsh(libvirt, {
      commands: `guest-agent-timeout ${vm} --timeout ${agentSeconds}; guestinfo ${vm} --filesystem`,
      readOnly: false,
      deadlineMs: agentSeconds * 1_000 + DEADLINE_BEYOND_MS,
      signal: this.#abort.signal,
    });
    const found = outcome.kind === 'exited' ? parseGuestFileSystems(outcome.stdout) : undefined;
    if (found) {
      const { fileSystems, cause } = found;
      return { values: fileSystems.flatMap(fileSystemValues), ...(cause && { cause }) };
    }
    return virshFault(libvirt, outcome)?.message ?? 'its guest agent did not respond';
  }
}

/** Takes a slot in the VM's queue; false if it is full. */
function takeSlot(slots: Record<keyof typeof SLOTS, number>, schedule: VmSchedule): boolean {
  const queue = schedule.failures > 0 ? 'failing' : 'answering';
  slots[queue] -= 1;
  return slots[queue] >= 0;
}
