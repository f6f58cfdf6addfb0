/**
 * Reads of the projection: rows to values, and pages whose tokens name the last row returned, so
 * that a page stays correct while rows are added and removed. All synchronous, on prepared
 * statements.
 */

import { GENESIS, type Head } from '../../../streams/platform/commit/chain.ts';
import { type ChangeUse, dayOf, NO_USE } from '../../../streams/platform/commit/change-use.ts';
import type { ChainStart } from '../../../streams/platform/commit/commit.ts';
import {
  comparePageKeys,
  type PageKey,
  pageOf,
  parsePageToken,
} from '../../../streams/platform/commit/page.ts';
import type {
  DueTimer,
  InstanceCount,
  InstanceFilter,
  ListOptions,
  Page,
  RecordedRequest,
  RecordedTransition,
  StoredInstance,
  StoredReads,
  TransitionFilter,
} from '../../../streams/platform/commit/projection.ts';
import type { SqliteDatabase } from '../database.ts';
import { type FoundRows, foundRows, groupsOfIncident } from './found-rows.ts';
import { TRANSITION_PLACES } from './instances-schema.ts';
import {
  type InstanceRow,
  isSound,
  type PositionRow,
  type RecordRow,
  type RequestRow,
  soundRows,
  type TimerTableRow,
  type TransitionRow,
  toTimer,
} from './stored-rows.ts';

/** Position of the projection in EVENTS. */
export interface Position {
  /** '' before the first start. */
  readonly streamIdentity: string;
  /** Sequence of the last judged message; 0 before the first. */
  readonly applied: number;
  /** Hash of that message's commit. */
  readonly appliedHash: string;
  /** true: sequences were missing up to here, removed by retention or lost. */
  readonly gapped: boolean;
}

/** An ended instance, with the time. */
export interface EndedInstance {
  readonly instance: string;
  /** Time of its end, Unix ms. */
  readonly endedMs: number;
}

/** Instances that ended before `beforeMs`, Unix ms: at most `limit`, starting after `after`. */
export interface EndedPage {
  readonly beforeMs: number;
  readonly limit: number;
  readonly after?: EndedInstance | undefined;
}

/** A commit in the view of retention. */
export interface OldCommit extends ChainStart {
  /** Number of its transitions. */
  readonly transitions: number;
}

/** Reads over `database`, which must have the schema; statements are prepared once. */
export function instanceReads(database: SqliteDatabase) {
  const statements = prepareReads(database);
  const sound = soundRows(database.name);
  const found = foundRows(database, { toInstance: sound.instance, toRecord: sound.record });
  const headOf = (project: string) => {
    const row = statements.head.get(project) as HeadRow | undefined;
    return row && sound.row('heads', project, row);
  };
  return {
    position(): Position {
      const row = sound.row('position', '1', statements.position.get() as PositionRow);
      return {
        streamIdentity: row.stream_identity,
        applied: row.applied,
        appliedHash: row.applied_hash,
        gapped: row.gapped === 1,
      };
    },
    head(project: string): Head {
      const { number, hash, at } = headOf(project) ?? GENESIS;
      return { number, hash, at };
    },
    lastSequence: (project: string): number => headOf(project)?.sequence ?? 0,
    commit: (project: string, number: number) =>
      statements.commit.get(project, number) as
        | { readonly id: string; readonly hash: string; readonly sequence: number }
        | undefined,
    request(project: string, scope: string, id: string): RecordedRequest | undefined {
      const row = statements.request.get(project, scope, id) as RequestRow | undefined;
      if (row === undefined) return undefined;
      const { fingerprint, answer, at, sequence } = sound.row('requests', `${project} ${id}`, row);
      return { fingerprint, answer: JSON.parse(answer), atMs: at, sequence };
    },
    changeUse: (project: string, atMs: number): ChangeUse =>
      (statements.changeUse.get(project, dayOf(atMs)) as ChangeUse | undefined) ?? NO_USE,
    endedBefore(project: string, machine: string, page: EndedPage): EndedInstance[] {
      const { beforeMs, limit, after = { endedMs: 0, instance: '' } } = page;
      const place = [after.endedMs, after.instance];
      const rows = statements.ended.all(project, machine, beforeMs, ...place, limit);
      return rows as EndedInstance[];
    },
    oldestCommits: (project: string, limit: number): OldCommit[] =>
      statements.oldestCommits.all(project, limit) as OldCommit[],
    view: (project: string): StoredReads => createView({ statements, found, sound }, project),
    projects: (): string[] =>
      (statements.projects.all() as { project: string }[]).map((row) => row.project),
    latestCommitMs: (): number => (statements.latest.get() as { at: number | null }).at ?? 0,
    findInstance(machine: string, instance: string): StoredInstance | undefined {
      const row = statements.anyInstance.get(instance, machine) as InstanceRow | undefined;
      return row && sound.instance(row);
    },
    findInstancesOf(machine: string, subject: string): StoredInstance[] {
      const rows = statements.ofSubject.all(subject, machine) as InstanceRow[];
      return rows.map(sound.instance);
    },
    dueTimers(nowMs: number, limit: number, owns = anyProject): DueTimer[] {
      const due: DueTimer[] = [];
      for (const row of statements.timers.iterate(nowMs) as Iterable<TimerTableRow>) {
        if (due.length >= limit) break;
        // A damaged timer does not fire, and does not delay those of other projects.
        if (owns(row.project) && isSound(row)) due.push(toTimer(row));
      }
      return due;
    },
    timersSetAfter: (sinceMs: number) =>
      (statements.timersSetAfter.all(sinceMs) as (TimerTableRow & { updated: number })[]).map(
        (row) => ({ timer: toTimer(row), stepMs: row.updated }),
      ),
    nextTimerDueMs(owns = anyProject): number | undefined {
      const rows = statements.dueTimes.iterate() as Iterable<{ due: number; project: string }>;
      for (const row of rows) if (owns(row.project)) return row.due;
      return undefined;
    },
  };
}

type SoundRows = ReturnType<typeof soundRows>;
type Statements = ReturnType<typeof prepareReads>;

/** Dependencies that the views of all projects share. */
interface Reads {
  readonly statements: Statements;
  readonly found: FoundRows;
  readonly sound: SoundRows;
}

interface HeadRow extends Head {
  readonly project: string;
  readonly sequence: number;
}

function anyProject(_project: string): boolean {
  return true;
}

function createView(reads: Reads, project: string): StoredReads {
  const { statements, found, sound } = reads;
  return {
    project,
    instance(machine, instance) {
      const row = statements.instance.get(instance, machine, project) as InstanceRow | undefined;
      return row && sound.instance(row);
    },
    instances: (machine, options) => listInstances(reads, project, machine, options),
    record(kind, id) {
      const row = statements.record.get(project, kind, id) as RecordRow | undefined;
      return row && sound.record(row);
    },
    records(kind, options) {
      const after = startOf(options, ['string', 'string'], ['', ''], [TEXT_END, TEXT_END]);
      const direction = options.descending ? 'descending' : 'ascending';
      const rows = statements.records[direction].all(project, kind, ...after, options.limit + 1);
      const items = (rows as RecordRow[]).map(sound.record);
      return pageOf(items, options.limit, (item) => [item.sort, item.id]);
    },
    countInstances(machine, of) {
      const row = countRow(statements, [project, machine], of);
      return (row as { count: number }).count;
    },
    countByState: (machine, of) => found.countByState(project, machine, of),
    incidents: (filter, page) => found.incidents(project, filter, page),
    countIncidents: () => found.countIncidents(project),
    deliveries: (filter, page) => found.deliveries(project, filter, page),
    transitions: (options) => listTransitions(reads, project, options),
  };
}

function countRow(statements: Statements, about: readonly string[], of: InstanceCount): unknown {
  if ('destination' in of)
    return statements.countOfDestination.get(...about, of.destination, of.state);
  const final = of.final ? 1 : 0;
  if (of.owner === undefined) return statements.count.get(...about, final);
  return statements.countOwned.get(...about, final, of.owner);
}

function listInstances(
  { statements, sound }: Reads,
  project: string,
  machine: string,
  options: ListOptions & InstanceFilter,
): Page<StoredInstance> {
  const { limit, descending = false, final, owner, incident } = options;
  const after = startOf(options, ['number', 'string'], [-1, ''], [TIME_END, TEXT_END]);
  if (incident !== undefined) {
    const direction = descending ? 'descending' : 'ascending';
    const rows = statements.ofIncident[direction].all(
      project,
      ...[project, incident, project, incident],
      ...after,
      limit + 1,
    );
    return pageOf((rows as InstanceRow[]).map(sound.instance), limit, instanceKey);
  }
  const kind = owner === undefined ? 'instances' : 'owned';
  const statement = statements[kind][descending ? 'descending' : 'ascending'];
  const whose = owner === undefined ? [] : [owner];
  const read = (flag: number) => {
    const rows = statement.all(project, machine, flag, ...whose, ...after, limit + 1);
    return (rows as InstanceRow[]).map(sound.instance);
  };
  if (final !== undefined) return pageOf(read(final ? 1 : 0), limit, instanceKey);
  // Both kinds in one order: the two ordered reads are merged, each bounded by the page.
  const sign = descending ? -1 : 1;
  const both = [...read(0), ...read(1)].sort(
    (a, b) => sign * comparePageKeys(instanceKey(a), instanceKey(b)),
  );
  return pageOf(both, limit, instanceKey);
}

/** Sort key of instances in their list. */
function instanceKey(instance: StoredInstance): PageKey {
  return [instance.createdMs, instance.instance];
}

function listTransitions(
  { statements, sound }: Reads,
  project: string,
  options: ListOptions & TransitionFilter,
): Page<RecordedTransition> {
  const { limit, descending = false, sinceMs, untilMs } = options;
  const after = startOf(options, ['number'], [-1], [TIME_END]);
  const direction = descending ? 'descending' : 'ascending';
  const firstId = sinceMs === undefined ? 0 : Math.min(...idsAt(statements, project, sinceMs));
  const endId =
    untilMs === undefined ? TIME_END : Math.max(...idsAt(statements, project, untilMs + 1));
  const rows = lookUps(options).flatMap(({ filter, values }) => {
    const statement = statements.transitions[filter][direction];
    return statement.all(project, ...values, firstId, endId, ...after, limit + 1);
  }) as TransitionRow[];
  const sign = descending ? -1 : 1;
  const page = pageOf(
    rows.sort((a, b) => sign * (a.id - b.id)),
    limit,
    (row) => [row.id],
  );
  const items = page.items.map(sound.transition).filter((item) => isMeant(item, options));
  return { ...page, items };
}

type TransitionLookUp = keyof Statements['transitions'];

/** Lookups whose items together hold all matches, by the filter that leaves the fewest. */
function lookUps({
  machine,
  instance,
  request,
  events,
  actor,
  actions,
}: TransitionFilter): { readonly filter: TransitionLookUp; readonly values: string[] }[] {
  if (request !== undefined) return [{ filter: 'request', values: [request] }];
  if (instance !== undefined) {
    if (machine === undefined) return [{ filter: 'projectInstance', values: [instance] }];
    return [{ filter: 'machineInstance', values: [machine, instance] }];
  }
  if (events) return [...new Set(events)].map((event) => ({ filter: 'event', values: [event] }));
  if (actor !== undefined) return [{ filter: 'actor', values: [actor] }];
  if (machine !== undefined) return [{ filter: 'machine', values: [machine] }];
  if (actions) {
    const { machines, events: single } = actions;
    return [
      ...machines.map((value) => ({ filter: 'machine' as const, values: [value] })),
      ...single.map((value) => ({ filter: 'event' as const, values: [value] })),
    ];
  }
  return [{ filter: 'project', values: [] }];
}

function isMeant(item: RecordedTransition, options: TransitionFilter): boolean {
  const { machine, instance, request, events, actor, actions, sinceMs, untilMs } = options;
  return (
    // Where the clock was set back, the ids of a range include other times.
    item.atMs >= (sinceMs ?? item.atMs) &&
    item.atMs <= (untilMs ?? item.atMs) &&
    (actions === undefined || actions.kinds.includes(item.by.kind)) &&
    (machine === undefined || item.machine === machine) &&
    (instance === undefined || item.instance === instance) &&
    (request === undefined || item.requestId === request) &&
    (events === undefined || events.includes(String(item.event.type))) &&
    (actor === undefined || item.by.name === actor)
  );
}

/**
 * First id of transitions committed at `ms` or later, in each stretch of a project's commits whose
 * times do not decrease: usually one, and one more after each time that the clock was set back.
 */
function idsAt(statements: Statements, project: string, ms: number): number[] {
  const { numbers, setBacks } = statements;
  const range = numbers.get(project) as { readonly first: number | null; readonly last: number };
  if (range.first === null) return [TIME_END];
  const steps = (setBacks.all(project, range.first) as { number: number }[]).map(
    ({ number }) => number,
  );
  const starts = [range.first, ...steps];
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? range.last + 1;
    return firstIdAt(statements, { project, start, end }, ms);
  });
}

/** The same within one stretch, by binary search; the id after its last commit if no commit is later. */
function firstIdAt(
  { commitAt }: Statements,
  stretch: { readonly project: string; readonly start: number; readonly end: number },
  ms: number,
): number {
  const { project } = stretch;
  let { start: from, end: to } = stretch;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const { at } = commitAt.get(project, middle) as { readonly at: number };
    if (at < ms) from = middle + 1;
    else to = middle;
  }
  const found = commitAt.get(project, from) as { readonly sequence: number } | undefined;
  return found ? found.sequence * TRANSITION_PLACES : TIME_END;
}

// Beyond every time, and beyond every Unicode text: the start of a descending list.
const TIME_END = Number.MAX_SAFE_INTEGER;
const TEXT_END = '\u{10FFFF}';

function startOf(
  options: ListOptions,
  shape: readonly ('string' | 'number')[],
  first: PageKey,
  last: PageKey,
): PageKey {
  if (!Number.isInteger(options.limit) || options.limit < 1) {
    throw new RangeError(`A page of ${options.limit} items cannot be read: request 1 or more`);
  }
  if (options.after !== undefined) return parsePageToken(options.after, shape);
  return options.descending ? last : first;
}

/** Deliveries about an incident alone, and those of the groups that include it. */
const deliveriesOfIncident = `SELECT * FROM instances INDEXED BY instances_by_id
  WHERE machine = 'delivery' AND project = ?
    AND instance IN (SELECT instance FROM instances INDEXED BY instances_of_incident
      WHERE project = ? AND machine = 'delivery' AND incident = ?
      UNION ${groupsOfIncident})`;

function prepareReads(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare<(string | number)[]>(sql);
  const ordered = (sql: string, key: readonly string[]) => {
    const marks = key.map(() => '?').join(', ');
    const read = (sign: string, order: string) =>
      prepare(`${sql} AND (${key.join(', ')}) ${sign} (${marks})
        ORDER BY ${key.map((column) => `${column} ${order}`).join(', ')} LIMIT ?`);
    return { ascending: read('>', 'ASC'), descending: read('<', 'DESC') };
  };
  // The index is named, because the planner overestimates an id between two others.
  const transitions = (index: string, filter: string) =>
    ordered(
      `SELECT * FROM transitions INDEXED BY transitions_of_${index}
        WHERE project = ?${filter} AND id >= ? AND id < ?`,
      ['id'],
    );
  const byAge = (where: string) =>
    ordered(`SELECT * FROM instances WHERE project = ? AND machine = ? AND ${where}`, [
      'created',
      'instance',
    ]);
  const count = (where: string) =>
    prepare(`SELECT count(*) AS count FROM instances
      WHERE project = ? AND machine = ? AND ${where}`);
  return {
    position: prepare('SELECT * FROM position'),
    head: prepare('SELECT * FROM heads WHERE project = ?'),
    projects: prepare('SELECT project FROM heads WHERE number > 0 ORDER BY project'),
    latest: prepare('SELECT max(at) AS at FROM heads'),
    commit: prepare('SELECT id, hash, sequence FROM commits WHERE project = ? AND number = ?'),
    numbers: prepare(
      'SELECT min(number) AS first, max(number) AS last FROM commits WHERE project = ?',
    ),
    setBacks: prepare(
      'SELECT number FROM set_backs WHERE project = ? AND number > ? ORDER BY number',
    ),
    commitAt: prepare(`SELECT sequence, header ->> 'at' AS at FROM commits
      WHERE project = ? AND number >= ? ORDER BY number LIMIT 1`),
    request: prepare('SELECT * FROM requests WHERE project = ? AND scope = ? AND id = ?'),
    changeUse: prepare('SELECT bytes, things FROM change_use WHERE project = ? AND day = ?'),
    instance: prepare('SELECT * FROM instances WHERE instance = ? AND machine = ? AND project = ?'),
    anyInstance: prepare('SELECT * FROM instances WHERE instance = ? AND machine = ? LIMIT 1'),
    instances: byAge('final = ?'),
    owned: byAge('final = ? AND owner = ?'),
    ofIncident: ordered(deliveriesOfIncident, ['created', 'instance']),
    count: count('final = ?'),
    countOwned: count('final = ? AND owner = ?'),
    countOfDestination: count('destination = ? AND state = ?'),
    ofSubject: prepare(`SELECT * FROM instances
      WHERE subject = ? AND machine = ? AND final = 0 ORDER BY project, instance`),
    ended: prepare(`SELECT instance, updated AS endedMs FROM instances
      WHERE project = ? AND machine = ? AND final = 1 AND updated < ? AND (updated, instance) > (?, ?)
      ORDER BY updated, instance LIMIT ?`),
    oldestCommits: prepare(`SELECT number, hash, header ->> 'at' AS at, sequence,
      (SELECT count(*) FROM transitions t WHERE t.id >= c.sequence * ${TRANSITION_PLACES}
        AND t.id < (c.sequence + 1) * ${TRANSITION_PLACES}) AS transitions
      FROM commits c WHERE project = ? ORDER BY number LIMIT ?`),
    record: prepare('SELECT * FROM records WHERE project = ? AND kind = ? AND id = ?'),
    records: ordered('SELECT * FROM records WHERE project = ? AND kind = ?', ['sort', 'id']),
    timers: prepare('SELECT * FROM timers WHERE due <= ? ORDER BY due, project'),
    timersSetAfter: prepare(`SELECT t.*, i.updated FROM timers t
      JOIN instances i USING (instance, machine, project) WHERE i.updated > ? ORDER BY t.due`),
    dueTimes: prepare('SELECT due, project FROM timers ORDER BY due, project'),
    transitions: {
      project: transitions('project', ''),
      machine: transitions('machine', ' AND machine = ?'),
      machineInstance: transitions('instance', ' AND machine = ? AND instance = ?'),
      projectInstance: transitions('instance', ' AND instance = ?'),
      event: transitions('event', " AND event ->> 'type' = ?"),
      actor: transitions('actor', " AND actor ->> 'name' = ?"),
      request: transitions('request', ' AND request = ?'),
    },
  };
}
