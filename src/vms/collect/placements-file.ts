/** File of a fleet's placements: where each VM was, so that one that moved while nobody looked is noticed. */
import { readFileSync } from 'node:fs';
import type { PlacementsState } from '../../../actors/telemetry/collectors/fleet/placements.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';

/** undefined: there is none, or it is damaged; then every domain is new where it is mapped to. */
export function readPlacements(path: string): PlacementsState | undefined {
  try {
    // Only `writePlacements` writes it.
    const state = JSON.parse(readFileSync(path, 'utf8')) as PlacementsState;
    return typeof state.placed === 'object' && typeof state.retiring === 'object'
      ? state
      : undefined;
  } catch {
    return undefined;
  }
}

/** Throws what the file system throws. */
export function writePlacements(path: string, state: PlacementsState): void {
  writeFileDurably({ path, content: `${JSON.stringify(state)}\n`, exclusive: false });
}
