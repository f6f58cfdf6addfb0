/** The recorded history as it lies on disk, for operators whose service does not run. */
import { existsSync } from 'node:fs';
import {
  type LogVerification,
  type LogVerifierOptions,
  verifyLog,
} from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { StreamOnDisk } from '../../sqlite/platform/embedded-stream/stream-on-disk.ts';
import { EVENTS_STREAM } from '../../streams/platform/commit/events.ts';
import { compareSink, type SinkComparison } from '../audit/export/compare-sink.ts';

/** Changes nothing; without `events` the log is on a server. Throws `SqliteError`, `SchemaMismatch`, `StreamMisconfigured`. */
export async function verifyOnDisk(
  paths: { readonly control: string; readonly events: string },
  options: Pick<LogVerifierOptions, 'clock' | 'onProgress'>,
): Promise<LogVerification> {
  const reader = new CommitReader(paths.control);
  try {
    const { events } = paths;
    const bodies = existsSync(events) ? new StreamOnDisk(events, EVENTS_STREAM) : null;
    try {
      return await verifyLog({ reader, bodies, machines: machineDefinitions, ...options });
    } finally {
      bodies?.close();
    }
  } finally {
    reader.close();
  }
}

/** Compares the files of an audit sink with the projection. Throws as `verifyOnDisk`, and for a file that cannot be read. */
export async function compareOnDisk(
  sinks: readonly string[],
  control: string,
): Promise<SinkComparison> {
  const reader = new CommitReader(control);
  try {
    return await compareSink(sinks, reader);
  } finally {
    reader.close();
  }
}
