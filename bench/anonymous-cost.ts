/**
 * Cost for other callers of ten bad requests per second without a credential: the program as a user
 * starts it, one reader with a steady rhythm, alone and beside 1 MiB of JSON at every method that
 * requires no credential. The two are measured alternately, because a machine shared with other
 * work drifts by more than the difference. Aim: p50 changes by at most 20 %.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Demo, startProgram } from '../test/support/program.ts';
import { withScope } from './support/scope.ts';

const ROUNDS = 5;
const ROUND_MS = 3_000;
const BAD_A_SECOND = 10;
const READ_EVERY_MS = 10;
const AIM = '≤ 1.20';
const METHODS = ['ExchangeCiToken', 'SubmitCiVerification', 'EnrolAgent'] as const;
const BODY_BYTES = 1024 * 1024 - 100;

export interface AnonymousCost {
  readonly aloneP50Ms: number;
  readonly besideP50Ms: number;
  /** Ratio of the second to the first. */
  readonly ratio: number;
  /** Number of responses to bad requests, by status; 0 = the connection broke off. */
  readonly answered: ReadonlyMap<number, number>;
}

/** Measures a running service for about thirty seconds. */
export async function measureAnonymousCost(demo: Demo): Promise<AnonymousCost> {
  const alone: number[] = [];
  const beside: number[] = [];
  const answered = new Map<number, number>();
  const sender = startSender(demo.baseUrl);
  sender.begin();
  await read(demo, [], ROUND_MS);
  await sender.end();
  for (let round = 0; round < ROUNDS; round++) {
    await read(demo, alone, ROUND_MS);
    sender.begin();
    await read(demo, beside, ROUND_MS);
    for (const [status, count] of Object.entries(await sender.end())) {
      answered.set(Number(status), (answered.get(Number(status)) ?? 0) + count);
    }
  }
  await sender.close();
  const [aloneP50Ms, besideP50Ms] = [median(alone), median(beside)];
  return { aloneP50Ms, besideP50Ms, ratio: besideP50Ms / aloneP50Ms, answered };
}

/** Measures and prints a table. */
export async function run(): Promise<void> {
  await withScope(async (scope) => {
    const folder = mkdtempSync(`${tmpdir()}/anonymous-bench-`);
    scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const { demo } = await startProgram(scope, folder, { SVC_COLLECT: 'none' });
    const { aloneP50Ms, besideP50Ms, ratio, answered } = await measureAnonymousCost(demo);
    console.table([
      {
        'p50 alone, ms': aloneP50Ms.toFixed(2),
        'p50 beside ten bad 1 MiB requests per second, ms': besideP50Ms.toFixed(2),
        ratio: ratio.toFixed(2),
        aim: AIM,
        'bad ones answered': [...answered].map(([status, n]) => `${n} × ${status}`).join(', '),
      },
    ]);
  });
}

/** Number of responses to bad requests, by status. */
type Answered = Readonly<Record<string, number>>;

/** Bad requests from a separate process: the reader must not wait for the sender's work. */
function startSender(baseUrl: string) {
  const child = fork(fileURLToPath(import.meta.url), [baseUrl]);
  return {
    begin: () => void child.send('begin'),
    /** Number of responses since the start, by status. */
    async end(): Promise<Answered> {
      child.send('end');
      const [answered] = (await once(child, 'message')) as [Answered];
      return answered;
    },
    async close(): Promise<void> {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** The sender's process. */
function serveSender(baseUrl: string): void {
  let answered: Record<string, number> = {};
  let sent: Promise<void>[] = [];
  let timer: NodeJS.Timeout | undefined;
  const body = Buffer.from(JSON.stringify({ trustName: 'x'.repeat(BODY_BYTES), assertion: 'a' }));
  const post = async (method: string): Promise<void> => {
    const url = `${baseUrl}/svc.iam.v1.AutomationService/${method}`;
    const headers = { 'content-type': 'application/json' };
    let status = 0;
    try {
      const answer = await fetch(url, { method: 'POST', headers, body });
      await answer.text();
      status = answer.status;
    } catch {
      // Cut off while sending: counted as 0.
    }
    answered[status] = (answered[status] ?? 0) + 1;
  };
  process.on('message', async (order) => {
    clearInterval(timer);
    if (order === 'begin') {
      timer = setInterval(() => {
        sent.push(post(METHODS[sent.length % METHODS.length] ?? METHODS[0]));
      }, 1_000 / BAD_A_SECOND);
      return;
    }
    await Promise.all(sent);
    process.send?.(answered);
    answered = {};
    sent = [];
  });
}

/** Reads the inventory in a steady rhythm; adds the duration of each read to `took`, ms. */
async function read(demo: Demo, took: number[], durationMs: number): Promise<void> {
  const untilMs = performance.now() + durationMs;
  while (performance.now() < untilMs) {
    const fromMs = performance.now();
    const answer = await fetch(
      `${demo.baseUrl}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`,
      {
        method: 'POST',
        headers: { authorization: `Bearer ${demo.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ projectName: demo.projectName }),
      },
    );
    await answer.text();
    if (!answer.ok) throw new Error(`A read returned ${answer.status}`);
    took.push(performance.now() - fromMs);
    await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS));
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

if (import.meta.main) serveSender(process.argv[2] ?? '');
