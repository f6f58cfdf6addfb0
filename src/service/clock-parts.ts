/** The parts of the service that follow the clock: the timers, and the watch over its steps. */
import type { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import type { DueTimer } from '../../streams/platform/commit/projection.ts';
import { ClockWatch } from '../platform/clock-watch.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';

/** Reports steps of the clock, and the times that were moved after them. */
export function watchClock(
  { clock, health }: RoomBase,
  parts: {
    readonly host: RunningHost;
    readonly evaluator: SamplePipeline;
    readonly delays: () => number;
  },
): void {
  const counts = () => ({
    projects: parts.host.counters().setBacks,
    'series, rules and VMs': parts.evaluator.rebased(),
    delays: parts.delays(),
  });
  const watch = new ClockWatch({ clock, counts });
  health.watch({ kind: 'clock' }, watch.check);
}

/** Fires the timers of every machine. `onSetBack` receives the number of delays that were moved. */
export function timersPart(parts: {
  readonly base: RoomBase;
  readonly storage: Storage;
  readonly host: RunningHost;
  readonly onSetBack: (count: number) => void;
}): Part {
  const { host, onSetBack } = parts;
  const { clock, log } = parts.base;
  const { ownership } = parts.storage;
  const timers = {
    onSetBack,
    host,
    clock,
    ownership,
    onFault: (timer: DueTimer, error: unknown) =>
      log.error({ err: error, instance: timer.instance }, 'A timer did not fire'),
  };
  return { name: 'timers', run: (signal) => runTimers(timers, signal) };
}
