/**
 * Reads from guest agents how full their file systems are (opt-in), beside the rounds of
 * statistics.
 *
 * An agent may be absent, off or silent, and libvirt waits as long as the agent does. So each VM
 * has one query at a time, with libvirt's own timeout and a deadline beyond it. A VM whose agent
 * failed waits twice as long for its next query, in a separate queue: silent agents never delay
 * those that answer.
 */
import type { CancelWakeUp } from '../../../../streams/platform/clock.ts';
import type { ObservedValue, SourceFault } from '../collector.ts';
import { fileSystemValues } from '../host/file-systems.ts';
import { type Libvirt, runVirsh, virshFault } from './virsh.ts';
import { parseGuestFileSystems } from './virsh-text.ts';

export interface GuestFileSystemsOptions {
  readonly libvirt: Libvirt;
  readonly intervalMs: number;
  /** How long libvirt waits for an agent. Default 3 s. */
  readonly agentSeconds?: number;
}

/** A run of a VM: a restart of the VM gives its agent a new chance. */
export interface AskedVm {
  readonly vm: string;
  readonly bootId: string;
}

const AGENT_SECONDS = 3;
/** Beyond the agent's time-out: connecting, and libvirt's own work. */
const DEADLINE_BEYOND_MS = 4_000;
/** VMs asked at once: those that answered last time, and those that did not. */
const SLOTS = { answering: 8, failing: 2 } as const;
const BACK_OFF_MS_MAX = 30 * 60_000;

interface VmSchedule {
  readonly bootId: string;
  failures: number;
  /** Clock.elapsed. */
  dueMs: number;
  asking: boolean;
  reading?: { readonly values: readonly ObservedValue[]; readonly takenMs: number };
  fault?: SourceFault;
}

export class GuestFileSystems {
  readonly #options: GuestFileSystemsOptions;
  readonly #vms = new Map<string, VmSchedule>();
  readonly #abort = new AbortController();
  readonly #asking = new Set<Promise<void>>();
  #cancel: CancelWakeUp = () => {};
  /** Time of the last round of statistics, elapsed. */
  #roundMs = 0;

  constructor(options: GuestFileSystemsOptions) {
    this.#options = options;
  }

  /**
   * A round of statistics has seen these VMs run. They are asked shortly before the next round, so
   * that what they say is fresh when that round's rows take it.
   */
  watch(running: readonly AskedVm[]): void {
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
   * The answer of the VM's agent since the last call, at most one interval old; otherwise nothing.
   */
  take(vm: string): readonly ObservedValue[] {
    const schedule = this.#vms.get(vm);
    const reading = schedule?.reading;
    if (!schedule || !reading) return [];
    delete schedule.reading;
    const ageMs = this.#options.libvirt.clock.elapsed() - reading.takenMs;
    return ageMs <= this.#options.intervalMs ? reading.values : [];
  }

  /** One a VM whose agent did not answer when it was last asked. */
  faults(): SourceFault[] {
    return [...this.#vms.values()].flatMap(({ fault }) => (fault ? [fault] : []));
  }

  async close(): Promise<void> {
    this.#cancel();
    this.#abort.abort();
    await Promise.all(this.#asking);
  }

  /** The first moment shortly before a round that is more than `waitMs` away; elapsed time. */
  #dueAfter(waitMs: number): number {
    const { intervalMs, libvirt } = this.#options;
    const firstMs = this.#roundMs - Math.min(5_000, intervalMs / 4);
    const rounds = Math.floor((libvirt.clock.elapsed() + waitMs - firstMs) / intervalMs) + 1;
    return firstMs + rounds * intervalMs;
  }

  /** Starts what is due as far as slots are free, and wakes up for the next. */
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

  async #ask(vm: string, schedule: VmSchedule): Promise<void> {
    const { libvirt, agentSeconds = AGENT_SECONDS } = this.#options;
    schedule.asking = true;
    const outcome = await runVirsh(libvirt, {
      commands: `guest-agent-timeout ${vm} --timeout ${agentSeconds}; guestinfo ${vm} --filesystem`,
      readOnly: false,
      deadlineMs: agentSeconds * 1_000 + DEADLINE_BEYOND_MS,
      signal: this.#abort.signal,
    });
    schedule.asking = false;
    const found = outcome.kind === 'exited' ? parseGuestFileSystems(outcome.stdout) : undefined;
    if (found) {
      schedule.failures = 0;
      delete schedule.fault;
      schedule.reading = {
        values: found.flatMap(fileSystemValues),
        takenMs: libvirt.clock.elapsed(),
      };
    } else {
      schedule.failures += 1;
      const said = virshFault(libvirt, outcome)?.message ?? 'its guest agent said nothing';
      const message = `no file systems of VM ${vm}: ${said}`;
      schedule.fault = { reason: 'INCOMPLETE', message, vm };
    }
    // 1, 3, 7, 15 rounds are left out, and so on.
    const backOffMs = (2 ** schedule.failures - 1) * this.#options.intervalMs;
    schedule.dueMs = this.#dueAfter(Math.min(backOffMs, BACK_OFF_MS_MAX));
  }
}

/** Takes a place in the VM's queue; false when it is full. */
function takeSlot(slots: Record<keyof typeof SLOTS, number>, schedule: VmSchedule): boolean {
  const queue = schedule.failures > 0 ? 'failing' : 'answering';
  slots[queue] -= 1;
  return slots[queue] >= 0;
}
