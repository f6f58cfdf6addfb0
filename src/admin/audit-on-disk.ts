/** The recorded history as it lies on disk, for operators whose service does not run. */
import { existsSync } from 'node:fs';
import {
  type LogVerification,
  type LogVerifierOptions,
  verifyLog,
} from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { CommitReader } from '../../sqlite/commit-reader.ts';
import { StreamOnDisk } from '../../sqlite/embedded-stream/stream-on-disk.ts';
import { EVENTS_STREAM } from '../../streams/commit/events.ts';

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
