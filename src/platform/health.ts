/**
 * The health behind `/readyz`: the state of each part, in sentences an operator can act on. A
 * degraded part is reported but keeps the service ready; a part that is not ready takes the service
 * out of a load balancer. Changes are logged once, not at every request.
 *
 * A reason may name hosts, users, files and output of other programs: it is for the operator, in
 * the log and on the metrics listener. The API shows only `callerReport` and `publicReport`.
 */

import type { DiskState } from '../../actors/platform/change-limits.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Supervision } from '../../actors/platform/supervision.ts';
import { AHEAD_MS_MAX, type CancelWakeUp, type Clock } from '../../streams/platform/clock.ts';
import { withoutLogins } from '../../streams/platform/redacted-url.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

export type PartHealth =
  | { readonly state: 'ready' }
  | {
      /** Degraded: works, but something is missing. */
      readonly state: 'degraded' | 'notReady';
      /** For the operator: names, numbers, messages of other programs. */
      readonly reason: string;
      /** For callers with a credential: a fixed sentence without details of this host. */
      readonly summary: string;
      /** The part is starting, which is not a fault. */
      readonly isStart?: true;
    };

/**
 * Called often, so it must be cheap and synchronous. If it throws, the part is not ready, with the
 * error's message.
 */
export type HealthCheck = () => PartHealth;

interface PartReport {
  /** One of a fixed set, such as "stream", "collector", "CI issuer"; safe to show to anyone. */
  readonly kind: string;
  /** The operator's name for this part; the kind itself if there is only one of it. */
  readonly name: string;
  readonly health: PartHealth;
  readonly neededFor?: 'acting';
}

export interface HealthReport {
  /** It answers requests, and can act: decide, send, collect. */
  readonly ready: boolean;
  /** It answers requests. A missing part stops only its own work. */
  readonly serving: boolean;
  readonly parts: readonly PartReport[];
}

/** A part to watch. */
export interface WatchedPart {
  /** See `PartReport`. */
  readonly kind: string;
  /** Needed if there are several of a kind. */
  readonly name?: string;
  /**
   * What is missing without the part. `acting`: only the service's own work, so that requests are
   * answered as before. Default: requests too.
   */
  readonly neededFor?: 'acting';
}

export interface Health {
  /** Adds a part to the report; returns its undo. Throws for a part that is already watched. */
  watch(part: WatchedPart, check: HealthCheck): () => void;
  report(): HealthReport;
  /** The same without a line in the log for each change, for one that looks often. */
  look(): HealthReport;
  /** Reports not ready with this sentence from now on, during a stop. */
  stopping(reason: string): void;
  close(): void;
}

/** Interval between checks for changes when no one asks, ms. */
const POLL_MS = 2_000;

export const ready: PartHealth = { state: 'ready' };

export function createHealth({ clock, log }: { clock: Clock; log: Log }): Health {
  const checks = new Map<string, { readonly part: WatchedPart; readonly check: HealthCheck }>();
  const logged = new Map<string, string>();
  let stop: string | undefined;
  let cancel: CancelWakeUp = () => {};

  const look = (isLogged: boolean): HealthReport => {
    const parts: PartReport[] = [...checks].map(([name, { part, check }]) => ({
      ...part,
      name,
      health: withoutLoginsIn(ask(check)),
    }));
    // A requested stop needs no more lines in the log.
    if (stop !== undefined) parts.push(stoppingPart(stop));
    else if (isLogged) for (const part of parts) logChange(part, logged, log);
    const missing = parts.filter(({ health }) => health.state === 'notReady');
    const serving = missing.every(({ neededFor }) => neededFor === 'acting');
    return { ready: missing.length === 0, serving, parts };
  };
  const report = () => look(true);
  const poll = (): void => {
    report();
    cancel = clock.wakeAfter(POLL_MS, poll);
  };
  poll();
  return {
    report,
    look: () => look(false),
    watch: (part, check) => {
      const { name = part.kind } = part;
      if (checks.has(name)) throw new Error(`Health of ${name} is already watched`);
      checks.set(name, { part, check });
      return () => {
        checks.delete(name);
        logged.delete(name);
      };
    },
    stopping: (reason) => {
      stop = reason;
    },
    close: () => cancel(),
  };
}

/** A part as displayed: the metrics listener shows the operator's reason, the API a summary. */
interface DisplayedPart {
  readonly name: string;
  readonly state: PartHealth['state'];
  readonly reason?: string;
}

export interface DisplayedReport {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly parts: readonly DisplayedPart[];
}

/** Everything, for the operator. */
export function operatorReport({ ready, serving, parts }: HealthReport): DisplayedReport {
  return {
    ready,
    serving,
    parts: parts.map(({ name, health }) => ({
      name,
      state: health.state,
      ...(health.state !== 'ready' && { reason: health.reason }),
    })),
  };
}

/**
 * For callers with a credential: each kind of part with its worst state and the summary of that
 * state.
 */
export function callerReport({ ready, serving, parts }: HealthReport): DisplayedReport {
  const worst = new Map<string, PartHealth>();
  for (const { kind, health } of parts) {
    const before = worst.get(kind);
    if (!before || SEVERITY[before.state] < SEVERITY[health.state]) worst.set(kind, health);
  }
  return {
    ready,
    serving,
    parts: [...worst].map(([name, health]) => ({
      name,
      state: health.state,
      ...(health.state !== 'ready' && { reason: health.summary }),
    })),
  };
}

/** For anyone: each kind of part and its worst state. */
export function publicReport(report: HealthReport): DisplayedReport {
  const { ready, serving, parts } = callerReport(report);
  return { ready, serving, parts: parts.map(({ name, state }) => ({ name, state })) };
}

const SEVERITY = { ready: 0, degraded: 1, notReady: 2 } as const;

/** Adds the report to `/metrics`: alert rules cannot read `/readyz`. */
export function addHealthGauges(metrics: Pick<Metrics, 'gauge'>, health: Pick<Health, 'report'>) {
  metrics.gauge('svc_ready', '1 = the service is ready, as in /readyz', [], (gauge) =>
    gauge.set(health.report().ready ? 1 : 0),
  );
  metrics.gauge('svc_serving', '1 = requests are answered, as in /readyz/serving', [], (gauge) =>
    gauge.set(health.report().serving ? 1 : 0),
  );
  metrics.gauge(
    'svc_part_state',
    'Worst state of each kind of part: 0 = ready, 1 = degraded, 2 = not ready',
    ['part'],
    (gauge) => {
      gauge.reset();
      for (const { name: part, state } of publicReport(health.report()).parts) {
        gauge.set({ part }, SEVERITY[state]);
      }
    },
  );
}

function stoppingPart(reason: string): PartReport {
  return {
    kind: 'service',
    name: 'service',
    health: { state: 'notReady', reason, summary: 'The service is stopping' },
  };
}

/** Reasons quote what libraries and programs printed. */
function withoutLoginsIn(health: PartHealth): PartHealth {
  if (health.state === 'ready') return health;
  return { ...health, reason: withoutLogins(health.reason) };
}

function ask(check: HealthCheck): PartHealth {
  try {
    return check();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { state: 'notReady', reason, summary: 'The check of this part failed' };
  }
}

function logChange({ name, health }: PartReport, logged: Map<string, string>, log: Log): void {
  const now = health.state === 'ready' ? health.state : `${health.state}: ${health.reason}`;
  const before = logged.get(name) ?? 'ready';
  logged.set(name, now);
  if (now === before) return;
  if (health.state === 'ready') log.info({ part: name }, `${name} is ready again`);
  else if (health.isStart) log.info({ part: name }, health.reason);
  else if (health.state === 'degraded') log.warn({ part: name }, health.reason);
  else log.error({ part: name }, health.reason);
}

/** Without the stream, nothing can be acknowledged. */
export function streamCheck(stream: Pick<Stream, 'health'>): HealthCheck {
  return () => {
    const health = stream.health();
    if (health.state === 'available') return ready;
    return {
      state: 'notReady',
      reason: `The stream is unavailable: ${health.reason}`,
      summary: 'The stream is unavailable; nothing can be acknowledged',
    };
  };
}

/**
 * The part that keeps this member from acting, if one does, as a sentence without details of its
 * host. A starting part is not a fault, and the cluster handles faults of its own part.
 */
export function actingFault({ parts }: HealthReport): string | undefined {
  const broken = parts.find(
    ({ kind, health }) =>
      health.state === 'notReady' && health.isStart !== true && !NO_FAULT_OF_OWN.has(kind),
  );
  return broken?.health.state === 'notReady' ? broken.health.summary : undefined;
}

/** Parts by which a member does not judge itself: they are about the cluster, or a stop. */
const NO_FAULT_OF_OWN: ReadonlySet<string> = new Set(['cluster', 'service', 'start', 'stream']);

/** Secrets that members share. While they are behind, a webhook may lack its secret. */
export function secretsCheck(secrets: { fault(): string | undefined }): HealthCheck {
  return () => {
    const fault = secrets.fault();
    if (fault === undefined) return ready;
    const summary = 'Secrets written by other members do not arrive here';
    return { state: 'notReady', reason: `${summary}: ${fault}`, summary };
  };
}

/**
 * The projection. While it is behind, it must not decide; if it has stopped, only a restart of the
 * program helps.
 */
export function hostCheck(host: Pick<RunningHost, 'health' | 'latestCommitMs'>, clock: Clock) {
  return (): PartHealth => {
    const health = host.health();
    switch (health.state) {
      case 'ready':
        return clockHealth(host.latestCommitMs() - clock.now());
      case 'starting':
        return starting('Commits are being read; no action is needed');
      case 'retrying':
        return {
          state: 'notReady',
          reason: `Commits cannot be read or applied (control.db); retrying soon: ${health.reason}`,
          summary: 'Commits cannot be read or applied; retrying soon',
        };
      case 'stopped':
        return {
          state: 'notReady',
          reason: `Applying commits has stopped: ${health.reason}`,
          summary: 'Applying commits has stopped: restart the service',
        };
    }
  };
}

/** Maximum lead of commits over this clock, ms; in a cluster members' clocks differ by no more. */
const CLOCK_BACK_MS_MAX = 10_000;

/**
 * Within a minute, the time of a project does not go back: timed actions wait until the clock has
 * caught up. Beyond it, commits follow the clock, and the part `clock` reports the step.
 */
function clockHealth(aheadMs: number): PartHealth {
  if (aheadMs <= CLOCK_BACK_MS_MAX || aheadMs > AHEAD_MS_MAX) return ready;
  const summary = 'The clock was set back: retries, reminders and grouped messages are late';
  const seconds = Math.ceil(aheadMs / 1000);
  const reason = `${summary}, by up to ${seconds} s. The last change was recorded that far ahead of the clock of this machine`;
  return { state: 'degraded', reason, summary };
}

/**
 * One supervised part. With `essential: false`, the service without it is degraded but ready, as
 * with a collector that finds no hypervisor.
 */
export function partCheck(
  supervision: Pick<Supervision, 'healthOf'>,
  part: { readonly name: string; readonly essential: boolean },
): HealthCheck {
  const fault = part.essential ? 'notReady' : 'degraded';
  return () => {
    const health = supervision.healthOf(part.name);
    if (!health) return starting(`${part.name} has not started yet`, fault);
    if (health.state === 'running') return ready;
    const cause = health.lastError ? `: ${health.lastError}` : '';
    return {
      state: fault,
      reason: `${part.name} is ${health.state} (restarts: ${health.restarts})${cause}`,
      summary: `${part.name} is ${health.state}`,
    };
  };
}

/** Rows that history could not store in memory or on disk; stored rows stay readable. */
export function historyCheck(history: {
  stats(): { readonly incompleteProjects: number; readonly fault?: string };
}): HealthCheck {
  return () => {
    const { fault, incompleteProjects: count } = history.stats();
    if (fault !== undefined) {
      const summary = 'History cannot be written; stored samples stay readable';
      return { state: 'degraded', reason: fault, summary };
    }
    if (count === 0) return ready;
    const projects = count === 1 ? 'one project' : `${count} projects`;
    return {
      state: 'degraded',
      reason: `History had no room in memory for rows of ${projects}: reads of them fail until they are read from the log`,
      summary: 'History had no room in memory for some rows',
    };
  };
}

const MIB = 2 ** 20;
/**
 * Minimum free space, MiB. Below it SQLite may fail in the middle of a checkpoint, so work stops
 * before.
 */
const FREE_MIB_MIN = 32;

/**
 * Checks the free space of the data folder. Below the reserve, changes are refused before the disk
 * is full.
 */
export function diskCheck(folder: string, disk: () => DiskState): HealthCheck {
  return () => {
    const { freeBytes, reserveBytes } = disk();
    const freeMib = Math.floor(freeBytes / MIB);
    const reserveMib = Math.floor(reserveBytes / MIB);
    const sentence = `${folder} has ${freeMib} MiB free`;
    if (freeMib < FREE_MIB_MIN) {
      const reason = `${sentence}, less than ${FREE_MIB_MIN}: free some space`;
      return { state: 'notReady', reason, summary: 'The data disk is full' };
    }
    if (freeBytes >= reserveBytes) return ready;
    const isHalf = freeBytes < reserveBytes / 2;
    const refused = isHalf ? 'all projects' : 'the projects that changed most today';
    const reason = `${sentence}, less than the ${reserveMib} of SVC_DISK_RESERVE: changes of ${refused} are refused. Free some space, or find the largest writer with "svc admin limits show PROJECT" (changeBytesPerDay)`;
    const summary = `The data disk is nearly full: changes of ${refused} are refused`;
    return { state: 'degraded', reason, summary };
  };
}

/**
 * Checks the free space of a disk that has history alone. Without space, rows stay in memory and in
 * the log; nothing else waits for it.
 */
export function historyDiskCheck(folder: string, disk: () => DiskState): HealthCheck {
  return () => {
    const { freeBytes, reserveBytes } = disk();
    if (freeBytes >= reserveBytes) return ready;
    const [freeMib, reserveMib] = [freeBytes, reserveBytes].map((bytes) => Math.floor(bytes / MIB));
    const isFull = freeBytes < FREE_MIB_MIN * MIB;
    const summary = `The disk of the history is ${isFull ? '' : 'nearly '}full`;
    const reason =
      `${folder} has ${freeMib} MiB free, less than the ${reserveMib} of SVC_DISK_RESERVE: once it is ` +
      'full, new rows stay in memory and in the log on the data disk. Free some space, or lower ' +
      'SVC_RETENTION_DAYS';
    return { state: 'degraded', reason, summary };
  };
}

/** A fault whose sentence has no details of this host, so operators and callers read the same. */
export function faulty(state: 'degraded' | 'notReady', sentence: string): PartHealth {
  return { state, reason: sentence, summary: sentence };
}

/** A part that is starting: logged as news, not as an error. */
export function starting(
  sentence: string,
  state: 'degraded' | 'notReady' = 'notReady',
): PartHealth {
  return { state, reason: sentence, summary: sentence, isStart: true };
}
