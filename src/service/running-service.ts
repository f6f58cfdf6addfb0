/**
 * The service as an embedding program sees it: its start options, and its interface while it runs.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { DisplayedReport } from '../platform/health.ts';
import type { Resolve } from '../platform/http/dial.ts';
import type { Log } from '../platform/log.ts';
import type { Settings } from '../platform/settings/settings.ts';

/** Settings and ports of a service to start. */
export interface StartOptions {
  readonly settings: Settings;
  readonly ports: { readonly clock: Clock; readonly random: Random };
  readonly log: Log;
  /** Aborts on a stop request; until then a start waits for NATS. */
  readonly stopped?: AbortSignal;
}

/** A running service. */
export interface RunningService {
  /** Origin of the API. */
  readonly address: string;
  readonly metricsUrl: string | undefined;
  /** Collected sources, in words. */
  readonly watches: readonly string[];
  /** Why the dashboard has no pages, with the remedy; undefined: it has pages. */
  readonly dashboardFault?: string | undefined;
  readonly demoFile: string | undefined;
  /** Sign-in link in demo.json for the first owner, valid once; a secret. */
  readonly signInUrl?: string | undefined;
  /** Resolves with the fault when the service cannot continue; never otherwise. */
  readonly fault: Promise<Error>;
  /** The current report of the operator's `/readyz`. */
  readonly readiness: () => DisplayedReport;
  /**
   * Reads files that may have changed: the mapping of a fleet, the certificate. Throws
   * `ConfigError` and keeps the old ones.
   */
  reload(): void;
  /** Resolves once everything acknowledged is safe and every part is closed. */
  stop(): Promise<void>;
}

/** A stop was requested while the start waited for NATS. */
export class StartStopped extends Error {
  constructor() {
    super('Stopped while waiting for NATS');
    this.name = 'StartStopped';
  }
}

export type StartService = (options: StartOptions) => Promise<RunningService>;

/** Ports that an embedding program or a test may hand in instead of the machine's own. */
export interface ServicePorts {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Replaces the stream that the settings name; the caller closes it. */
  readonly stream?: Stream;
  /** Resolves webhook hosts. */
  readonly resolve?: Resolve;
  /** Artificial time of each embedded disk write, ms: for measurements. */
  readonly fsyncDelayMs?: number;
}
