/**
 * A whole service in this process, for tests that start several, because a process costs more than
 * a start.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { type Demo, type Program, until } from './program.ts';

/**
 * Starts a service in this process on free ports, with the interface of `startProgram`. It stops
 * with the test. A stop is not a kill, but the backup made before it is the same.
 */
export async function startService(
  t: Test,
  folder: string,
  more: Readonly<Record<string, string>> = {},
  clock: Clock = systemClock,
): Promise<Program> {
  const settings = { SVC_DATA: folder, SVC_LISTEN: '127.0.0.1:0', SVC_COLLECT: 'none', ...more };
  const service = await createService({
    settings: loadConfig([], { ...settings, SVC_METRICS_LISTEN: 'off' }).settings,
    log: silentLog,
    ports: { clock },
  });
  t.teardown(() => service.stop());
  const get = async (path: string) => {
    const answer = await fetch(service.address + path);
    return { status: answer.status, text: await answer.text() };
  };
  await until('readiness', async () => ((await get('/readyz')).status === 200 ? true : undefined));
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
  const stop = async () => {
    await service.stop();
    return 0;
  };
  return {
    demo,
    pid: process.pid,
    log: () => '',
    get,
    stop,
    kill: async () => void (await stop()),
    async call(method, request, key = demo.apiKey) {
      const { status, headers, text } = await post(`${demo.baseUrl}/svc.${method}`, request, key);
      return { status, headers, body: JSON.parse(text) as Record<string, unknown> };
    },
  };
}

async function post(url: string, request: unknown, key: string) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}
