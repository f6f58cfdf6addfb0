/**
 * The incident list as data: its requests, and the effect of a change. Pure. The worst come first
 * because the service is queried for one severity after another, each newest first. The service
 * alone decides which incidents match.
 */
import type { Listing, Page } from '../../../data/listing.ts';
import type { RequestOf } from '../../../data/rpc-types.ts';
import type { Incident } from '../../../data/watch.ts';

export type IncidentsRequest = RequestOf<'AlertService', 'listIncidents'>;

/** Names in the page's query. */
export const filterNames = ['state', 'rule', 'vm', 'datacenter', 'severity', 'attention'] as const;

export const severities = ['CRITICAL', 'WARNING', 'INFO'] as const;
type Severity = (typeof severities)[number];

/** Page size of a request. */
export const PAGE_SIZE = 200;

/**
 * The request for the page's query, without page token and size. Unknown values match everything.
 */
export function requestOf(projectName: string, query: URLSearchParams): IncidentsRequest {
  const rule = query.get('rule');
  const vm = query.get('vm');
  const datacenter = query.get('datacenter');
  const severity = severities.find((one) => one === query.get('severity'));
  return {
    projectName,
    ...(query.get('state') !== 'all' && { state: 'FIRING' }),
    ...(rule !== null && { ruleName: `${projectName}/alertRules/${rule}` }),
    ...(vm !== null && { vmName: `${projectName}/vms/${vm}` }),
    ...(datacenter !== null && { datacenter }),
    ...(severity !== undefined && { severities: [severity] }),
    ...(query.get('attention') === 'true' && { attention: true }),
  };
}

/**
 * Severities whose lists are concatenated; `undefined` stands for one list of all, newest first,
 * because ended incidents are looked up by time.
 */
function stagesOf(request: IncidentsRequest): readonly (Severity | undefined)[] {
  const isSorted = request.state === 'FIRING' && request.severities === undefined;
  return isSorted ? severities : [undefined];
}

type LoadIncidents = (
  request: IncidentsRequest,
) => Promise<{ readonly incidents: readonly Incident[]; readonly nextPageToken: string }>;

/**
 * Reads one page. The token of the result names the severity to continue with and the service's
 * token within it; `''` is both the start and the end.
 */
export async function loadWorstFirst(
  request: IncidentsRequest,
  token: string,
  load: LoadIncidents,
): Promise<Page<Incident>> {
  const stages = stagesOf(request);
  const cut = token.indexOf(':');
  const stage = token === '' ? 0 : Number(token.slice(0, cut));
  const severity = stages[stage];
  const answer = await load({
    ...request,
    ...(severity !== undefined && { severities: [severity] }),
    pageSize: PAGE_SIZE,
    pageToken: token === '' ? '' : token.slice(cut + 1),
  });
  const hasMore = answer.nextPageToken !== '';
  const next = hasMore ? stage : stage + 1;
  const isLast = !hasMore && next >= stages.length;
  return {
    items: answer.incidents,
    nextPageToken: isLast ? '' : `${next}:${answer.nextPageToken}`,
  };
}

/** Replaces changed incidents in place: no row moves or disappears by itself. */
export function withChanges(
  listing: Listing<Incident>,
  changed: readonly Incident[],
): Listing<Incident> {
  const byName = new Map(changed.map((incident) => [incident.name, incident]));
  if (!listing.items.some(({ name }) => byName.has(name))) return listing;
  return { ...listing, items: listing.items.map((row) => byName.get(row.name) ?? row) };
}

/** Maximum clock difference between parts of the service, ms. */
const MARGIN_MS = 5_000;

/**
 * Changed incidents that may belong in a list but are missing from it: for a complete list, all
 * missing ones; for a partial list, those that fired since it was loaded.
 */
export function newNames(
  listing: Listing<Incident>,
  loadedMs: number,
  changed: readonly Incident[],
): string[] {
  const known = new Set(listing.items.map(({ name }) => name));
  const isWhole = listing.nextPageToken === '';
  const isNew = ({ name, firedUnix }: Incident): boolean =>
    !known.has(name) && (isWhole || Number(firedUnix) * 1_000 >= loadedMs - MARGIN_MS);
  return changed.filter(isNew).map(({ name }) => name);
}
