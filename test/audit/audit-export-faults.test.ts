/**
 * The audit sink when parts of it fail: a cursor, a read, a missing answer. Also the answer to a
 * change that needs the sink, and what retention keeps for it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import {
  type AuditExportOptions,
  type AuditSink,
  CLOSE_MS,
  CONFIRMED_WITHIN_MS,
  type CursorStore,
} from '../../src/audit/export/audit-export.ts';
import { compareSink } from '../../src/audit/export/compare-sink.ts';
import { cursorIn, fileSink } from '../../src/audit/open-audit.ts';
import { noCursor, others, person, startExportWorld } from '../support/audit-export-on-host.ts';
import { reasonOf } from '../support/host-in-memory.ts';

test('A cursor that cannot be saved delays no change, and is retried', async (t) => {
  const { change, open, clock, cursorPath, linesOf } = await startExportWorld(t);
  const file = cursorIn(cursorPath);
  let isFull = true;
  let failures = 0;
  const cursor: CursorStore = {
    load: () => file.load(),
    async save(position) {
      if (isFull) throw new Error('ENOSPC: no space left on device');
      await file.save(position);
    },
  };
  const exporter = open({ cursor, onCursorFailed: () => failures++ });
  await change();
  await exporter.settled();
  const accepted = () => reasonOf(() => exporter.assertTaking({ by: person }));
  t.equal(accepted(), 'accepted');
  t.equal(linesOf().length, 1);
  t.match(exporter.health(), { state: 'degraded', reason: /cannot be saved \(ENOSPC/ });
  t.equal(failures, 1);
  isFull = false;
  await clock.advance(1_000);
  await exporter.settled();
  t.same(exporter.health(), { state: 'ready' }, 'without another commit');
  t.match(file.load(), { sequence: 1 });
});

test('A failed read rejects changes only until it succeeds', async (t) => {
  const { change, open, clock, reader } = await startExportWorld(t);
  let isBusy = false;
  const busy: AuditExportOptions['reader'] = {
    commits(range) {
      if (isBusy) throw new Error('SQLITE_BUSY: database is locked');
      return reader.commits(range);
    },
    transitions: (sequence) => reader.transitions(sequence),
  };
  const exporter = open({ reader: busy });
  await change();
  await exporter.settled();
  const accepted = () => reasonOf(() => exporter.assertTaking({ by: person }));
  isBusy = true;
  await exporter.settled();
  t.equal(accepted(), 'NOT_READY');
  isBusy = false;
  await clock.advance(1_000);
  await exporter.settled();
  t.equal(accepted(), 'accepted', 'in a quiet project');
});

test('With a required sink, a change is answered only once the sink has it', async (t) => {
  const { change, open, path, clock, host } = await startExportWorld(t);
  const file = fileSink(path);
  let letThrough = (): void => {};
  let isHanging = false;
  const sink: AuditSink = {
    async append(lines) {
      if (isHanging) await new Promise<void>((resolve) => (letThrough = resolve));
      await file.append(lines);
    },
  };
  let unconfirmed = 0;
  const exporter = open({ sink, onUnconfirmed: () => unconfirmed++ });
  await exporter.settled();
  const outcomeOf = (change: Parameters<typeof exporter.confirmed>[0], sequence: number) => {
    const outcome = { is: 'waiting' };
    const ended = exporter.confirmed(change, sequence).then(
      () => (outcome.is = 'confirmed'),
      (error: unknown) => (outcome.is = String((error as Error).message)),
    );
    return { outcome, ended };
  };
  const first = await change();
  const taken = outcomeOf({ by: person }, first.sequence);
  await taken.ended;
  t.equal(taken.outcome.is, 'confirmed');
  t.match(readFileSync(path, 'utf8'), /account-0/);

  isHanging = true;
  const { sequence } = await change();
  const inTime = outcomeOf({ by: person }, sequence);
  const late = outcomeOf({ by: others.collector, makesCredential: true }, sequence + 1);
  await exporter.confirmed({ by: others.collector }, sequence);
  await clock.advance(CONFIRMED_WITHIN_MS - 1);
  t.equal(inTime.outcome.is, 'waiting');
  t.equal(late.outcome.is, 'waiting');
  isHanging = false;
  letThrough();
  await inTime.ended;
  t.equal(inTime.outcome.is, 'confirmed');
  await clock.advance(1);
  await late.ended;
  t.match(late.outcome.is, /^The change is committed, .* exported as soon as possible/);
  t.equal(unconfirmed, 1);
  t.equal(host.appliedSequence(), 2);
});

test('A sink that hangs does not delay the stop', async (t) => {
  const { change, open, clock } = await startExportWorld(t);
  const exporter = open({ sink: { append: () => new Promise(() => {}) } });
  await change(others.evaluator);
  const closed = exporter.close();
  await clock.advance(CLOSE_MS);
  await closed;
  t.equal(exporter.lag(), 2, 'one commit, and the one from before the start');
});

test('Retention waits for a required sink; for an optional one the gap is counted', async (t) => {
  const { change, open, reader, clock } = await startExportWorld(t);
  for (let i = 0; i < 5; i++) await change(others.evaluator);
  let isAway = true;
  let missed = 0;
  const sink: AuditSink = {
    async append() {
      if (isAway) throw new Error('ENOENT');
    },
  };
  const required = open({ sink });
  await required.settled();
  t.equal(required.mayDrop(1), false);
  isAway = false;
  await clock.advance(1_000);
  await required.settled();
  t.equal(required.mayDrop(5), true);
  t.equal(required.mayDrop(6), false);

  // The third of these was dropped before the sink could read it.
  const gone = {
    ...reader,
    commits: (range: Parameters<typeof reader.commits>[0]) =>
      reader.commits(range).filter(({ number }) => number !== 3),
    transitions: () => [],
  };
  const optional = open({
    sink,
    reader: gone,
    isRequired: false,
    cursor: noCursor,
    onMissed: (count) => (missed += count),
  });
  await optional.settled();
  t.equal(missed, 1);
  t.equal(optional.mayDrop(99), true);
});

test('The comparison detects a changed line, and a gap that the log has dropped', async (t) => {
  const { change, open, linesOf, path, reader } = await startExportWorld(t);
  for (let i = 0; i < 11; i++) {
    await change({ ...person, name: `people/o\u2028${'l'.repeat(i)}ga` });
  }
  await open().settled();
  const lines = linesOf();
  const oldest = reader.commits({ after: 0, through: 9, limit: 9 }).at(-1);
  /** The log after retention has dropped the commits up to this number. */
  const since = (number: number) => ({
    commits: (range: Parameters<typeof reader.commits>[0]) =>
      reader.commits(range).filter((commit) => commit.number > number),
    start: () => ({
      project: 'demo',
      number,
      hash: '',
      at: 0,
      sequence: number,
      decided: 1,
      decision: '',
    }),
    transitions: (sequence: number) => reader.transitions(sequence),
  });
  const compare = async (kept: readonly string[], log: Parameters<typeof compareSink>[1]) => {
    writeFileSync(path, `${kept.join('\n')}\n`);
    return compareSink([path], log);
  };
  t.equal(oldest?.number, 9);
  t.match(await compare(lines, reader), { same: 11, cutOff: 0, faults: [] });
  t.match(await compare(lines, since(9)), { same: 2, dropped: 9, faults: [] });
  const [first = '', second = '', tenth = '', last = ''] = [0, 1, 9, 10].map((i) => lines[i]);
  const gap = [first, second, tenth, last];
  t.same((await compare(gap, since(9))).faults, [
    'The commits 3 to 9 of demo are not in the sink, and are older than the log',
  ]);
  const both = (await compare(gap, since(7))).faults;
  t.match(both, [
    /^The commit 8 of demo .* is not in the sink$/,
    /^The commit 9 of demo .* is not in the sink$/,
    /^The commits 3 to 7 of demo are not in the sink, and are older than the log$/,
  ]);
  const rewritten = second.replace('Robot', 'Raptor');
  t.not(rewritten, second);
  t.match((await compare([first, rewritten], reader)).faults, [
    /^The sink's commit 2 of demo .* says something else than the log$/,
  ]);
});
