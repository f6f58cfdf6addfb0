/** What operators may ask of the running service's recorded history. */
import { type LogVerification, verifyLog } from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { CommitReader } from '../../sqlite/commit-reader.ts';
import type { Clock } from '../../streams/clock.ts';
import { CommitBodiesOfStream } from '../../streams/commit/commit-bodies.ts';
import type { Stream } from '../../streams/stream.ts';
import type { AdminRoutes } from './admin-server.ts';

export const AUDIT_VERIFY_PATH = '/v1/audit/verify';

/** Progress of a long look is told so often at most: each so many commits. */
const TOLD_EACH = 100;

/** Answer of `AUDIT_VERIFY_PATH`: `LogVerification`, after `VerifyProgress`. */
export function auditRoutes(parts: {
  readonly stream: Stream;
  readonly controlPath: string;
  readonly clock: Clock;
}): AdminRoutes {
  return {
    async [AUDIT_VERIFY_PATH](signal, onProgress): Promise<LogVerification> {
      const reader = new CommitReader(parts.controlPath);
      const bodies = new CommitBodiesOfStream(parts.stream);
      try {
        return await verifyLog({
          ...{ reader, bodies, machines: machineDefinitions, nowMs: parts.clock.now(), signal },
          onProgress(progress) {
            const { verified, commits } = progress;
            if (verified % TOLD_EACH === 0 || verified === commits) onProgress(progress);
          },
        });
      } finally {
        await bodies.close();
        reader.close();
      }
    },
  };
}
