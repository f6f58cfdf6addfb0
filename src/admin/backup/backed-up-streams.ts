/**
 * Streams of a service on NATS that its backup contains, in the order in which they are restored:
 * EVENTS last. Wake-ups are recreated from due work, snapshots from the projection.
 */
import { samplesSpec } from '../../../actors/telemetry/sample-log.ts';
import { eventsStream } from '../../../streams/platform/commit/events.ts';
import { onceSpec } from '../../../streams/platform/jetstream/once-store.ts';
import type { StreamSpec } from '../../../streams/platform/stream.ts';

export const backedUpStreams: readonly StreamSpec[] = [onceSpec, samplesSpec, eventsStream()];
