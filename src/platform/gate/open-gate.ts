/** The gate of calls and the rates of ingest, over the projects' limits and with their metrics. */
import type { Host } from '../../../actors/platform/host/host-port.ts';
import {
  DEFAULT_LIMITS,
  type ProjectLimits,
  ProjectLimitsReader,
} from '../../../actors/platform/project-limits.ts';
import { IngestRates } from '../../../actors/telemetry/ingest/ingest-limits.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Metrics } from '../metrics.ts';
import type { CallClass } from './call-classes.ts';
import { createProjectGate, type ProjectGate } from './project-gate.ts';

export interface ProjectBounds {
  readonly gate: ProjectGate;
  readonly ingestRates: IngestRates;
  /** Counts a call that a limit of its project refused. */
  readonly noteRefusal: (limit: string, kind: CallClass) => void;
}

/** Over the limits that hold for each project now. */
export function openProjectBounds(options: {
  readonly host: Pick<Host, 'view' | 'onApplied'>;
  readonly clock: Clock;
  readonly metrics: Metrics;
}): ProjectBounds {
  const { host, clock, metrics } = options;
  const limits = new ProjectLimitsReader(host);
  const refusals = metrics.counter(
    'svc_limit_refusals_total',
    'Calls refused because a project had reached a limit',
    ['limit', 'class'],
  );
  const noteRefusal = (limit: string, kind: CallClass): void => {
    refusals.inc({ limit, class: kind });
  };
  const gate = createProjectGate({
    clock,
    limits: (party) => limitsOfParty(limits, party),
    onRefusal: noteRefusal,
  });
  metrics.gauge(
    'svc_gate_calls',
    'Calls that are running, or waiting for a slot of their project',
    ['class', 'state'],
    (gauge) => {
      for (const [kind, { running, waiting }] of Object.entries(gate.counts())) {
        gauge.set({ class: kind, state: 'running' }, running);
        gauge.set({ class: kind, state: 'waiting' }, waiting);
      }
    },
  );
  const ingestRates = new IngestRates({
    clock,
    limits: (project) => limits.of(project),
    onRefusal: (limit) => noteRefusal(limit, 'write'),
  });
  return { gate, ingestRates, noteRefusal };
}

const PROJECT_PARTY = /^projects\/([^/]+)$/;

/** A person, and a collector for all projects, have what a project has by default. */
function limitsOfParty(limits: ProjectLimitsReader, party: string): ProjectLimits {
  const project = PROJECT_PARTY.exec(party)?.[1];
  return project === undefined ? DEFAULT_LIMITS : limits.of(project);
}
