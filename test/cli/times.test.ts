/** Times on the command line, in a process whose zone has clock changes. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { parseInput } from '../../src/cli/client/arguments.ts';

const MODULE = new URL('../../src/cli/client/arguments.ts', import.meta.url).href;
const SCRIPT = `
const { parseInput } = await import(${JSON.stringify(MODULE)});
const out = [];
for (const [now, value] of JSON.parse(process.argv[1])) {
  const options = [{ name: 'until', takes: 'TIME', help: '' }];
  const notes = [];
  const nowMs = Date.parse(now);
  const input = parseInput(['--until', value], { options }, nowMs, (line) => notes.push(line));
  out.push({ minutes: (input.timeToCome('until') - nowMs / 1000) / 60, notes });
}
process.stdout.write(JSON.stringify(out));
`;

function inNewYork(cases: readonly (readonly [now: string, value: string])[]) {
  const args = ['--input-type=module', '-e', SCRIPT, JSON.stringify(cases)];
  const env = { ...process.env, TZ: 'America/New_York' };
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return JSON.parse(execFileSync(process.execPath, args, { env, cwd, encoding: 'utf8' }));
}

test('a future time is read in the local zone, and reported', async (t) => {
  const answers = inNewYork([
    ['2026-11-01T06:45:00Z', '01:50'],
    ['2026-03-08T07:10:00Z', '02:30'],
    ['2026-11-01T04:00:00Z', '08:00'],
    ['2026-11-30T05:00:00Z', '2026-12-01'],
    ['2026-11-30T05:00:00Z', '2026-12-01T00:00:00Z'],
  ]);
  t.same(answers, [
    { minutes: 5, notes: ['--until 01:50 is 2026-11-01T01:50:00-05:00'] },
    { minutes: 1400, notes: ['--until 02:30 is 2026-03-09T02:30:00-04:00'] },
    { minutes: 540, notes: ['--until 08:00 is 2026-11-01T08:00:00-05:00'] },
    { minutes: 1440, notes: ['--until 2026-12-01 is 2026-12-01T00:00:00-05:00'] },
    { minutes: 1140, notes: [] },
  ]);
});

test('a time that does not exist is refused for every option that takes one', async (t) => {
  const options = ['since', 'until', 'from', 'time'].map((name) => ({
    name,
    takes: 'TIME',
    help: '',
  }));
  const nowMs = Date.parse('2027-03-01T12:00:00Z');
  for (const { name } of options) {
    const input = parseInput([`--${name}`, '2027-02-30'], { options }, nowMs);
    const message = `--${name} "2027-02-30" is not a time: the day 2027-02-30 does not exist`;
    t.throws(() => input.time(name), { message });
    t.throws(() => input.timeToCome(name), { message });
  }
});

test('a time is reported once, and a duration or an exact time is not', async (t) => {
  const options = [{ name: 'since', takes: 'TIME', help: '' }];
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  const notes: string[] = [];
  const report = (line: string): void => void notes.push(line);
  for (const value of ['1h', '1763726400', '2026-11-21T10:00:00+01:00']) {
    parseInput(['--since', value], { options }, nowMs, report).time('since');
  }
  t.same(notes, []);
  const input = parseInput(['--since', '2026-11-21'], { options }, nowMs, report);
  t.equal(input.time('since'), input.time('since'));
  t.match(notes, [/^--since 2026-11-21 is 2026-11-21T00:00:00[+-]\d\d:\d\d$/]);
  t.equal(notes.length, 1);
});
