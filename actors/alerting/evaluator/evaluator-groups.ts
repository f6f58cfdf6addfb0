/** Edges in groups: what is decided in one commit is bounded, whatever one entry led to. */
import type { Edge } from '../../../streams/telemetry/entry.ts';
import { HELD_VMS_MAX } from '../edges.ts';

/**
 * Bytes of deciding windows and steps that one decision may add up to, estimated: about 25 edges,
 * which is some 5 ms of the main thread to decide and as much to apply.
 */
const COMMIT_ESTIMATE_MAX = 56 * 1024;

/** Bytes of a step below firing, beyond the one that every firing has. */
const RUN_EVENT_ESTIMATE = 700;

/** Edges of one project, in their order, that fit one commit. */
export interface EdgeGroup {
  readonly project: string;
  readonly edges: Edge[];
  estimate: number;
}

/** Edges in order, by project, in groups that fit one commit. */
export function groupEdges(edges: readonly Edge[]): EdgeGroup[] {
  const open = new Map<string, EdgeGroup>();
  const groups: EdgeGroup[] = [];
  for (const edge of edges) {
    const fired = edge.kind === 'fired' ? edge : undefined;
    const held = fired?.held?.vms.length ?? 0;
    const runs = (fired?.run.length ?? 1) - 1;
    const window = 'window' in edge ? edge.window.length : 0;
    const estimate =
      2_000 + RUN_EVENT_ESTIMATE * runs + 48 * (window + Math.min(held, HELD_VMS_MAX));
    let group = open.get(edge.key.project);
    if (!group || group.estimate + estimate > COMMIT_ESTIMATE_MAX) {
      group = { project: edge.key.project, edges: [], estimate: 0 };
      open.set(edge.key.project, group);
      groups.push(group);
    }
    group.edges.push(edge);
    group.estimate += estimate;
  }
  return groups;
}
