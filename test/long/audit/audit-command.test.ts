/**
 * `svc audit verify` as an operator runs it: on folders without a running service, of which one is
 * sound and each of the others has one uncommitted change, and beside a running service.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { createHost } from '../../../actors/platform/host/host.ts';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import { openInstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { auditCommand } from '../../../src/cli/audit.ts';
import { processPorts } from '../../../src/cli/client/ports.ts';
import type { Surroundings } from '../../../src/cli/command.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import { seededRandom } from '../../../streams/platform/random.ts';
import { HOUR_MS, START_MS, tester } from '../../support/host-in-memory.ts';
import { identitiesOf } from '../../support/identities.ts';
import { dataFolder, runToEnd, startProgram } from '../../support/program.ts';

/** A folder in which identities of two projects were created, changed and ended. */
async function folderWithHistory(t: Test): Promise<string> {
  const folder = dataFolder(t);
  const clock = new VirtualClock(START_MS);
  const random = seededRandom(5);
  const database = openDatabase({
    path: join(folder, 'control.db'),
    synchronous: 'NORMAL',
    migrations: [],
  });
  const stream = openEmbeddedStream({ storage: join(folder, 'events.db'), clock, random });
  const store = openInstanceStore(database);
  const host = createHost({
    stream,
    store,
    clock,
    random,
    machines: machineDefinitions,
    node: 'test',
    expand: () => {},
  });
  await host.start();
  const world = identitiesOf({ host, clock, random });
  for (const project of ['alpha', 'beta']) {
    const read = ['monitoring.read'] as const;
    const { id, account } = await world.accountKey(project, read, { lifetimeMs: HOUR_MS });
    await world.send(project, 'credential', id, {
      type: 'rotated',
      successor: 's',
      overlapMs: HOUR_MS / 2,
    });
    await world.send(project, 'serviceAccount', account, { type: 'disabled', reason: 'x' });
    await world.accountKey(project, read);
  }
  // Ends by a timer: timer decisions are verified as well.
  clock.jump(HOUR_MS);
  for (const timer of host.dueTimers(clock.now(), 10)) await host.fireTimer(timer, tester);
  await host.stop();
  await stream.close();
  database.close();
  return folder;
}

const DAY_MS = 24 * HOUR_MS;

/** Runs the command in this process, soon after the last commit. */
const verify = (folder: string, ...more: string[]) => verifyAfter(2 * HOUR_MS, folder, ...more);

/** @param passedMs time since the first commit */
async function verifyAfter(passedMs: number, folder: string, ...more: string[]) {
  const out = { text: '', error: '' };
  const surroundings: Surroundings = {
    environment: {},
    isTerminal: false,
    log: () => {},
    exitNow: () => {},
    stdout: (text) => {
      out.text += text;
    },
    stderr: (text) => {
      out.error += text;
    },
    onSignal: () => () => {},
    client: { ...processPorts(), clock: new VirtualClock(START_MS + passedMs) },
  };
  const code = await auditCommand.run(['verify', '--data', folder, ...more], surroundings);
  return { code, ...out };
}

test('a sound history is proven, project by project, and reported', async (t) => {
  const folder = await folderWithHistory(t);
  const { code, text, error } = await verify(folder);
  t.equal(code, 0, text);
  t.match(text, /alpha +\d+ +0 +(\d+) +\1 +holds/, 'every step was re-evaluated');
  t.match(text, /beta .* holds/);
  t.match(text, /Every chain is complete/);
  t.match(error, /No service is running on/);
  t.match(error, /verified \d+ of \d+ commits \(100 %\)/);
  const { projects } = JSON.parse((await verify(folder, '--json')).text);
  t.match(projects, [
    { project: 'alpha', broken: null },
    { project: 'beta', broken: null },
  ]);
  t.ok(projects[0].commits >= 6);
});

type Change = (database: Database.Database) => unknown;

/** Flips one bit of a value; in a text, one that leaves a valid character. */
function flipped(value: Buffer | string): Buffer | string {
  const bytes = Buffer.from(value);
  const at = bytes.length >> 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return typeof value === 'string' ? bytes.toString() : bytes;
}

/** Flips a bit of a column of the row that `sql` finds; the row's key comes first. */
function flip(table: string, key: string, column: string, where: string): Change {
  return (database) => {
    const row = database
      .prepare<[], { key: number; value: Buffer }>(
        `SELECT ${key} AS key, ${column} AS value FROM ${table} WHERE ${where}`,
      )
      .get();
    if (!row) throw new Error(`${table} has no row where ${where}`);
    const update = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`);
    update.run(flipped(row.value), row.key);
  };
}

const THIRD = "project = 'beta' AND number = 3";
const sequenceOfThird = `(SELECT sequence FROM commits WHERE ${THIRD})`;

interface Tampering {
  readonly name: string;
  readonly file: 'control.db' | 'events.db';
  readonly change: Change;
  /** The report for project beta. */
  readonly detail: RegExp;
  readonly number?: number;
}

const tamperings: readonly Tampering[] = [
  {
    name: 'a bit of a header in the database',
    file: 'control.db',
    change: flip('commits', 'sequence', 'header', THIRD),
    detail: /header/i,
  },
  {
    name: 'a bit of a hash in the database',
    file: 'control.db',
    change: flip('commits', 'sequence', 'hash', THIRD),
    detail: /does not match its hash/,
  },
  {
    name: 'a bit of the audit fields of a commit',
    file: 'control.db',
    change: (database) =>
      database.exec(`UPDATE transitions SET event = replace(event, 'test', 'tess')
        WHERE id / 1024 = ${sequenceOfThird}`),
    detail: /The audit log has a transition of .* that differs/,
  },
  {
    name: 'a removed transition',
    file: 'control.db',
    change: (database) =>
      database.exec(`DELETE FROM transitions WHERE id / 1024 = ${sequenceOfThird}`),
    detail: /The audit log has 0 transitions/,
  },
  {
    name: 'a removed commit',
    file: 'control.db',
    change: (database) => database.exec(`DELETE FROM commits WHERE ${THIRD}`),
    detail: /follows commit 2: the commits between them are missing/,
    number: 4,
  },
  {
    name: 'a removed last commit',
    file: 'control.db',
    change: (database) =>
      database.exec(`DELETE FROM commits WHERE sequence =
        (SELECT max(sequence) FROM commits WHERE project = 'beta')`),
    detail: /commits are missing at its end/,
    number: 7,
  },
  {
    name: 'an account with more permissions than were ever decided',
    file: 'control.db',
    change: (database) =>
      database.exec(`UPDATE instances SET context = replace(context, 'monitoring.read',
        'monitoring.writ') WHERE project = 'beta' AND machine = 'serviceAccount' AND value = '"active"'`),
    detail: /The row of serviceAccount \w+ is not the result of its last commit/,
    number: 5,
  },
];

test('one uncommitted change is found, and its commit is named', async (t) => {
  const sound = await folderWithHistory(t);
  for (const { name, file, change, detail, number = 3 } of tamperings) {
    const folder = dataFolder(t);
    cpSync(sound, folder, { recursive: true });
    const database = new Database(join(folder, file));
    change(database);
    database.close();
    const { code, text } = await verify(folder);
    t.equal(code, 1, name);
    t.match(text, /alpha .* holds/, `${name}: the other project is sound`);
    t.match(text, new RegExp(`beta .* BROKEN at commit ${number}`), name);
    t.match(text, new RegExp(`beta: commit ${number} \\(\\w*, position \\d+\\): `), name);
    t.match(text, detail, name);
  }
});

test('DUR-17: one changed byte of any commit in the log is found', async (t) => {
  const sound = await folderWithHistory(t);
  const log = new Database(join(sound, 'events.db'));
  const positions = log
    .prepare<[string], { position: number }>(
      `SELECT position FROM stream_message WHERE position / (1 << 40) =
        (SELECT id FROM stream WHERE name = ?) ORDER BY position`,
    )
    .all(EVENTS_STREAM);
  log.close();
  t.ok(positions.length >= 12);
  for (const { position } of positions) {
    const folder = dataFolder(t);
    cpSync(sound, folder, { recursive: true });
    const database = new Database(join(folder, 'events.db'));
    flip('stream_message', 'position', 'data', `position = ${position}`)(database);
    database.close();
    const { code, text } = await verify(folder, '--json');
    t.equal(code, 1);
    const broken = JSON.parse(text).projects.filter((one: { broken: object }) => one.broken);
    t.equal(broken.length, 1);
    t.equal(broken[0].broken.commit.sequence, position % 2 ** 40, 'the changed commit');
  }
});

type SqlOf = Readonly<Partial<Record<'control.db' | 'events.db', string>>>;

/** A copy of a folder after these statements. */
function changed(t: Test, sound: string, sql: SqlOf): string {
  const folder = dataFolder(t);
  cpSync(sound, folder, { recursive: true });
  for (const [file, statements] of Object.entries(sql)) {
    const database = new Database(join(folder, file));
    database.exec(statements);
    database.close();
  }
  return folder;
}

const NOT_THE_LAST = 'position < (SELECT max(position) FROM stream_message)';
const OF_ACCOUNTS = "machine = 'serviceAccount' AND project = 'alpha'";

test('DUR-17: a row without a commit is found', async (t) => {
  const sound = await folderWithHistory(t);
  const columns = 'version, value, context, timers, final, created, updated';
  const planted = changed(t, sound, {
    'control.db': `INSERT INTO instances (project, machine, instance, ${columns})
      SELECT project, machine, 'planted', ${columns} FROM instances
      WHERE machine = 'credential' AND project = 'alpha' AND final = 0 LIMIT 1`,
  });
  const { code, text } = await verify(planted);
  t.equal(code, 1, text);
  t.match(text, /alpha .* BROKEN: not attributable to a commit\n/);
  t.match(
    text,
    /alpha: not attributable to a commit: The row of credential planted belongs to no commit/,
  );
  t.match(text, /beta .* holds\n/);
  const elsewhere = changed(t, sound, {
    'control.db': `INSERT INTO instances (project, machine, instance, ${columns})
      SELECT 'nowhere', machine, instance, ${columns} FROM instances LIMIT 1`,
  });
  t.match(await verify(elsewhere), {
    code: 1,
    text: /nowhere +0 .* BROKEN: not attributable to a commit/,
  });
});

test('a transition that no commit made is found, even without a body', async (t) => {
  const sound = await folderWithHistory(t);
  const cases: readonly [string, string, RegExp][] = [
    [
      'under no commit',
      'UPDATE transitions SET id = id + 1024000 WHERE id IN',
      /that no commit of/,
    ],
    ['at another time', 'UPDATE transitions SET at = at - 1 WHERE id IN', /at another time than/],
    [
      'from another state',
      `UPDATE transitions SET from_state = '"x"' WHERE id IN`,
      /continue where/,
    ],
    [
      'to another state',
      `UPDATE transitions SET to_state = '"x"' WHERE id IN`,
      /not the result of its last/,
    ],
    [
      'taken out',
      'DELETE FROM transitions WHERE id IN',
      /is not the result of its last transition/,
    ],
  ];
  for (const [name, sql, detail] of cases) {
    const last = `(SELECT max(id) FROM transitions WHERE ${OF_ACCOUNTS} GROUP BY instance
      HAVING count(*) > 1)`;
    const folder = changed(t, sound, { 'control.db': `${sql} ${last}`, 'events.db': REMOVED });
    const { code, text } = await verifyAfter(31 * DAY_MS, folder);
    t.equal(code, 1, name);
    t.match(text, detail, name);
  }
  const gone = changed(t, sound, {
    'control.db': `DELETE FROM instances WHERE ${OF_ACCOUNTS} AND value = '"active"'`,
    'events.db': REMOVED,
  });
  const report = await verifyAfter(31 * DAY_MS, gone);
  t.match(report, { code: 1, text: /but it has no row/ });
});

const REMOVED = `DELETE FROM stream_message WHERE ${NOT_THE_LAST}`;

test('the audit’s actor, time and request are proven', async (t) => {
  const sound = await folderWithHistory(t);
  for (const change of [
    `actor = '{"kind":"human","name":"people/somebody"}'`,
    'at = at + 1',
    "request = 'another'",
  ]) {
    const sql = `UPDATE transitions SET ${change} WHERE id / 1024 = ${sequenceOfThird}`;
    const { code, text } = await verify(changed(t, sound, { 'control.db': sql }));
    t.equal(code, 1, change);
    t.match(text, /beta: commit 3 .*The audit log has a transition/, change);
  }
});

test('a missing body is accepted as expired only if it is old enough', async (t) => {
  const sound = await folderWithHistory(t);
  const raised = changed(t, sound, {
    'events.db': REMOVED,
    'control.db': `
      UPDATE instances SET context = replace(context, 'monitoring.read', 'monitoring.write')
        WHERE ${OF_ACCOUNTS};
      DELETE FROM transitions WHERE ${OF_ACCOUNTS}`,
  });
  const { code, text } = await verify(raised);
  t.equal(code, 1, text);
  t.match(
    text,
    /alpha: commit 1 .*Its body is missing, but it is younger than the log's retention/,
  );
  const later = await verifyAfter(31 * DAY_MS, raised);
  t.equal(later.code, 1, later.text);
  t.match(later.text, /The row of serviceAccount \w+ belongs to no commit/);
});

test('a log shortened by retention is proven by its headers only', async (t) => {
  const folder = await folderWithHistory(t);
  const database = new Database(join(folder, 'events.db'));
  database.exec('DELETE FROM stream_message WHERE position % (1 << 40) <= 5');
  database.close();
  const monthLater = (...more: string[]) => verifyAfter(31 * DAY_MS, folder, ...more);
  const { code, text } = await monthLater('--json');
  t.equal(code, 0, text);
  const [alpha] = JSON.parse(text).projects;
  t.equal(alpha.headersAlone, 5);
  t.ok(alpha.decidedAgain < alpha.commits);
  t.ok(alpha.stateAlone > 0 && alpha.stateAlone < alpha.instances);
  const words = (await monthLater()).text;
  t.match(words, /alpha .* holds, as far back as the log reaches\n/);
  t.match(
    words,
    /Not proven: the decisions in 5 of \d+ commits, and anything beyond the state of /,
  );
  t.notMatch(words, /what is recorded is what was committed/);
  const gap = new Database(join(folder, 'events.db'));
  gap.exec('DELETE FROM stream_message WHERE position % (1 << 40) = 9');
  gap.close();
  const { text: report } = await monthLater();
  t.match(report, /position 9\): The log does not have it, though it should/);
});

test('Where the log is elsewhere, only the chain is proven, and the report states that', async (t) => {
  const folder = await folderWithHistory(t);
  for (const file of ['events.db', 'events.db-wal', 'events.db-shm']) {
    rmSync(join(folder, file), { force: true });
  }
  const { code, text, error } = await verify(folder);
  t.equal(code, 1, text);
  t.match(error, /There is no events\.db/);
  t.match(text, /alpha .* chain only\n/);
  t.match(text, /Proven: every chain of commits is complete;/);
  t.match(text, /Not proven: the decisions in (\d+) of \1 commits, .* start the service/);
  t.notMatch(text, /holds/);
});

test('failures are reported in readable sentences', async (t) => {
  const nothing = await verify(dataFolder(t));
  t.equal(nothing.code, 1);
  t.match(nothing.error, /control\.db does not exist\. Specify the data folder/);
  for (const args of [[], ['check'], ['verify', '--port', '1'], ['verify', '--data']]) {
    const { code, text } = await runToEnd(['audit', ...args]);
    t.equal(code, 2, args.join(' '));
    t.match(text, /Usage: svc audit verify/);
  }
});

test('a running service verifies its own history and continues', async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  const report = await runToEnd(['audit', 'verify', '--data', folder]);
  t.equal(report.code, 0, report.text);
  t.match(report.text, /demo +\d+ +0 +(\d+) +\1 +holds/);
  t.match(report.text, /_system .* holds/);
  t.notMatch(report.text, /No service runs/);
  await program.stop();
});
