/** The gate: sequences that run side by side, and a last line that counts every failure. */
import { test } from 'tap';
import { runSequences, type Step, summary } from '../../scripts/gate.ts';

function step(name: string, code: string, isTests = false): Step {
  return { name, command: [process.execPath, '-e', code], isTests };
}

/** The report of sequences, without times. */
async function reported(...sequences: Step[][]) {
  const printed: string[] = [];
  const ends = await runSequences(sequences, (text) => printed.push(text));
  return {
    ends,
    printed: printed.join(''),
    summary: summary(ends).replaceAll(/ +\d+ (?:CPU )?s/g, ''),
  };
}

const TESTS = step(
  'tests',
  'process.stdout.write("ok a\\n7 passed, 0 failed, 2 skipped\\n")',
  true,
);

test('the last line has the counts of the tests', async (t) => {
  const { printed, summary } = await reported([step('check', ''), TESTS], [step('chance', '')]);
  t.match(printed, /ok a\n/);
  t.match(summary, /^ok {2}check$/m);
  t.match(summary, /\n7 passed, 0 failed\n$/);
});

test('a failed step counts as a failure and shows its output', async (t) => {
  const fails = step('chance', 'process.stderr.write("seed 7 broke\\n"); process.exit(1)');
  const { printed, summary } = await reported([TESTS], [fails]);
  t.match(printed, /== FAILED: chance\nseed 7 broke\n/);
  t.match(summary, /^not ok {2}chance$/m);
  t.match(summary, /\n7 passed, 1 failed\n$/);
});

test('failed tests are counted once', async (t) => {
  const tests = step(
    'tests',
    'process.stdout.write("6 passed, 1 failed\\n"); process.exitCode = 1',
    true,
  );
  t.match((await reported([tests])).summary, /\n6 passed, 1 failed\n$/);
});

test('tests that end without counts fail the gate', async (t) => {
  const tests = step('tests', 'process.exit(3)', true);
  t.match((await reported([tests])).summary, /\n0 passed, 1 failed\n$/);
});

test('a program that cannot start is reported by name as a failure', async (t) => {
  const { printed, summary } = await reported([{ name: 'gone', command: ['/no/such/program'] }]);
  t.match(printed, /ENOENT/);
  t.match(summary, /\n0 passed, 1 failed\n$/);
});

test('the report has the CPU time of each step, and their sum', async (t) => {
  const busy = `const isOver = () => process.cpuUsage().user > 300_000;
    while (!isOver());`;
  const { ends } = await reported([step('computes', busy), step('waits', '')]);
  const [computes, waits] = ends.map(({ cpuMs }) => cpuMs);
  t.ok((computes ?? 0) >= 250, `${computes} ms`);
  const sum = ((computes ?? 0) + (waits ?? 0)) / 1000;
  t.match(summary(ends), new RegExp(` CPU s  computes\n[^]*\n${sum.toFixed(0)} CPU s in all\n`));
});

test('steps of one sequence run one after the other; sequences run side by side', async (t) => {
  const { printed } = await reported([step('a', ''), step('b', '')], [step('c', '')]);
  const order = [...printed.matchAll(/== (begins|passed): (\w)/g)].map(
    ([, what, name]) => `${what} ${name}`,
  );
  t.ok(order.indexOf('passed a') < order.indexOf('begins b'));
  t.ok(order.indexOf('begins c') < order.indexOf('passed a'));
});
