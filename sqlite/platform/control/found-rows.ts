/**
 * Incidents and deliveries by index, newest first. Each alternative of a filter is a run of one
 * index, already in order: a page is the newest keys of all runs, and only its rows are read.
 * Conditions that the index does not cover are checked in the rows, so a page may have fewer than
 * requested.
 */
import {
  comparePageKeys,
  type PageKey,
  pageOf,
  parsePageToken,
} from '../../../streams/platform/commit/page.ts';
import type {
  DeliveryFilter,
  IncidentCount,
  IncidentFilter,
  ListOptions,
  Page,
  StateCounts,
  StoredInstance,
  StoredRecord,
} from '../../../streams/platform/commit/projection.ts';
import type { SqliteDatabase } from '../database.ts';

// Beyond every time, and beyond every Unicode text: the start of a descending list.
const TIME_END = Number.MAX_SAFE_INTEGER;
const TEXT_END = '\u{10FFFF}';

type PageStart = Pick<ListOptions, 'limit' | 'after'>;

/** The two lists, on prepared statements of one connection. */
export type FoundRows = ReturnType<typeof foundRows>;

/** Conversion of SQLite's rows to values. */
interface Readers<I, R> {
  readonly toInstance: (row: I) => StoredInstance;
  readonly toRecord: (row: R) => StoredRecord;
}

/** Reads over `database`, which must have the schema; statements are prepared once. */
export function foundRows<I, R>(database: SqliteDatabase, { toInstance, toRecord }: Readers<I, R>) {
  const statements = prepareReads(database);
  return {
    incidents(project: string, filter: IncidentFilter, page: PageStart): Page<StoredRecord> {
      const runs = existing(statements.existing, project, incidentRuns(filter));
      const queries = runs.map(({ index, values }) => ({
        statement: statements.incidents[index],
        values: [
          project,
          ...values,
          filter.sortFrom ?? '',
          filter.sortBefore ?? TEXT_END,
          filter.rule ?? null,
          filter.place ?? null,
        ],
      }));
      const start = startOf(page, ['string', 'string'], [TEXT_END, TEXT_END]);
      const found = newestKeys(queries, start, page.limit);
      const rows = found.items.map(([, id]) => statements.record.get(project, String(id)));
      const items = rows.map((row) => toRecord(row as R));
      return { ...found, items: items.filter((item) => isMeantIncident(item, filter)) };
    },
    countIncidents: (project: string): IncidentCount[] =>
      statements.countIncidents.all(project) as IncidentCount[],
    deliveries(project: string, filter: DeliveryFilter, page: PageStart): Page<StoredInstance> {
      const { sinceMs = 0, untilMs = TIME_END } = filter;
      const runs = existing(statements.existing, project, deliveryRuns(filter));
      const queries = runs.map(({ index, values }) => ({
        statement: statements.deliveries[index],
        values: [project, ...(index === 'group' ? [project] : []), ...values, sinceMs, untilMs],
      }));
      const start = startOf(page, ['number', 'string'], [TIME_END, TEXT_END]);
      const found = newestKeys(queries, start, page.limit);
      const rows = found.items.map(([, id]) => statements.delivery.get(String(id), project));
      const items = rows.map((row) => toInstance(row as I));
      return { ...found, items: items.filter((item) => isMeantDelivery(item, filter)) };
    },
    countByState(
      project: string,
      machine: string,
      of: 'live' | { readonly endedSinceMs: number },
    ): StateCounts {
      const rows =
        of === 'live'
          ? statements.countLive.all(project, machine)
          : statements.countEnded.all(project, machine, of.endedSinceMs);
      const counts = rows as { readonly state: string; readonly count: number }[];
      return new Map(counts.map(({ state, count }) => [state, count]));
    },
  };
}

interface Run {
  readonly statement: { all(...values: (string | number | null)[]): unknown[] };
  readonly values: readonly (string | number | null)[];
}

/** A page of the newest keys of all runs. No key is in two of them. */
function newestKeys(runs: readonly Run[], start: PageKey, limit: number): Page<PageKey> {
  const keys = runs.flatMap(
    ({ statement, values }) =>
      statement.all(...values, ...start, limit + 1) as { key: string | number; id: string }[],
  );
  const sorted = keys.map(({ key, id }) => [key, id]).sort((a, b) => comparePageKeys(b, a));
  return pageOf<PageKey>(sorted, limit, (key) => key);
}

function startOf(
  { limit, after }: PageStart,
  shape: readonly ('string' | 'number')[],
  last: PageKey,
): PageKey {
  if (!Number.isInteger(limit) || limit < 1) {
    throw new RangeError(`A page of ${limit} items cannot be read: request 1 or more`);
  }
  return after === undefined ? last : parsePageToken(after, shape);
}

/** A run of an index: one value, or a value and a state. */
interface Lookup<I extends string> {
  readonly index: I;
  readonly values: readonly string[];
}

/** By index: which of these values and states, as JSON, has a row in the project. */
type ExistingRuns = Readonly<Record<string, Pick<Run['statement'], 'all'>>>;

/** The runs that have rows, found by one query: most combinations of a filter have none. */
function existing<I extends string>(
  statements: ExistingRuns,
  project: string,
  runs: readonly Lookup<I>[],
): readonly Lookup<I>[] {
  const statement = statements[runs[0]?.index ?? ''];
  if (statement === undefined || runs.length === 1) return runs;
  const pairs = JSON.stringify(runs.map(({ values }) => values));
  const found = statement.all(pairs, project) as { readonly at: number }[];
  return found.flatMap(({ at }) => runs[at] ?? []);
}

/** Each VM, or otherwise each severity, with each status. */
function incidentRuns({ statuses, severities, vms }: IncidentFilter): Lookup<'vm' | 'severity'>[] {
  const index = vms ? 'vm' : 'severity';
  return [...new Set(vms ?? severities)].flatMap((value) =>
    [...new Set(statuses)].map((status) => ({ index, values: [value, status] }) as const),
  );
}

/** Rule and place are compared when the keys are read; the index of VMs has no severity. */
function isMeantIncident({ body }: StoredRecord, { severities }: IncidentFilter): boolean {
  return severities.includes(String(body.severity));
}

function deliveryRuns({
  states,
  events,
  incident,
  destination,
}: DeliveryFilter): Lookup<'incident' | 'group' | 'destination' | 'event'>[] {
  if (incident !== undefined) {
    const values = [incident];
    return [
      { index: 'incident', values },
      { index: 'group', values },
    ];
  }
  const index = destination === undefined ? 'event' : 'destination';
  const values = destination === undefined ? events : [destination];
  return [...new Set(values)].flatMap((value) =>
    [...new Set(states)].map((state) => ({ index, values: [value, state] }) as const),
  );
}

function isMeantDelivery({ value, context }: StoredInstance, filter: DeliveryFilter): boolean {
  const { states, events, destination } = filter;
  return (
    states.includes(String(value)) &&
    events.includes(String(context.event)) &&
    (destination === undefined || context.destination === destination)
  );
}

/** Ids of the groups that have or had a notification of an incident: `<delivery>/<place>`. */
export const groupsOfIncident = `SELECT substr(id, 1, instr(id, '/') - 1) FROM records
  INDEXED BY records_in_order WHERE project = ? AND kind = 'groupMember' AND sort = ?`;

function prepareReads(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare<(string | number | null)[]>(sql);
  const incidents = (field: string) =>
    prepare(`SELECT sort AS key, id FROM records INDEXED BY records_of_${field}
      WHERE project = ? AND ${field} = ? AND status = ? AND sort >= ? AND sort < ?
      AND rule IS coalesce(?, rule) AND place IS coalesce(?, place)
      AND (sort, id) < (?, ?) ORDER BY sort DESC, id DESC LIMIT ?`);
  const deliveries = (field: string, more: string) =>
    prepare(`SELECT created AS key, instance AS id FROM instances INDEXED BY instances_of_${field}
      WHERE project = ? AND machine = 'delivery' AND ${field} = ? ${more}
      AND created >= ? AND created <= ? AND (created, instance) < (?, ?)
      ORDER BY created DESC, instance DESC LIMIT ?`);
  const existingRuns = (table: string, field: string, state: string) =>
    prepare(`SELECT key AS at FROM json_each(?) AS run WHERE EXISTS (
      SELECT 1 FROM ${table} INDEXED BY ${table}_of_${field} WHERE project = ?
      AND ${field} = run.value ->> 0 AND ${state} = run.value ->> 1)`);
  return {
    existing: {
      vm: existingRuns('records', 'vm', 'status'),
      severity: existingRuns('records', 'severity', 'status'),
      destination: existingRuns('instances', 'destination', "machine = 'delivery' AND state"),
      event: existingRuns('instances', 'event', "machine = 'delivery' AND state"),
    },
    incidents: {
      vm: incidents('vm'),
      severity: incidents('severity'),
    },
    record: prepare("SELECT * FROM records WHERE project = ? AND kind = 'incident' AND id = ?"),
    countIncidents: prepare(`SELECT status, severity, count(*) AS count FROM records
      INDEXED BY records_of_severity WHERE project = ? AND severity IN ('INFO', 'WARNING', 'CRITICAL')
      AND status IN ('FIRING', 'ACKNOWLEDGED', 'SNOOZED', 'ACKNOWLEDGED_SNOOZED')
      GROUP BY severity, status`),
    deliveries: {
      incident: deliveries('incident', ''),
      group:
        prepare(`SELECT created AS key, instance AS id FROM instances INDEXED BY instances_by_id
        WHERE project = ? AND machine = 'delivery' AND instance IN (${groupsOfIncident})
        AND created >= ? AND created <= ? AND (created, instance) < (?, ?)
        ORDER BY created DESC, instance DESC LIMIT ?`),
      destination: deliveries('destination', 'AND state = ?'),
      event: deliveries('event', 'AND state = ?'),
    },
    delivery: prepare(
      "SELECT * FROM instances WHERE instance = ? AND machine = 'delivery' AND project = ?",
    ),
    countLive: prepare(`SELECT state, count(*) AS count FROM instances
      WHERE project = ? AND machine = ? AND final = 0 GROUP BY state`),
    countEnded: prepare(`SELECT state, count(*) AS count FROM instances INDEXED BY instances_ended
      WHERE project = ? AND machine = ? AND final = 1 AND updated >= ? GROUP BY state`),
  };
}
