/**
 * Exports a project's newest samples, shard by shard. It decides whose samples count as current.
 * Separate threads write the text, one shard at a time each. An export has the time limit of a
 * query.
 */

import type { Host } from '../../../actors/platform/host/host-port.ts';
import { shardCount } from '../../../actors/vms/export-shards.ts';
import { type VmDirectory, vmDirectoryOf } from '../../../actors/vms/vm-directory.ts';
import { HistoryError } from '../../../sqlite/telemetry/history/history-error.ts';
import type { HistoryShare } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { threadEntry } from '../../../sqlite/telemetry/history/threads/supervised-thread.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Log } from '../../platform/log.ts';
import { EXPORT_THREADS } from '../query/threads/limits.ts';
import { QueryThreads, withQueryDeadline } from '../query/threads/query-threads.ts';
import type { ShardRequest } from './export-thread.ts';
import type { ExportedVm, ExpositionFormat } from './exposition.ts';

export interface ExporterDeps {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly history: { readonly share: HistoryShare };
  /** File of the projection. */
  readonly controlPath: string;
  readonly datacenters: { stateOf(name: string): 'live' | 'stale' };
  /** True once history has everything that the sample log held at the start. */
  readonly evaluator: { isHistoryWhole(): boolean };
  readonly clock: Clock;
  /** Gets an entry if the thread exits unexpectedly. */
  readonly log: Log;
  /** File of the thread; default `export-thread`. */
  readonly entry?: URL;
}

/** One scrape of one shard, in a format that its client accepts. */
export interface ShardQuery {
  /** Project id. */
  readonly project: string;
  readonly shard: number;
  readonly format: ExpositionFormat;
  readonly gzip: boolean;
}

/** Exports of all projects, with threads of their own, so that scrapes never wait for queries. */
export class Exporter {
  readonly #deps: ExporterDeps;
  readonly #directory: VmDirectory;
  readonly #threads: QueryThreads;

  constructor(deps: ExporterDeps) {
    this.#deps = deps;
    this.#directory = vmDirectoryOf(deps.host);
    const {
      clock,
      history,
      controlPath,
      log,
      entry = threadEntry(import.meta.url, 'export-thread'),
    } = deps;
    this.#threads = new QueryThreads({
      clock,
      history: history.share,
      controlPath,
      entry,
      threads: EXPORT_THREADS,
      name: 'export thread',
      onEnd: (end) => log.error({ err: end.cause, kind: end.kind }, end.message),
    });
  }

  /** Number of the project's shards, numbered from 0; at least 1, and never decreasing. */
  shardCount(project: string): number {
    return shardCount(this.#deps.host.view(project));
  }

  /**
   * The shard's text, packed if requested. Throws a `Refusal`: NOT_FOUND for a shard that the
   * project does not have, NOT_READY, TOO_MANY_REQUESTS, QUERY_TIMEOUT, RESPONSE_TOO_LARGE; or the
   * reason of `signal`.
   */
  async shard(query: ShardQuery, signal: AbortSignal): Promise<Uint8Array> {
    const { project, shard } = query;
    const count = this.shardCount(project);
    if (shard >= count) {
      const message = `There is no shard ${shard}, only 0 to ${count - 1}: take the numbers from scrape-targets`;
      throw new Refusal('NOT_FOUND', message);
    }
    // Rows that are still being read would make their VMs look silent.
    if (!this.#deps.evaluator.isHistoryWhole()) {
      throw new Refusal('NOT_READY', 'The sample log is still being read: retry later');
    }
    const { clock } = this.#deps;
    return await withQueryDeadline({ clock, signal }, (ended) => this.#write(query, ended));
  }

  async close(): Promise<void> {
    await this.#threads.close();
  }

  async #write({ project, shard, format, gzip }: ShardQuery, signal: AbortSignal) {
    await this.#directory.load(project);
    const members = this.#directory.shard(project, shard);
    const vms = Array.from(members, ([vm, { displayName, datacenter }]): ExportedVm => {
      return { project, vm, displayName, datacenter };
    });
    const request = (): ShardRequest => ({
      vms: this.#live(vms),
      nowMs: this.#deps.clock.now(),
      format,
      gzip,
    });
    const body = await this.#call(project, request, signal);
    if (body) return body;
    throw new Refusal('RESPONSE_TOO_LARGE', 'The shard exceeds the maximum size of an export');
  }

  async #call(
    project: string,
    request: () => ShardRequest,
    signal: AbortSignal,
  ): Promise<Uint8Array | null> {
    try {
      // The thread runs this program's file; its method `shard` returns this type.
      return (await this.#threads.call(project, 'shard', request, signal)) as Uint8Array | null;
    } catch (error) {
      throw error instanceof HistoryError ? refusalOf(error) : error;
    }
  }

  /** Leaves out the VMs of stale data centers: their last readings are not current. */
  #live(vms: readonly ExportedVm[]): readonly ExportedVm[] {
    const states = new Map<string, 'live' | 'stale'>();
    return vms.filter(({ datacenter }) => {
      const state = states.get(datacenter) ?? this.#deps.datacenters.stateOf(datacenter);
      states.set(datacenter, state);
      return state === 'live';
    });
  }
}

/** The refusal for the scraper; the error itself if it is only for the log. */
function refusalOf(error: HistoryError): Error {
  const message = `The export could not be written: ${error.message}`;
  switch (error.reason) {
    case 'UNAVAILABLE':
    case 'CLOSED':
    case 'INCOMPLETE':
      return new Refusal('NOT_READY', message);
    case 'OVERLOADED':
      return new Refusal('TOO_MANY_REQUESTS', message);
    case 'OUT_OF_MEMORY':
      return new Refusal(
        'RESPONSE_TOO_LARGE',
        'The shard needs more memory than the export thread may use',
      );
    case 'DAMAGED':
    case 'FAULT':
      return error;
  }
}
