/**
 * What `/readyz` says: the state of each part, asked when it is needed, in sentences an operator
 * can act on. A part that is degraded is told but keeps the service ready; one that is not ready
 * takes it out of a load balancer. Changes are logged once, not at every question.
 */
import type { CancelWakeUp, Clock } from '../streams/clock.ts';
import type { Log } from './log.ts';

export type PartHealth =
  | { readonly state: 'ready' }
  /** Works, with something missing. */
  | { readonly state: 'degraded'; readonly reason: string }
  | { readonly state: 'notReady'; readonly reason: string };

/** Asked often: cheap, synchronous. One that throws counts as not ready, with the error's message. */
export type HealthCheck = () => PartHealth;

interface HealthReport {
  readonly ready: boolean;
  readonly parts: readonly ({ readonly name: string } & PartHealth)[];
}

export interface Health {
  /** Adds a part to the report; returns its undo. */
  watch(name: string, check: HealthCheck): () => void;
  report(): HealthReport;
  /** From now on not ready, with this sentence: during a stop. */
  stopping(reason: string): void;
  close(): void;
}

/** How often changes are looked for when nobody asks, ms. */
const POLL_MS = 2_000;

export const ready: PartHealth = { state: 'ready' };

export function createHealth({ clock, log }: { clock: Clock; log: Log }): Health {
  const checks = new Map<string, HealthCheck>();
  const told = new Map<string, string>();
  let stop: string | undefined;
  let cancel: CancelWakeUp = () => {};

  const report = (): HealthReport => {
    const parts = [...checks].map(([name, check]) => ({ name, ...ask(check) }));
    // What stops on request is no news: the log has the stop already.
    if (stop === undefined) for (const part of parts) logChange(part, told, log);
    if (stop !== undefined) parts.push({ name: 'service', state: 'notReady', reason: stop });
    return { ready: parts.every((part) => part.state !== 'notReady'), parts };
  };
  const poll = (): void => {
    report();
    cancel = clock.wakeAfter(POLL_MS, poll);
  };
  poll();
  return {
    report,
    watch: (name, check) => {
      if (checks.has(name)) throw new Error(`Health of ${name} is already watched`);
      checks.set(name, check);
      return () => {
        checks.delete(name);
        told.delete(name);
      };
    },
    stopping: (reason) => {
      stop = reason;
    },
    close: () => cancel(),
  };
}

function ask(check: HealthCheck): PartHealth {
  try {
    return check();
  } catch (error) {
    return { state: 'notReady', reason: error instanceof Error ? error.message : String(error) };
  }
}

function logChange(part: { name: string } & PartHealth, told: Map<string, string>, log: Log): void {
  const now = part.state === 'ready' ? part.state : `${part.state}: ${part.reason}`;
  const before = told.get(part.name) ?? 'ready';
  told.set(part.name, now);
  if (now === before) return;
  if (part.state === 'ready') log.info({ part: part.name }, `${part.name} is ready again`);
  else if (part.state === 'degraded') log.warn({ part: part.name }, part.reason);
  else log.error({ part: part.name }, part.reason);
}
