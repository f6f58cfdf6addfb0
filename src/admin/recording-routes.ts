/**
 * `svc record`: records a stretch of the sample log for one project while it is written, one line
 * per entry. Only the operator may do this, over the service's own socket, because no one else may
 * see a whole log.
 */
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { recordingLine } from '../../streams/alerting/recording.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { partitionOf, type Stream } from '../../streams/platform/stream.ts';
import { decodeEntry } from '../../streams/telemetry/entry-codec.ts';
import type { AdminRoutes, SendProgress } from './admin-server.ts';

export const RECORDING_PATH = '/v1/samples/record';

/** The result of a recording. Its lines are sent as progress. */
export interface RecordedStretch {
  readonly entries: number;
}

export interface RecordingRouteDeps {
  readonly stream: Stream;
  readonly clock: Clock;
  readonly projects: () => readonly string[];
}

/**
 * Body: `project`, `forMs` (absent: until the caller disconnects), `sinceMs` (absent: from now on).
 */
export function recordingRoutes(deps: RecordingRouteDeps): AdminRoutes {
  return {
    [RECORDING_PATH]: (signal, onProgress, body) => record(deps, signal, onProgress, body),
  };
}

async function record(
  { stream, clock, projects }: RecordingRouteDeps,
  signal: AbortSignal,
  onProgress: SendProgress,
  { project, forMs, sinceMs }: Readonly<Record<string, unknown>>,
): Promise<RecordedStretch> {
  if (typeof project !== 'string' || !projects().includes(project)) {
    const known = projects().join(', ') || 'none yet';
    throw new Refusal(
      'NOT_FOUND',
      `There is no project ${String(project)}. Existing projects: ${known}`,
    );
  }
  const { lastSequence } = await stream.state(SAMPLES_STREAM);
  const read = stream.read({
    stream: SAMPLES_STREAM,
    from: typeof sinceMs === 'number' ? { timeMs: sinceMs } : { sequence: lastSequence + 1 },
    subject: `svc.samples.${partitionOf(project)}.*`,
    untilEnd: false,
  });
  const close = (): void => void read.close();
  const cancel = typeof forMs === 'number' ? clock.wakeAfter(forMs, close) : undefined;
  signal.addEventListener('abort', close, { once: true });
  let entries = 0;
  try {
    for await (const { data } of read) {
      const line = recordingLine(decodeEntry(data), project);
      if (line === undefined) continue;
      entries++;
      onProgress(line);
      await onProgress.drained();
    }
  } finally {
    cancel?.();
    signal.removeEventListener('abort', close);
    await read.close();
  }
  return { entries };
}
