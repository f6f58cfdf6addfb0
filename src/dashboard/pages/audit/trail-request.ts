/**
 * The audit trail in the address: its filters as a request, and the key of a step. Pure. The range
 * moves with the service's clock until both ends are fixed.
 */
import { idOf } from '../../data/names.ts';
import type { RequestOf, ResponseOf } from '../../data/rpc-types.ts';
import type { Transition } from '../../statechart/recorded-steps.ts';

type Request = RequestOf<'AuditService', 'listTransitions'>;

/** Query parameters that narrow the list. */
export const TRAIL_FILTERS = [
  'range',
  'from',
  'to',
  'by',
  'machine',
  'event',
  'instance',
  'request',
] as const;

/** Available ranges, seconds, by their name in the address; any other value means from and to. */
export const trailRanges: Readonly<Record<string, number>> = {
  '1h': 3_600,
  '24h': 86_400,
  '7d': 604_800,
  '30d': 2_592_000,
};

/**
 * Identifies the filters, so that a list restarts when one of them changes but not as time passes.
 */
export function trailKey(projectName: string, query: URLSearchParams): string {
  return JSON.stringify([projectName, ...TRAIL_FILTERS.map((name) => query.get(name))]);
}

/** Newest first. @param nowMs the service's current time, to which a named range is relative */
export function trailRequest(projectName: string, query: URLSearchParams, nowMs: number): Request {
  const { startMs, endMs } = rangeOf(query, nowMs);
  const text = (name: string): string => query.get(name)?.trim() ?? '';
  return {
    projectName,
    machine: text('machine'),
    instanceName: text('instance'),
    by: text('by'),
    requestId: text('request'),
    events: text('event') === '' ? [] : [text('event')],
    ...(startMs !== undefined && { startTimeUnixMs: String(startMs) }),
    ...(endMs !== undefined && { endTimeUnixMs: String(endMs) }),
  };
}

interface Range {
  readonly startMs: number | undefined;
  /** Inclusive: the whole of its last second. */
  readonly endMs: number | undefined;
}

function rangeOf(query: URLSearchParams, nowMs: number): Range {
  const seconds = trailRanges[query.get('range') ?? ''];
  if (seconds !== undefined) return { startMs: nowMs - seconds * 1_000, endMs: undefined };
  const [from, to] = [secondsOf(query, 'from'), secondsOf(query, 'to')];
  return { startMs: from && from * 1_000, endMs: to && to * 1_000 + 999 };
}

/** Unix seconds of a parameter; undefined if it is absent or invalid. */
export function secondsOf(query: URLSearchParams, name: 'from' | 'to'): number | undefined {
  const text = query.get(name) ?? '';
  return /^[1-9]\d{0,10}$/.test(text) ? Number(text) : undefined;
}

/**
 * Identifies a step within its commit: an instance may take the same step twice, observed at two
 * times.
 */
export function stepKey(step: Transition): string {
  const { atUnixMs, sequence, machine, instance, event, observedUnixMs } = step;
  return [atUnixMs, sequence, machine, instance, event, observedUnixMs].join(' ');
}

/** Parses the key of a step; undefined if it is invalid. */
export function parseStepKey(
  key: string,
): { readonly atUnixMs: string; readonly machine: string; readonly event: string } | undefined {
  const [, atUnixMs, machine, event] = /^(\d+) \d+ (\S+) \S* (\S+) \S*$/.exec(key) ?? [];
  if (atUnixMs === undefined || machine === undefined || event === undefined) return undefined;
  return { atUnixMs, machine, event };
}

/**
 * The name of a member; for other actors the resource name within the project, or the part of the
 * service.
 */
export function whoOf({ by, byDisplayName, byUnprovenEmail }: Transition): string {
  return byDisplayName || byUnprovenEmail || by.replace(/^projects\/[^/]+\//, '');
}

export interface Option {
  readonly value: string;
  readonly title: string;
}

type Member = ResponseOf<'ProjectService', 'listMembers'>['members'][number];
type Credential = ResponseOf<'AutomationService', 'listCredentials'>['credentials'][number];

/** Actors seen, and others who may have acted: members, keys and CI connections by their owners. */
export function actorOptions(
  seen: readonly Transition[],
  known:
    | { readonly members: readonly Member[]; readonly credentials: readonly Credential[] }
    | undefined,
): readonly Option[] {
  const acted = seen.map((step) => ({ value: step.by, title: whoOf(step) }));
  const members = (known?.members ?? []).map(({ name, displayName, email, unprovenEmail }) => ({
    value: name,
    title: displayName || email || unprovenEmail || idOf(name),
  }));
  const credentials = (known?.credentials ?? []).map((one) => ({
    value: one.name,
    title: `${one.ownerDisplayName || idOf(one.ownerName)}: ${one.displayName}`,
  }));
  return [...acted, ...members, ...credentials];
}

/** States that a step left and entered; unchanged ones are in neither list. */
export function changedStates({ fromStates, toStates }: Transition): {
  readonly left: readonly string[];
  readonly entered: readonly string[];
} {
  return {
    left: fromStates.filter((id) => !toStates.includes(id)),
    entered: toStates.filter((id) => !fromStates.includes(id)),
  };
}

/** `alertInstance.firing.data.observed` becomes `data observed` next to the machine's name. */
export function stateName(id: string): string {
  return id.split('.').slice(1).slice(-2).join(' ');
}

export interface DisplayedField {
  /** Dot-separated path: `input.displayName`. */
  readonly name: string;
  readonly text: string;
  /** Unix ms, if the field is a time. */
  readonly ms?: number;
}

/** Unix ms of the years 2001 to 2286: other numbers in fields are counts and readings. */
const MS_MIN = 1_000_000_000_000;
const MS_MAX = 10_000_000_000_000;
const TIME_NAME = /(^|\.)at$|(Ms|At)$/;

/** The fields of a step, one per line; its type is its event. */
export function fieldsOf(fields: Transition['fields']): DisplayedField[] {
  return flat(fields ?? {}, '').filter(({ name }) => name !== 'type');
}

function flat(value: unknown, name: string): DisplayedField[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([key, inner]) =>
      flat(inner, name === '' ? key : `${name}.${key}`),
    );
  }
  const isTime =
    typeof value === 'number' && TIME_NAME.test(name) && value >= MS_MIN && value < MS_MAX;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return [{ name, text, ...(isTime && { ms: value }) }];
}
