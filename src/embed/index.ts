/**
 * `svc/embed`: the service inside another program. It runs in that program's process, with its own
 * threads for queries and history, and does not touch the process itself: no environment, signal,
 * exit code or standard stream.
 *
 *     const service = await createService({ settings: { data: 'data/svc', listen: '127.0.0.1:0' }
 *     });
 *     await service.whenReady();
 *     service.address; // http://127.0.0.1:41234
 *     await service.stop();
 */
import { systemClock } from '../../streams/platform/clock.ts';
import { pause } from '../../streams/platform/pause.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import type { DisplayedReport } from '../platform/health.ts';
import { createLog } from '../platform/log.ts';
import type { RunningService } from '../service/running-service.ts';
import { createService as startService } from '../service/service.ts';
import { assertStartable } from '../service/start-checks.ts';
import { configOf, type ServiceSettings } from './service-settings.ts';

export { FolderLocked } from '../../sqlite/platform/lock-file.ts';
export { WrongMasterKey } from '../../sqlite/platform/secrets/seal.ts';
export { StreamUnavailable } from '../../streams/platform/stream.ts';
export { DataFolderUnusable } from '../platform/data-folder.ts';
export { ConfigError } from '../platform/settings/config.ts';
export { StartStopped } from '../service/running-service.ts';
export type { ServiceSettings } from './service-settings.ts';

export interface EmbedOptions {
  /**
   * Absent settings have the defaults of docs/configuration.md, including `./data` for the data
   * folder.
   */
  readonly settings?: ServiceSettings;
  /**
   * Receives each line of the log, from `settings.logLevel` on: JSON with level, time and message,
   * without a line end and without secrets. Absent: nothing is logged.
   */
  readonly log?: (line: string) => void;
  /**
   * With a signal, a start waits for NATS until the signal aborts. Without one, an unavailable NATS
   * is a `StreamUnavailable`. The signal does not stop a running service.
   */
  readonly signal?: AbortSignal;
}

/** The report of `/readyz`, with its full reasons, which may name hosts, files and users. */
export type Readiness = DisplayedReport;

/** A running service. */
export interface Service
  extends Pick<RunningService, 'address' | 'metricsUrl' | 'demoFile' | 'fault' | 'stop'> {
  /** The current state of each part. */
  readiness(): Readiness;
  /**
   * Resolves when every part is ready. Rejects with the signal's reason, with the fault that stops
   * the service, or when it is stopped first.
   */
  whenReady(signal?: AbortSignal): Promise<void>;
  /**
   * Reads the certificate and the mapping of a fleet again. Throws `ConfigError` and keeps the old
   * ones.
   */
  reload(): void;
}

/** Interval of checks while a caller waits for readiness, ms. */
const READY_CHECK_MS = 50;

/**
 * Starts a service. It listens when this resolves, and becomes ready within a moment; `stop` ends
 * all of it. Several may run in one process, each with its own data folder. Throws `ConfigError`,
 * `DataFolderUnusable`, `FolderLocked`, `WrongMasterKey`, `StreamUnavailable` and `StartStopped`;
 * after a failed start nothing is left open.
 */
export async function createService(options: EmbedOptions = {}): Promise<Service> {
  const { settings, warnings } = configOf(options.settings ?? {});
  const { log: write = () => {}, signal: stopped } = options;
  const log = createLog({
    level: settings.logLevel,
    readable: false,
    clock: systemClock,
    write: (line) => write(line.trimEnd()),
  });
  for (const warning of warnings) log.warn({ part: 'settings' }, warning);
  await assertStartable(settings, systemRandom);
  const running = await startService({ settings, log, ...(stopped && { stopped }) });
  let end: Error | undefined;
  void running.fault.then((fault) => {
    end ??= fault;
  });
  const { address, metricsUrl, demoFile, fault } = running;
  return {
    address,
    metricsUrl,
    demoFile,
    fault,
    readiness: running.readiness,
    async whenReady(signal = new AbortController().signal) {
      while (!running.readiness().ready) {
        signal.throwIfAborted();
        if (end) throw end;
        await pause(systemClock, READY_CHECK_MS, signal);
      }
    },
    reload: () => running.reload(),
    stop() {
      end ??= new Error('The service was stopped before it was ready');
      return running.stop();
    },
  };
}
