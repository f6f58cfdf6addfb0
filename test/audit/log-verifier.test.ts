/**
 * A long verification of a growing history whose log drops bodies: neither is a fault.
 * test/long/audit/audit-command.test.ts covers the findings of `svc audit verify`.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { type LogVerifierOptions, verifyLog } from '../../actors/audit/log-verifier.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { DAY_MS, HOUR_MS, START_MS, startWorld } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

/** A database with three commits in each of two projects, all at `START_MS`. */
async function history(t: Test): Promise<string> {
  const path = join(t.testdir(), 'control.db');
  const { host } = await startWorld(t, undefined, { path });
  for (const project of ['alpha', 'beta']) {
    for (const id of ['a', 'b', 'c']) {
      await submit(
        host,
        { project },
        (draft) => void draft.putRecord({ kind: 'note', id, body: {} }),
      );
    }
  }
  return path;
}

async function verify(t: Test, path: string, options: Partial<LogVerifierOptions>) {
  const reader = new CommitReader(path);
  t.teardown(() => reader.close());
  const clock = new VirtualClock(START_MS);
  const sound = { reader, clock, bodies: null, machines: machineDefinitions };
  const { projects } = await verifyLog({ ...sound, ...options });
  return projects.map(({ project, commits, broken }) => [project, commits, broken?.detail]);
}

const SOUND = [
  ['alpha', 3, undefined],
  ['beta', 3, undefined],
];

test('A body that retention drops during a long verification is not missing', async (t) => {
  const path = await history(t);
  const clock = new VirtualClock(START_MS + 30 * DAY_MS - HOUR_MS);
  const bodies = {
    async at() {
      if (clock.now() < START_MS + 30 * DAY_MS) clock.jump(HOUR_MS);
      return 'removed' as const;
    },
  };
  t.same(await verify(t, path, { clock, bodies }), SOUND);
  const early = new VirtualClock(START_MS + 30 * DAY_MS - HOUR_MS);
  const lost = { at: async () => 'removed' as const };
  t.match(await verify(t, path, { clock: early, bodies: lost }), [
    ['alpha', 3, /Its body is missing, but it is younger/],
    ['beta', 3, /Its body is missing, but it is younger/],
  ]);
});

test('A head that advances during a long verification is not a fault', async (t) => {
  const path = await history(t);
  let isGrown = false;
  const onProgress = () => {
    if (isGrown) return;
    isGrown = true;
    const database = new Database(path);
    database.exec(`
      WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 100001)
        INSERT INTO commits SELECT 1000 + n, 'gamma', n, 'g' || n, 'h', '{}' FROM more;
      INSERT INTO commits VALUES (900000, 'beta', 4, 'later', 'later', '{}');
      UPDATE heads SET number = 4, hash = 'later' WHERE project = 'beta'`);
    database.close();
  };
  t.same(await verify(t, path, { onProgress }), SOUND);
});

test('A head that matches none of the new commits is still a fault', async (t) => {
  const path = await history(t);
  const database = new Database(path);
  database.exec("UPDATE heads SET number = 4 WHERE project = 'beta'");
  database.close();
  t.match(await verify(t, path, {}), [
    ['alpha', 3, undefined],
    ['beta', 3, /The chain should end with commit 4/],
  ]);
});
