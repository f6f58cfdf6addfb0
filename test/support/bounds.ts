/**
 * Limits of projects as a service without configured limits sets them, for tests of the parts
 * behind them.
 */
import { DEFAULT_LIMITS, type ProjectLimits } from '../../actors/platform/project-limits.ts';
import { IngestRates } from '../../actors/telemetry/ingest/ingest-limits.ts';
import type { ProjectBounds } from '../../src/platform/gate/project-gate.ts';
import { createProjectGate } from '../../src/platform/gate/project-gate.ts';
import type { Clock } from '../../streams/platform/clock.ts';

/** @param limits of a caller (`projects/<id>` or a principal), and of a project by its id */
export function testBounds(
  clock: Clock,
  limits: (tenant: string) => ProjectLimits = () => DEFAULT_LIMITS,
): ProjectBounds {
  return {
    recordRefusal: () => {},
    gate: createProjectGate({ clock, limits }),
    ingestRates: new IngestRates({ clock, limits }),
  };
}
