/**
 * File of a fleet's placements: the last project of each VM, to detect VMs that moved while the
 * program was not running.
 */
import { readFileSync } from 'node:fs';
import type { PlacementsState } from '../../../actors/telemetry/collectors/fleet/placements.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';

/** undefined if absent, or it is damaged. Then every domain is new where it is mapped. */
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

/** Throws the errors of the file system. */
export function writePlacements(path: string, state: PlacementsState): void {
  writeFileDurably({ path, content: `${JSON.stringify(state)}\n`, exclusive: false });
}
