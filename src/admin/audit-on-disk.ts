/** The recorded history as it lies on disk, for operators whose service does not run. */
import { existsSync } from 'node:fs';
import {
  type CommitBodies,
  type LogVerification,
  type VerifyProgress,
  verifyLog,
} from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { CommitReader } from '../../sqlite/commit-reader.ts';
import { StreamOnDisk } from '../../sqlite/embedded-stream/stream-on-disk.ts';
import { EVENTS_STREAM } from '../../streams/commit/events.ts';

/** Of a deployment whose log is on a server: headers can be proven without it, bodies cannot. */
const elsewhere: CommitBodies & { close(): void } = {
  at: async () => 'removed',
  close: () => {},
};

/** Changes nothing. Throws `SqliteError`, `SchemaMismatch`, `StreamMisconfigured`. */
export async function verifyOnDisk(
  paths: { readonly control: string; readonly events: string },
  onProgress: (progress: VerifyProgress) => void,
): Promise<LogVerification> {
  const reader = new CommitReader(paths.control);
  try {
    const { events } = paths;
    const bodies = existsSync(events) ? new StreamOnDisk(events, EVENTS_STREAM) : elsewhere;
    try {
      return await verifyLog({ reader, bodies, machines: machineDefinitions, onProgress });
    } finally {
      bodies.close();
    }
  } finally {
    reader.close();
  }
}
