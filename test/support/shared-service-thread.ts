/**
 * Runs the service of shared-service.ts. Reports its address once it answers, and each line of its
 * log. Stops it on request.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { systemClock } from '../../streams/platform/clock.ts';

/** Data with which the thread is started. */
export interface SharedServiceData {
  readonly environment: Readonly<Record<string, string>>;
  /** Receives the lines of the log. */
  readonly lines: MessagePort;
}

const { environment, lines } = workerData as SharedServiceData;
const service = await createService({
  settings: loadConfig([], environment).settings,
  log: createLog({
    level: 'debug',
    readable: false,
    clock: systemClock,
    write: (line) => lines.postMessage(line),
  }),
});
parentPort?.once('message', async () => {
  await service.stop();
  lines.close();
});
parentPort?.postMessage(service.address);
