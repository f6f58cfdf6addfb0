/**
 * Use of a project's daily limits by a change: bytes of commits, and things made and deleted. Only
 * changes by callers count: evaluation, deliveries, timers and operators never use up a project's
 * limits.
 */
import type { Actor, Decision, InstanceStep } from './commit.ts';

/** Use by one change, or by all changes of a project on one day. */
export interface ChangeUse {
  /** Bytes of the decisions in their commits. */
  readonly bytes: number;
  /** Things made and things deleted. */
  readonly things: number;
}

export const NO_USE: ChangeUse = { bytes: 0, things: 0 };

const DAY_MS = 24 * 3_600_000;

/** Kinds of actors that call the API. A collector's writes have limits of their own. */
const CALLERS: ReadonlySet<Actor['kind']> = new Set(['key', 'human', 'ci']);

/** Machines whose instances callers make and delete. */
const THINGS: ReadonlySet<string> = new Set([
  'alertRule',
  'maintenanceWindow',
  'destination',
  'recipient',
  'credential',
  'serviceAccount',
  'ciVerification',
  'ciConnection',
  'membership',
  'invitation',
  'enrolment',
]);

/** The day of a moment in UTC, counted from 1970-01-01. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

/** Start of the next day after `atMs`, Unix ms. */
export function nextDayMs(atMs: number): number {
  return (dayOf(atMs) + 1) * DAY_MS;
}

/**
 * True if a caller caused the decision. Only mutations of the API have a request id: exchanges of
 * CI tokens, sign-ins, and follow-up work of the service after a change have none.
 */
export function isByCaller(decided: { readonly by: Actor; readonly request?: object }): boolean {
  return decided.request !== undefined && CALLERS.has(decided.by.kind);
}

/** Use by a caller's decision of `bytes`. */
export function useOf({ steps }: Pick<Decision, 'steps'>, bytes: number): ChangeUse {
  return { bytes, things: steps.filter(isMadeOrDeleted).length };
}

function isMadeOrDeleted({ machine, from, final, event }: InstanceStep): boolean {
  return THINGS.has(machine) && (from === null || final || event.type === 'deleted');
}

/** Sum of both. */
export function sumOfUse(one: ChangeUse, other: ChangeUse): ChangeUse {
  return { bytes: one.bytes + other.bytes, things: one.things + other.things };
}
