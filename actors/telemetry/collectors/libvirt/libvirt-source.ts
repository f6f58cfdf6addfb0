/**
 * All VMs of one libvirt as a source: one read-only virsh a round for the counters of all of them,
 * killed at a deadline; optionally also the file systems that guest agents report.
 *
 * One frozen QEMU process delays libvirt's answer for all VMs. That round ends at its deadline
 * without rows. From then on virsh uses `--nowait`, which is complete for all VMs but the frozen
 * one, until that VM answers again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { ObservedRow, Reading, Source, SourceFault } from '../collector.ts';
import { type RunCommand, runCommand } from '../command.ts';
import { balloonUpdate, domainRow, hasCounters } from './domain-row.ts';
import { GuestFileSystems } from './guest-file-systems.ts';
import { type Libvirt, runVirsh, virshFault } from './virsh.ts';
import { type Domain, indexesOf, parseStatistics, statisticsCommand } from './virsh-text.ts';

export interface LibvirtSourceOptions {
  readonly uri: string;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** Ask the guest agents for file systems, over a connection that may also write. Default no. */
  readonly fileSystems?: boolean;
  /** For one round of counters. Default a third of the interval, at most 10 s. */
  readonly deadlineMs?: number;
  /** How long libvirt waits for a guest agent, seconds. Default 3. */
  readonly agentSeconds?: number;
  readonly run?: RunCommand;
}

const DEADLINE_MS_MAX = 10_000;
/** Rows created in one turn of the event loop: some 5 ms. */
const ROWS_A_TURN = 100;

/** Yields a row for each domain of `uri`, whether it runs or not. */
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
  /** `balloon.last-update` of the round before, by VM. */
  #balloonUpdates = new Map<string, number>();
  /** VMs whose QEMU has answered in this run of theirs, by VM: the run. */
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
    // libvirt reads one domain after another and does not say when: the middle errs least.
    const observedMs = Math.round(startedMs + (clock.elapsed() - startedElapsedMs) / 2);
    return this.#rows(outcome.stdout, observedMs, faults);
  }

  async close(): Promise<void> {
    await this.#guests?.close();
  }

  async #rows(stdout: string, observedMs: number, faults: SourceFault[]): Promise<Reading> {
    const { domains, changed, listed, uuids } = parseStatistics(stdout);
    // Where virsh has complained of nothing, both lists of all domains are whole.
    const whole = faults.length === 0 ? uuids : undefined;
    if (faults.length === 0 && domains.length === 0 && listed > 0) faults.push(noStatistics);
    for (const name of changed) faults.push(changedMeanwhile(name));
    const frozen = domains.filter((domain) => this.#isSilent(domain));
    for (const domain of frozen) faults.push(silent(domain));
    // Back to full questions only when all answer: the next frozen one costs a round again.
    if (this.#nowait && domains.length > 0 && frozen.length === 0) this.#nowait = false;
    const rows: ObservedRow[] = [];
    for (const domain of domains) {
      if (rows.push(this.#row(domain, observedMs)) % ROWS_A_TURN === 0) await nextTurn();
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

  #row(domain: Domain, observedMs: number): ObservedRow {
    const { clock, intervalMs } = this.#options;
    const lastBalloonUpdate = this.#balloonUpdates.get(domain.uuid);
    const row = domainRow({
      domain,
      observedMs,
      // Calendar time of our start, then a clock that never goes back.
      sequence: Math.round(this.#firstMs + clock.elapsed() - this.#firstElapsedMs),
      ...(lastBalloonUpdate !== undefined && { lastBalloonUpdate }),
      balloonAgeMsMax: intervalMs,
    });
    const guest = row.state === 'RUNNING' ? (this.#guests?.take(domain.uuid) ?? []) : [];
    return guest.length === 0 ? row : { ...row, values: [...row.values, ...guest] };
  }

  /**
   * true: QEMU owes an answer. Some kinds of domain never have what only QEMU knows; so in a full
   * answer only those are silent that have answered before in this run.
   */
  #isSilent(domain: Domain): boolean {
    if (!hasCounters(domain) || hasAnswered(domain)) return false;
    return this.#nowait || this.#answered.get(domain.uuid) === domain.id;
  }
}

/** Keys that only the domain's QEMU can report. */
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
    'libvirt did not report the counters of its VMs in time: one QEMU process may be frozen; from the next round on only the VMs that answer at once are read',
};

const noStatistics: SourceFault = {
  reason: 'UNREADABLE',
  message: 'virsh lists domains but no statistics of any could be read',
};

function changedMeanwhile(name: string): SourceFault {
  const message = `domain "${name}" started, stopped, came or went while it was read: no row this time`;
  return { reason: 'INCOMPLETE', message };
}

function silent(domain: Domain): SourceFault {
  const message = `the QEMU process of "${domain.name}" does not answer: its disks and memory have no readings`;
  return { reason: 'INCOMPLETE', message, vm: domain.uuid };
}
