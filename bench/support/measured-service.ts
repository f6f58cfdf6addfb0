/**
 * The service in a process that watches its own event loop; `startMeasured` starts it and queries
 * it over the process's channel. An artificial disk delay cannot be set from outside, hence a
 * separate program around `createService` instead of `svc serve`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Demo } from '../../test/support/program.ts';
import type { Scope } from './scope.ts';

/** Delay of the event loop, ms. */
export interface LoopFigures {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface MeasuredService {
  readonly demo: Demo;
  /** Figures since the last call; the next period begins now. */
  figures(): Promise<LoopFigures>;
  /** CPU since the start, all threads, seconds. */
  cpuSeconds(): Promise<number>;
}

/** Starts it on the data folder and kills it with the scope. */
export async function startMeasured(
  scope: Scope,
  { folder, fsyncDelayMs }: { readonly folder: string; readonly fsyncDelayMs: number },
): Promise<MeasuredService> {
  const child = fork(fileURLToPath(import.meta.url), {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SVC_DATA: folder,
      SVC_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: 'off',
      SVC_COLLECT: 'none',
      SVC_LOG_LEVEL: 'warn',
      SVC_TEST_FSYNC_MS: String(fsyncDelayMs),
    },
  });
  const exited = once(child, 'exit');
  scope.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const ended = exited.then(() => Promise.reject(new Error('The measured service has ended')));
  ended.catch(() => {});
  const [demoFile] = (await Promise.race([once(child, 'message'), ended])) as [string];
  const ask = async (request: 'figures' | 'cpuSeconds'): Promise<unknown> => {
    child.send(request);
    const [answer] = await Promise.race([once(child, 'message'), ended]);
    return answer;
  };
  return {
    demo: JSON.parse(readFileSync(demoFile, 'utf8')) as Demo,
    // The replies of `serve` below.
    figures: async () => (await ask('figures')) as LoopFigures,
    cpuSeconds: async () => (await ask('cpuSeconds')) as number,
  };
}

const RESOLUTION_MS = 1;

async function serve(): Promise<void> {
  const [{ loadConfig }, { createLog, standardErrorLines }, { createService }, { systemClock }] =
    await Promise.all([
      import('../../src/platform/settings/config.ts'),
      import('../../src/platform/log.ts'),
      import('../../src/service/service.ts'),
      import('../../streams/platform/clock.ts'),
    ]);
  const { settings } = loadConfig([], process.env);
  const log = createLog({
    level: settings.logLevel,
    readable: false,
    clock: systemClock,
    write: standardErrorLines(),
  });
  const fsyncDelayMs = Number(process.env.SVC_TEST_FSYNC_MS);
  const service = await createService({ settings, log, ports: { fsyncDelayMs } });
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  // The recorded value is the time between two turns of a timer, including its own interval.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  process.on('message', (request) => {
    if (request === 'cpuSeconds') {
      const { user, system } = process.cpuUsage();
      process.send?.((user + system) / 1e6);
      return;
    }
    const figures: LoopFigures = {
      p50: late(delay.percentile(50)),
      p99: late(delay.percentile(99)),
      max: late(delay.max),
    };
    process.send?.(figures);
    delay.reset();
  });
  process.send?.(service.demoFile);
}

if (import.meta.main) await serve();
