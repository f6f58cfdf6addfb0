/** The report of a test run: failures, files that end abnormally, and counts. */
import { test } from 'tap';
import { type FileEnd, Report } from '../../scripts/test/report.ts';

const ended: FileEnd = { exitCode: 0, signal: null, timedOut: false, elapsedMs: 12.4 };

/** Printed report of files, each given by its output and its end. */
function reportOf(files: readonly (readonly [output: string, end?: Partial<FileEnd>])[]) {
  const printed: string[] = [];
  const report = new Report((text) => printed.push(text));
  for (const [output, end] of files) {
    const file = report.file('a.test.ts');
    // Output arrives in pieces of any size.
    for (const half of [output.slice(0, 30), output.slice(30)]) file.write(half);
    file.end({ ...ended, ...end });
  }
  report.end();
  return { ok: report.ok, text: printed.join('') };
}

const PASSED = 'TAP version 14\n# Subtest: one\n    ok 1 - fine\n    1..1\nok 1 - one\n\n1..1\n';
const FAILED = `TAP version 14
# Subtest: outer
    # Subtest: inner
        not ok 1 - adds up
          ---
          diff: |
            -3
            +4
          ...
        1..1
    not ok 1 - inner
    1..1
not ok 1 - outer

ok 2 - later # SKIP the lab is missing

1..2
`;

test('a file that passes takes one line, and its tests are counted', async (t) => {
  t.same(reportOf([[PASSED], [PASSED]]), {
    ok: true,
    text: `${'ok     a.test.ts (12 ms)\n'.repeat(2)}2 passed, 0 failed\n`,
  });
});

test('a failure names its assertion at any depth, and a skipped test its reason', async (t) => {
  const { ok, text } = reportOf([[FAILED, { exitCode: 1 }]]);
  t.equal(ok, false);
  t.match(text, /^ {2}not ok outer > inner > adds up\n {4}diff: -3\n\+4\n/m);
  t.equal(text.match(/not ok outer/g)?.length, 1, 'once');
  t.match(text, /^FAILED a\.test\.ts > outer$/m);
  t.match(text, /^not ok a\.test\.ts \(12 ms\)$/m);
  t.match(text, /skipped 1: the lab is missing\n {2}a\.test\.ts > later\n/);
  t.match(text, /\n0 passed, 1 failed, 1 skipped\n$/);
});

test('a file that ends outside of its tests fails', async (t) => {
  const cases: Readonly<Record<string, readonly [string, Partial<FileEnd>?]>> = {
    'no test': [''],
    'cut off': [PASSED.slice(0, 40)],
    'an exit code': [PASSED, { exitCode: 1 }],
    'a signal': [PASSED, { exitCode: null, signal: 'SIGKILL' }],
    'no end': [PASSED, { timedOut: true }],
  };
  for (const [name, file] of Object.entries(cases)) {
    const { ok, text } = reportOf([file]);
    t.equal(ok, false, name);
    t.match(text, /^FAILED a\.test\.ts as a whole$/m, name);
    t.match(text, /\d passed, 1 failed\n$/, name);
  }
});

test('a report keeps the times of files whose process measured them', async (t) => {
  const report = new Report(() => {});
  const run = (name: string, end: Partial<FileEnd>) => {
    const file = report.file(name);
    file.write(PASSED);
    file.end({ ...ended, ...end });
  };
  run('measured.test.ts', { cpuMs: 7 });
  run('killed.test.ts', { exitCode: null, signal: 'SIGKILL' });
  t.same([...report.times], [['measured.test.ts', { wallMs: 12.4, cpuMs: 7 }]]);
});

test('a run without tests does not succeed', async (t) => {
  t.same(reportOf([]), { ok: false, text: '0 passed, 0 failed\n' });
});
