/**
 * `svc audit verify` as an operator runs it: on folders where no service runs, one of them sound
 * and the others with one thing changed that nobody committed, and beside a service that runs.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { createHost } from '../../actors/host.ts';
import { machineDefinitions } from '../../machines/registry.ts';
import { openDatabase } from '../../sqlite/database.ts';
import { openEmbeddedStream } from '../../sqlite/embedded-stream.ts';
import { openInstanceStore } from '../../sqlite/instance-store.ts';
import { auditCommand } from '../../src/cli/audit.ts';
import type { Surroundings } from '../../src/cli/command.ts';
import { VirtualClock } from '../../streams/clock.ts';
import { EVENTS_STREAM } from '../../streams/commit/events.ts';
import { seededRandom } from '../../streams/random.ts';
import { HOUR_MS, START_MS, tester } from '../support/credential-world.ts';
import { identitiesOf } from '../support/identities.ts';
import { dataFolder, runToEnd, startProgram } from '../support/program.ts';

/** A folder in which identities of two projects were made, changed and ended. */
async function folderWithHistory(t: Test): Promise<string> {
  const folder = dataFolder(t);
  const clock = new VirtualClock(START_MS);
  const random = seededRandom(5);
  const database = openDatabase({
    ...{ path: join(folder, 'control.db'), synchronous: 'NORMAL', migrations: [] },
  });
  const stream = openEmbeddedStream({ storage: join(folder, 'events.db'), clock, random });
  const store = openInstanceStore(database);
  const host = createHost({
    ...{ stream, store, clock, random, machines: machineDefinitions, node: 'test' },
    expand: () => {},
  });
  await host.start();
  const world = identitiesOf({ host, clock, random });
  for (const project of ['alpha', 'beta']) {
    const read = ['monitoring.read'] as const;
    const { id, account } = await world.accountKey(project, read, { lifetimeMs: HOUR_MS });
    await world.send(project, 'credential', id, {
      ...{ type: 'rotated', successor: 's', overlapMs: HOUR_MS / 2 },
    });
    await world.send(project, 'serviceAccount', account, { type: 'disabled', reason: 'x' });
    await world.accountKey(project, read);
  }
  // Ends by a timer: what a timer has decided is decided again too.
  clock.jump(HOUR_MS);
  for (const timer of host.dueTimers(clock.now(), 10)) await host.fireTimer(timer, tester);
  await host.stop();
  await stream.close();
  database.close();
  return folder;
}

/** Runs the command in this process. */
async function verify(folder: string, ...more: string[]) {
  const out = { text: '', error: '' };
  const surroundings: Surroundings = {
    ...{ environment: {}, isTerminal: false, log: () => {}, exitNow: () => {} },
    stdout: (text) => {
      out.text += text;
    },
    stderr: (text) => {
      out.error += text;
    },
    onSignal: () => () => {},
  };
  const code = await auditCommand.run(['verify', '--data', folder, ...more], surroundings);
  return { code, ...out };
}

t.test('A sound history is proven, project by project, and so it says', async (t) => {
  const folder = await folderWithHistory(t);
  const { code, text, error } = await verify(folder);
  t.equal(code, 0, text);
  t.match(text, /alpha +\d+ +0 +(\d+) +\1 +holds/, 'every step was decided again');
  t.match(text, /beta .* holds/);
  t.match(text, /Every chain is whole/);
  t.match(error, /No service runs on/);
  t.match(error, /verified \d+ of \d+ commits \(100 %\)/);
  const { projects } = JSON.parse((await verify(folder, '--json')).text);
  t.match(projects, [
    { project: 'alpha', broken: null },
    { project: 'beta', broken: null },
  ]);
  t.ok(projects[0].commits >= 6);
});

type Change = (database: Database.Database) => unknown;

/** Flips one bit of a value; of a text, one that leaves a character. */
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
    if (!row) throw new Error(`There is no row in ${table} where ${where}`);
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
  /** What is said of project beta. */
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
    detail: /not what its hash was taken of/,
  },
  {
    name: 'a bit of what audit shows of a commit',
    file: 'control.db',
    change: (database) =>
      database.exec(`UPDATE transitions SET event = replace(event, 'test', 'tess')
        WHERE id / 1024 = ${sequenceOfThird}`),
    detail: /Audit shows another transition/,
  },
  {
    name: 'a transition that was taken out',
    file: 'control.db',
    change: (database) =>
      database.exec(`DELETE FROM transitions WHERE id / 1024 = ${sequenceOfThird}`),
    detail: /Audit shows 0 transitions/,
  },
  {
    name: 'a commit that was taken out',
    file: 'control.db',
    change: (database) => database.exec(`DELETE FROM commits WHERE ${THIRD}`),
    detail: /follows commit 2: what was between them is missing/,
    number: 4,
  },
  {
    name: 'the last commit taken out',
    file: 'control.db',
    change: (database) =>
      database.exec(`DELETE FROM commits WHERE sequence =
        (SELECT max(sequence) FROM commits WHERE project = 'beta')`),
    detail: /commits are missing at its end/,
    number: 7,
  },
  {
    name: 'more granted to an account than was ever decided',
    file: 'control.db',
    change: (database) =>
      database.exec(`UPDATE instances SET context = replace(context, 'monitoring.read',
        'monitoring.writ') WHERE project = 'beta' AND machine = 'serviceAccount' AND value = '"active"'`),
    detail: /The row of serviceAccount \w+ is not what its last commit made of it/,
    number: 5,
  },
];

t.test('One thing that nobody committed is found, and the commit is named', async (t) => {
  const sound = await folderWithHistory(t);
  for (const { name, file, change, detail, number = 3 } of tamperings) {
    const folder = dataFolder(t);
    cpSync(sound, folder, { recursive: true });
    const database = new Database(join(folder, file));
    change(database);
    database.close();
    const { code, text } = await verify(folder);
    t.equal(code, 1, name);
    t.match(text, /alpha .* holds/, `${name}: the other project holds`);
    t.match(text, new RegExp(`beta .* BROKEN at commit ${number}`), name);
    t.match(text, new RegExp(`beta: commit ${number} \\(\\w*, position \\d+\\): `), name);
    t.match(text, detail, name);
  }
});

t.test('One byte of any commit in the log is found, wherever it lies', async (t) => {
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
    t.equal(broken[0].broken.sequence, position % 2 ** 40, 'the commit that was changed');
  }
});

t.test('A log that retention has shortened is proven by its headers', async (t) => {
  const folder = await folderWithHistory(t);
  const database = new Database(join(folder, 'events.db'));
  database.exec('DELETE FROM stream_message WHERE position % (1 << 40) <= 5');
  database.close();
  const { code, text } = await verify(folder, '--json');
  t.equal(code, 0, text);
  const [alpha] = JSON.parse(text).projects;
  t.equal(alpha.headersAlone, 5);
  t.ok(alpha.decidedAgain < alpha.commits);
  const gap = new Database(join(folder, 'events.db'));
  gap.exec('DELETE FROM stream_message WHERE position % (1 << 40) = 9');
  gap.close();
  const { text: told } = await verify(folder);
  t.match(told, /position 9\): The log does not hold it, though it should/);
});

t.test('What cannot be done is told in a sentence', async (t) => {
  const nothing = await verify(dataFolder(t));
  t.equal(nothing.code, 1);
  t.match(nothing.error, /There is no .*control\.db: give the data folder/);
  for (const args of [[], ['check'], ['verify', '--port', '1'], ['verify', '--data']]) {
    const { code, text } = await runToEnd(['audit', ...args]);
    t.equal(code, 2, args.join(' '));
    t.match(text, /Usage: svc audit verify/);
  }
});

t.test('A running service proves its own history, and goes on', async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  const told = await runToEnd(['audit', 'verify', '--data', folder]);
  t.equal(told.code, 0, told.text);
  t.match(told.text, /demo +\d+ +0 +(\d+) +\1 +holds/);
  t.match(told.text, /_system .* holds/);
  t.notMatch(told.text, /No service runs/);
  await program.stop();
});
