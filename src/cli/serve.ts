/**
 * `svc serve`: settings, log, the service, signals. The service itself is independent of the
 * process: only this file handles signals and the exit code.
 */

import { resolve } from 'node:path';
import { UnusableMapping } from '../../actors/telemetry/collectors/fleet/mapping.ts';
import { SchemaMismatch } from '../../sqlite/platform/database.ts';
import { FolderLocked } from '../../sqlite/platform/lock-file.ts';
import { WrongMasterKey } from '../../sqlite/platform/secrets/seal.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { HistoryMismatch } from '../../streams/platform/commit/chain.ts';
import { UnknownCommitFormat } from '../../streams/platform/commit/codec.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { redactedUrl, withoutLogins } from '../../streams/platform/redacted-url.ts';
import { StreamMisconfigured, StreamUnavailable } from '../../streams/platform/stream.ts';
import { BackupFault } from '../admin/backup/manifest.ts';
import { DataFolderUnusable } from '../platform/data-folder.ts';
import { createLog, type Log } from '../platform/log.ts';
import { type Config, ConfigError, loadConfig } from '../platform/settings/config.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { programVersion } from '../platform/version.ts';
import {
  type RunningService,
  type StartService,
  StartStopped,
} from '../service/running-service.ts';
import { type Command, EXIT_FAULT, EXIT_OK, EXIT_USAGE, type Surroundings } from './command.ts';
import { settingsHelp } from './settings-page.ts';

/**
 * Startup faults whose message tells an operator everything: they are printed without a stack
 * trace.
 */
const faultsWithSentence = [
  FolderLocked,
  BackupFault,
  DataFolderUnusable,
  WrongMasterKey,
  SchemaMismatch,
  StreamMisconfigured,
  StreamUnavailable,
  HistoryMismatch,
  UnknownCommitFormat,
  UnusableMapping,
];

/** Ctrl-C reaches every process of a terminal, and npm and `bin/svc.js` forward it as well. */
const SAME_SIGNAL_MS = 1_000;

export function createServeCommand(start: StartService): Command {
  return {
    name: 'serve',
    outlivesReader: true,
    summary: 'Run the service',
    help: () =>
      `Usage: svc serve [flags]\n\nEach flag is also an environment variable; the flag wins.\n\n${settingsHelp()}\n`,
    run: (args, surroundings) => serve(args, surroundings, start),
  };
}

export const serveCommand = createServeCommand(async (options) => {
  // All files that the service writes are private to its user; embedders set their own umask.
  process.umask(0o077);
  // Loaded here so that help, version and rejected settings do not load the whole program.
  const { createService } = await import('../service/service.ts');
  return createService(options);
});

async function serve(
  args: readonly string[],
  surroundings: Surroundings,
  start: StartService,
): Promise<number> {
  let service: RunningService;
  let log: Log;
  const clock = systemClock;
  const stop = stopRequests(surroundings, clock);
  try {
    const config = loadConfig(args, surroundings.environment);
    log = startLog(config, surroundings, clock);
    const { settings } = config;
    const ports = { clock, random: systemRandom };
    service = await start({ settings, ports, log, stopped: stop.signal });
    surroundings.stdout(bannerOf(service, settings, surroundings));
  } catch (error) {
    stop.forget();
    if (error instanceof StartStopped) {
      surroundings.stderr(`${error.message}\n`);
      return EXIT_OK;
    }
    if (error instanceof ConfigError) {
      surroundings.stderr(refusal(error.problems));
      return EXIT_USAGE;
    }
    if (!faultsWithSentence.some((fault) => error instanceof fault)) throw error;
    surroundings.stderr(refusal([(error as Error).message]));
    return EXIT_FAULT;
  }
  stop.onReload(() => reload(service, log));
  try {
    const ended = await Promise.race([stop.requested, service.fault]);
    const isFault = ended instanceof Error;
    if (isFault) log.error({ err: ended }, 'The service cannot continue and is stopping');
    else log.info({ signal: ended }, 'Stopping; a second signal ends the process at once');
    await service.stop();
    log.info({}, 'Stopped');
    return isFault ? EXIT_FAULT : EXIT_OK;
  } finally {
    stop.forget();
  }
}

function startLog({ settings, warnings }: Config, surroundings: Surroundings, clock: Clock): Log {
  const log = createLog({
    level: settings.logLevel,
    readable: surroundings.isTerminal,
    clock,
    write: surroundings.log,
  });
  for (const warning of warnings) log.warn({ part: 'settings' }, warning);
  return log;
}

function bannerOf(
  service: RunningService,
  settings: Settings,
  { isStdoutTerminal = false }: Surroundings,
): string {
  return banner({
    version: programVersion,
    watches: service.watches,
    datacenter: settings.datacenter,
    sampleIntervalSeconds: settings.sampleIntervalSeconds,
    baseUrl: service.address,
    metricsUrl: service.metricsUrl,
    dashboardFault: service.dashboardFault,
    demoFile: service.demoFile,
    signInUrl: service.signInUrl,
    isTerminal: isStdoutTerminal,
  });
}

function refusal(problems: readonly string[]): string {
  return `svc serve failed to start:\n${problems.map((problem) => `  ${withoutLogins(problem)}\n`).join('')}`;
}

function reload(service: RunningService, log: Log): void {
  try {
    service.reload();
  } catch (error) {
    log.error(
      { err: error },
      'The settings read on SIGHUP are invalid; the previous ones stay in use',
    );
  }
}

/** Resolves on the first stop signal. A second Ctrl-C exits at once. */
function stopRequests(surroundings: Surroundings, clock: Clock) {
  const { promise: requested, resolve } = Promise.withResolvers<'SIGINT' | 'SIGTERM'>();
  const stopped = new AbortController();
  let firstMs: number | undefined;
  let onReload = (): void => {};
  const forget = surroundings.onSignal((signal) => {
    if (signal === 'SIGHUP') onReload();
    else if (firstMs === undefined) {
      firstMs = clock.elapsed();
      resolve(signal);
      stopped.abort();
    } else if (clock.elapsed() - firstMs > SAME_SIGNAL_MS) surroundings.exitNow(EXIT_FAULT);
  });
  return {
    requested,
    signal: stopped.signal,
    forget,
    onReload: (listener: () => void) => {
      onReload = listener;
    },
  };
}

export interface BannerFacts {
  readonly version: string;
  /** Monitored objects in words: `this host`, `libvirt domains of qemu:///system`. */
  readonly watches: readonly string[];
  readonly datacenter: string;
  readonly sampleIntervalSeconds: number;
  readonly baseUrl: string;
  readonly metricsUrl: string | undefined;
  /** Why the dashboard has no pages, and how to fix it; undefined if it has pages. */
  readonly dashboardFault?: string | undefined;
  /** Path of demo.json, if the project demo exists. */
  readonly demoFile: string | undefined;
  /** One-time sign-in link of the first owner, if demo.json has one. */
  readonly signInUrl?: string | undefined;
  /**
   * True if a person reads the banner, which may then show the link. Otherwise it would end up in a
   * log.
   */
  readonly isTerminal?: boolean;
}

export function banner(facts: BannerFacts): string {
  const { version, watches, datacenter, sampleIntervalSeconds, baseUrl, metricsUrl } = facts;
  const { dashboardFault } = facts;
  const watching =
    watches.length > 0
      ? `watches ${watches.join(' and ')} (${datacenter}) every ${sampleIntervalSeconds} s; CPU and rates from the second reading on`
      : 'collects nothing itself; readings arrive through WriteSamples';
  const metrics = metricsUrl ? `, own metrics on ${redactedUrl(metricsUrl)}` : '';
  return [
    `svc ${version} ${watching}`,
    `${dashboardFault === undefined ? 'dashboard and API' : 'API'} on ${baseUrl}${metrics}`,
    ...(dashboardFault === undefined ? [] : [dashboardFault]),
    ...(facts.demoFile ? demoLines(facts.demoFile, facts) : []),
    'Ctrl-C stops it; "svc help serve" lists the settings',
    '',
  ].join('\n');
}

/**
 * The key is piped from the file to curl, so it appears on no command line, in no environment, and
 * not on the screen. sed suffices because demo.json has one field per line.
 */
function demoLines(
  demoFile: string,
  { baseUrl, signInUrl, isTerminal = false }: BannerFacts,
): string[] {
  const file = quote(resolve(demoFile));
  const what =
    signInUrl !== undefined
      ? 'address, keys and, as signInUrl, a sign-in link of its owner'
      : 'address and keys';
  const sed = `sed -n 's/.*"apiKey": "\\(.*\\)".*/authorization: Bearer \\1/p' ${file}`;
  const url = `${baseUrl}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`;
  const body = `-d '{"projectName":"projects/demo"}'`;
  return [
    ...(signInUrl !== undefined && isTerminal
      ? ['to see this host, open this link, which works once:', `  ${signInUrl}`]
      : []),
    `project demo: ${what} are in ${resolve(demoFile)}, readable only by you; try`,
    `  ${sed} | curl -sS -H @- -H 'content-type: application/json' ${body} ${url}`,
  ];
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
