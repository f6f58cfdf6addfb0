/**
 * Positions by partition in the records of members, and records of programs that say one number for
 * all partitions.
 */
import { test } from 'tap';
import { lowestOf, positionAt, positionsOf } from '../../streams/platform/membership/positions.ts';
import {
  encodeRow,
  leaseSubject,
  type MemberRecord,
  memberSubject,
  Roster,
} from '../../streams/platform/membership/roster.ts';
import { PARTITIONS } from '../../streams/platform/stream.ts';

test('positions list only the partitions that differ from most', (t) => {
  const behind = positionsOf((partition) => (partition === 17 ? 40 : 90));
  t.same(behind, { most: 90, others: { 17: 40 } });
  t.same([positionAt(behind, 17), positionAt(behind, 18), lowestOf(behind)], [40, 90, 40]);
  const all = positionsOf((partition) => partition * 1_000_000_000);
  t.same(
    Array.from({ length: PARTITIONS }, (_, partition) => positionAt(all, partition)),
    Array.from({ length: PARTITIONS }, (_, partition) => partition * 1_000_000_000),
  );
  t.ok(JSON.stringify(all).length < 1_200, 'a record stays small');
  t.end();
});

const RECORD: MemberRecord = {
  node: 'older',
  host: 'h',
  pid: 1,
  startedMs: 0,
  version: '1',
  address: null,
  applied: 0,
  decided: 70,
  floor: 30,
  heard: {},
  unfit: [],
  state: 'acting',
  life: 1,
  turn: 1,
  clockMs: 0,
  clockAheadMs: 0,
  knows: 5,
};

/** A roster with these members' records, and the leases of partitions 17 and 18. */
function rosterOf(records: readonly unknown[], owner: string): Roster {
  const roster = new Roster({ node: 'watcher' });
  let sequence = 0;
  const take = (subject: string, row: unknown): void => {
    // Rows of other programs have other fields.
    const data = encodeRow(row as MemberRecord);
    roster.take({ subject, sequence: ++sequence, timeMs: 0, data }, 0);
  };
  for (const partition of [17, 18]) take(leaseSubject(partition), { owner, life: 1, epoch: 1 });
  for (const record of records) take(memberSubject((record as MemberRecord).node), record);
  return roster;
}

const NEWER = {
  ...RECORD,
  node: 'newer',
  decided: 60,
  decidedOf: { most: 90, others: { 17: 60 } },
  floor: 20,
  floors: { most: 50, others: { 17: 20 } },
};

test('DUR-21: a record with one number counts for all partitions', (t) => {
  const roster = rosterOf([RECORD, NEWER], 'older');
  t.same(roster.floorsOf(17), [30, 20]);
  t.same(roster.floorsOf(18), [30, 50]);
  t.same(
    [17, 18].map((partition) => roster.decidedBy(partition)),
    [70, 70],
  );
  t.end();
});

test('DUR-21: an older program reads the lowest position of all partitions', (t) => {
  t.equal(lowestOf(NEWER.floors), NEWER.floor);
  t.equal(lowestOf(NEWER.decidedOf), NEWER.decided);
  t.end();
});

test('a partition that its owner has not decided holds back no other', (t) => {
  const roster = rosterOf([NEWER], 'newer');
  t.same(
    [17, 18].map((partition) => roster.decidedBy(partition)),
    [60, 90],
  );
  t.equal(roster.decidedBy(19), undefined, 'without a lease nothing is known');
  t.end();
});

test('a record with unreadable positions is skipped', (t) => {
  for (const floors of [
    null,
    5,
    {},
    { most: 1 },
    { most: 1, others: { 3: 'x' } },
    { others: {} },
  ]) {
    t.same(rosterOf([{ ...NEWER, floors }], 'newer').floorsOf(17), [], JSON.stringify(floors));
  }
  t.end();
});
