/**
 * Fuzzing: mutated requests, several at a time, over persistent connections. The process survives;
 * every answer is one that the service defines;
 * no secret and no word of another tenant appears in an answer or in the log; memory is flat after warm-up.
 */
import { type Arena, displayed, inParallel, sourceOf } from './arena.ts';
import { type Corpus, draftOf } from './corpus.ts';
import { forbiddenIn, problemOf } from './judge.ts';
import { memoryVerdict, type Reading } from './memory.ts';
import { mutated, written } from './mutations.ts';
import { createTenant } from './tenants.ts';
import { bytesOf, type WireAnswer } from './wire.ts';

/** Requests in flight; more would only wait in the service's queues. */
const WIDTH = 24;
/** Number of requests after which the requests that end things get a new tenant. */
const CHAFF_EVERY = 100_000;
const READING_EVERY_MS = 2_000;
const PROGRESS_EVERY_MS = 15_000;
/** Time for which an accepted stream is read, ms. */
const STREAM_MS = 100;
/** Share of accepted requests below which the fuzzer only tests rejections. */
const ACCEPTED_SHARE_MIN = 0.1;
/** Share of 429 answers above which it only tests the limits. */
const LIMITED_SHARE_MAX = 0.3;

interface Progress {
  readonly beganMs: number;
  readonly statuses: Map<string, number>;
  readonly readings: Reading[];
  done: number;
}

export async function attackByFuzzing(
  arena: Arena,
  { requests, progress }: { readonly requests: number; readonly progress: (line: string) => void },
): Promise<void> {
  const { target, attacker, tally } = arena;
  const counts: Progress = {
    beganMs: performance.now(),
    statuses: new Map(),
    readings: [],
    done: 0,
  };
  const watching = setInterval(() => {
    const bytes = target.residentBytes();
    if (bytes !== undefined) counts.readings.push({ atMs: performance.now(), bytes });
  }, READING_EVERY_MS);
  const progressTimer = setInterval(() => progress(`fuzz: ${lineOf(counts)}`), PROGRESS_EVERY_MS);
  try {
    for (let epoch = 0; counts.done < requests && !arena.isOver() && isAlive(arena); epoch++) {
      const chaff = await createTenant(target, `chaff${epoch}`);
      const { host } = new URL(target.origin);
      const corpus = { host, origin: target.origin, tenant: attacker, chaff };
      const until = Math.min(requests, counts.done + CHAFF_EVERY);
      await inParallel(numbersTo(arena, counts, until), WIDTH, (number) =>
        fuzzOnce(arena, corpus, counts, number),
      );
    }
  } finally {
    clearInterval(watching);
    clearInterval(progressTimer);
  }
  judgeWhole(arena, counts);
  tally.figure(lineOf(counts));
}

function* numbersTo(arena: Arena, counts: Progress, until: number): Generator<number> {
  while (counts.done < until && !arena.isOver() && isAlive(arena)) yield counts.done++;
}

function isAlive({ target }: Arena): boolean {
  return target.residentBytes() !== undefined;
}

async function fuzzOnce(
  arena: Arena,
  corpus: Corpus,
  counts: Progress,
  number: number,
): Promise<void> {
  const { target, tally, forbidden } = arena;
  // Independent dice: a seed makes the same request regardless of the others.
  const dice = arena.dice.fork(`request ${number}`);
  const draft = mutated(draftOf(corpus, dice), dice);
  const request = written(draft);
  const isStream = draft.path.includes('WatchIncidents');
  const options = {
    source: sourceOf(number),
    isLast: draft.isRaw === true,
    ...(isStream && { timeoutMs: STREAM_MS }),
  };
  const answer = await target.wire.send(request, options);
  const { status, failure } = answer;
  count(counts.statuses, failure === undefined ? String(status) : failure);
  const judged = isStream ? cutOff(answer) : answer;
  const sent = bytesOf(request).toString('utf8');
  const why = problemOf(judged, sentInFull(sent), forbidden);
  tally.record({
    name: `request ${number}`,
    why,
    isLimited: status === 429,
    ...(why !== undefined && { request: sent, answer: displayed(answer) }),
  });
}

/** The fuzzer cuts off a stream: only what has arrived until then is judged. */
export function cutOff(answer: WireAnswer): WireAnswer {
  const { failure, status, ...rest } = answer;
  return failure === 'timeout' ? { ...rest, status: status === 0 ? 200 : status } : answer;
}

/** An answer may contain percent-encoded parts of the request in decoded form. */
function sentInFull(sent: string): string {
  if (!sent.includes('%')) return sent;
  return `${sent}\n${sent.replaceAll(/(?:%[0-9a-f]{2})+/gi, (text) => Buffer.from(text.replaceAll('%', ''), 'hex').toString('utf8'))}`;
}

function judgeWhole(arena: Arena, counts: Progress): void {
  const { target, tally, attacker, forbidden } = arena;
  const sum = (wanted: RegExp) =>
    [...counts.statuses].reduce(
      (total, [status, number]) => total + (wanted.test(status) ? number : 0),
      0,
    );
  const accepted = sum(/^2/) / counts.done;
  const limited = sum(/^429$/) / counts.done;
  const record = (name: string, isFine: boolean, why: string) =>
    tally.record({ name, why: isFine ? undefined : why });
  record('the process survives', isAlive(arena), 'it has ended');
  record(
    'requests pass authentication',
    accepted >= ACCEPTED_SHARE_MIN,
    `only ${percent(accepted)} were accepted`,
  );
  record(
    'rate limits do not interfere',
    limited <= LIMITED_SHARE_MAX,
    `${percent(limited)} were answered 429`,
  );
  const log = target.program.log();
  const secrets = {
    texts: [],
    paths: [],
    secrets: [...target.secrets, ...Object.values(attacker.secrets), ...forbidden.secrets],
  };
  const leak = secrets.secrets.find((secret) => log.includes(secret));
  record(
    'the log contains no secret',
    leak === undefined,
    `${forbiddenIn(leak ?? '', '', secrets)}`,
  );
  const { why, figure } = memoryVerdict(counts.readings, counts.done);
  tally.record({ name: 'memory is flat in the second half', why });
  tally.figure(figure);
  tally.figure(
    `the log grew by ${(log.length / 1e6).toFixed(1)} MB, with ${log.split('"level":"error"').length - 1} lines of level error`,
  );
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function lineOf({ done, beganMs, statuses, readings }: Progress): string {
  const seconds = (performance.now() - beganMs) / 1000;
  const list = [...statuses]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, number]) => `${status}: ${number}`);
  const bytes = readings.at(-1)?.bytes ?? 0;
  return `${done} requests, ${Math.round(done / seconds)} a second, ${Math.round(bytes / 2 ** 20)} MiB; ${list.join(', ')}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
