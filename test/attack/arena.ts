/**
 * The setting of an attack: the program, attackers and victims, and functions to make and judge
 * tries.
 */
import type { Dice } from '../simulation/dice.ts';
import { type Forbidden, problemOf, sentText } from './judge.ts';
import type { Tally } from './tally.ts';
import type { Target } from './target.ts';
import type { Tenant } from './tenants.ts';
import type { Header, SendOptions, WireAnswer, WireRequest } from './wire.ts';

export interface Arena {
  readonly target: Target;
  readonly attacker: Tenant;
  readonly victim: Tenant;
  readonly dice: Dice;
  readonly tally: Tally;
  readonly forbidden: Forbidden;
  /** True if the time of this class is over. */
  readonly isOver: () => boolean;
}

/** Contents that answers to the attacker must not have. */
export function forbiddenTo(target: Target, others: readonly Tenant[]): Forbidden {
  return {
    secrets: target.secrets,
    texts: others.flatMap(({ texts }) => texts),
    paths: [target.folder],
  };
}

/** Runs `job` over the items in order, `width` at a time. */
export async function inParallel<T>(
  items: Iterable<T>,
  width: number,
  job: (item: T, number: number) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let number = 0;
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) {
      await job(next.value, number++);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

const SOURCES = 200;

/** Addresses of an attacker with many machines, so that limits by address do not interfere. */
export function sourceOf(number: number): string {
  return `127.0.1.${1 + (number % SOURCES)}`;
}

/** The first line, the headers that every client sends, and the given ones. */
export function rpcRequest(
  { target }: Pick<Arena, 'target'>,
  path: string,
  body: unknown,
  headers: readonly Header[],
): WireRequest {
  const { host } = new URL(target.origin);
  return {
    method: 'POST',
    path,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: [['host', host], ['content-type', 'application/json'], ...headers],
  };
}

export function getRequest(
  { target }: Pick<Arena, 'target'>,
  path: string,
  headers: readonly Header[],
  method = 'GET',
): WireRequest {
  return { method, path, headers: [['host', new URL(target.origin).host], ...headers] };
}

/** Longest wait that a rate limit may ask for before its answer counts as the try's, ms. */
const LIMIT_WAIT_MS_MAX = 2_000;

/** Sends; after a rate limit's answer, sends once more if the requested wait is short. */
export async function sendPatiently(
  { target }: Pick<Arena, 'target'>,
  request: WireRequest,
  options: SendOptions = {},
): Promise<WireAnswer> {
  const answer = await target.wire.send(request, options);
  if (answer.status !== 429) return answer;
  const waitMs = Number(answer.headers.get('retry-after') ?? 1) * 1000;
  if (!(waitMs <= LIMIT_WAIT_MS_MAX)) return answer;
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  return target.wire.send(request, options);
}

/**
 * Sends and judges one try: first what every answer must be, then `judge` for this one. Resolves
 * with the answer.
 */
export async function attempt(
  arena: Arena,
  name: string,
  request: WireRequest,
  judge: (answer: WireAnswer) => string | undefined,
  options: SendOptions = {},
): Promise<WireAnswer> {
  const answer = await sendPatiently(arena, request, options);
  const sent = sentText(request);
  const isLimited = answer.status === 429;
  const why = problemOf(answer, sent, arena.forbidden) ?? (isLimited ? undefined : judge(answer));
  arena.tally.record({ name, why, isLimited, request: sent, answer: displayed(answer) });
  return answer;
}

export function displayed({ status, text, failure }: WireAnswer): string {
  return `${failure ?? status} ${text}`;
}
