/**
 * Supervises the running parts of all rooms. Each part runs until it is stopped, is restarted when it
 * fails, and reports its health to `/readyz`. A failing part stops no other.
 */
import { type Part, type Supervision, supervise } from '../../actors/platform/supervision.ts';
import { partCheck } from '../platform/health.ts';
import type { RoomBase } from '../platform/room-base.ts';

/** Parts are not ready before `start`; the closer stops them, last one first. */
export function superviseParts(base: RoomBase, parts: readonly Part[]): { start(): void } {
  const { clock, random, health, log, metrics, closers } = base;
  const failures = metrics.counter('svc_part_failures_total', 'Failures of running parts', [
    'part',
  ]);
  let supervision: Supervision | undefined;
  closers.add('parts', () => supervision?.stop());
  const running = { healthOf: (name: string) => supervision?.healthOf(name) };
  for (const { name } of parts) {
    failures.inc({ part: name }, 0);
    health.watch(
      { kind: name, neededFor: 'acting' },
      partCheck(running, { name, essential: true }),
    );
  }
  return {
    start() {
      supervision = supervise({
        parts,
        clock,
        random,
        onFailure(part, error) {
          failures.inc({ part: part.name });
          log.error({ err: error, part: part.name }, 'A part failed and is restarted');
        },
      });
    },
  };
}
