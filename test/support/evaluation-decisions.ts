/**
 * The evaluator's state beside the fold: rows of instances, which record edges that have been
 * decided, and the decisions.
 */

import type { MissingReason } from '../../machines/alerting/incident.ts';
import { acceptEdge, instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import type { EvaluationState, SeedIncident } from '../../streams/alerting/evaluation/state.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import { fold } from './evaluation-fold.ts';
import { edgeLine } from './evaluation-scenario.ts';

interface Row {
  ordinal: number;
  decidedThrough: number;
  firing: boolean;
  startedMs: number;
  firedMs: number;
  recoveredMs: number | undefined;
  corrected: boolean;
  dataMissing: boolean;
  missing: { reason: MissingReason; sinceMs: number } | undefined;
  readonly key: Edge['key'];
}

export interface Made {
  readonly incidentId: string;
  readonly edge: Edge;
}

/** True if both decided the same edges of the same incidents. */
export function agree(made: readonly Made[], expected: readonly Made[]): boolean {
  const text = ({ edge, incidentId }: Made): string => `${edgeLine(edge)} ${incidentId}`;
  return made.map(text).join() === expected.map(text).join();
}

/** Instance rows and decisions: the state that survives a restart. */
export class Decisions {
  readonly rows = new Map<string, Row>();
  readonly made: Made[] = [];

  constructor(from?: Decisions) {
    for (const [id, row] of from?.rows ?? []) this.rows.set(id, { ...row });
  }

  decide(edges: readonly Edge[]): void {
    for (const edge of edges) this.#decide(edge);
  }

  incidents(): SeedIncident[] {
    return [...this.rows.values()].map(({ recoveredMs, missing, ...row }) => ({
      ...row,
      ...(missing && { missingReason: missing.reason, missingSinceMs: missing.sinceMs }),
      ...(recoveredMs === undefined ? {} : { recoveredMs }),
    }));
  }

  #decide(edge: Edge): void {
    const id = instanceIdOf(edge.key);
    const row = this.rows.get(id) ?? {
      key: edge.key,
      ordinal: 0,
      decidedThrough: 0,
      firing: false,
      startedMs: 0,
      firedMs: 0,
      recoveredMs: undefined,
      corrected: false,
      dataMissing: false,
      missing: undefined,
    };
    const known = row.missing && { missingReason: row.missing.reason };
    const accepted = acceptEdge({ ...row, ...known }, edge);
    if (!accepted) return;
    const firing = edge.kind === 'fired' || (row.firing && edge.kind !== 'recovered');
    this.rows.set(id, {
      ...row,
      firing,
      ordinal: accepted.ordinal,
      decidedThrough: edge.atMs,
      startedMs: edge.kind === 'fired' ? edge.startedMs : row.startedMs,
      firedMs: edge.kind === 'fired' ? (edge.observedMs ?? 0) : row.firedMs,
      corrected: edge.kind === 'corrected' || (edge.kind !== 'fired' && row.corrected),
      recoveredMs: firing ? undefined : (edge.observedMs ?? row.recoveredMs),
      missing:
        edge.kind === 'dataMissing' ? edge : edge.kind === 'corrected' ? row.missing : undefined,
      dataMissing: edge.kind === 'dataMissing' || (row.dataMissing && edge.kind === 'corrected'),
    });
    this.made.push({ edge, incidentId: accepted.incidentId });
  }
}

/** Folds `log`, and decides its edges. */
export function decideAll(
  state: EvaluationState,
  log: readonly LogEntry[],
  decisions: Decisions,
): void {
  for (const entry of log) decisions.decide(fold(state, entry).edges);
}
