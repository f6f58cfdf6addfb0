/** Foundations that every room is opened with, and the helper that counts its lost work. */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import type { Closers } from './closers.ts';
import type { Health } from './health.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Settings } from './settings/settings.ts';

export interface RoomBase {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Closes what a room opens, in reverse order. */
  readonly closers: Closers;
}

/** Counts work that a part lost because the stream did not answer. */
export type LostWork = (part: string) => () => void;

export function countLostWork(metrics: Metrics): LostWork {
  const lost = metrics.counter(
    'svc_part_lost_work_total',
    'Work lost by a part because the stream did not answer',
    ['part'],
  );
  return (part) => () => lost.inc({ part });
}
