/**
 * How a member with an empty disk joins: from the newest snapshot of another member's projection
 * and the tail of EVENTS behind it, as the service does with files (`src/service/joining.ts`).
 */
import type { SnapshotSource } from '../../actors/platform/snapshots.ts';
import { PROJECTION_SCHEMA } from '../../sqlite/platform/backup/control-snapshot.ts';
import { EVENTS_STREAM, eventsStream } from '../../streams/platform/commit/events.ts';
import {
  type EventsPosition,
  newestSnapshot,
  readSnapshot,
  unusable,
} from '../../streams/platform/snapshots.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import type { Machine } from './machine.ts';
import type { World } from './world.ts';

const ASK_POSITION = `SELECT stream_identity AS "identity", applied, applied_hash AS hash
  FROM position`;

function positionOf({ database }: Machine): EventsPosition | undefined {
  return database.prepare<[], EventsPosition>(ASK_POSITION).get();
}

/** Gives an empty machine the newest snapshot, if there is one. */
export async function joinFromSnapshot(
  { machine, world }: { readonly machine: Machine; readonly world: World },
  stream: Stream,
): Promise<boolean> {
  if ((positionOf(machine)?.applied ?? 0) > 0) return false;
  if ((await stream.compare(eventsStream())) === undefined) return false;
  const snapshot = await newestSnapshot(stream);
  if (snapshot === undefined) return false;
  if (unusable(snapshot, await stream.state(EVENTS_STREAM)) !== undefined) return false;
  const parts: Uint8Array[] = [];
  for await (const part of readSnapshot(stream, snapshot)) parts.push(part);
  machine.install(Buffer.concat(parts));
  world.count('joined by a snapshot');
  world.trace(() => `a member begins with a snapshot of EVENTS at ${snapshot.position.applied}`);
  return true;
}

/** Snapshots of a machine's projection. */
export function snapshotsOf(machine: Machine): SnapshotSource {
  return {
    schema: PROJECTION_SCHEMA,
    async take() {
      const content = machine.database.serialize();
      const position = positionOf(machine);
      if (position === undefined) throw new Error('A projection has no position');
      return {
        position,
        bytes: content.length,
        async *content() {
          yield content;
        },
        discard: () => {},
      };
    },
  };
}
