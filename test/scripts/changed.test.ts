/** The tests that `--changed` runs for a change, and its report about the others. */
import { test } from 'tap';
import { selectChanged } from '../../scripts/test/changed.ts';

/** A checkout with the rooms telemetry, alerting and cli, in this order. */
const texts = new Map(
  Object.entries({
    'src/telemetry/query.ts': '',
    'streams/alerting/rule.ts': "import '../../src/telemetry/query.ts';",
    'src/cli/list.ts': "import '../../streams/alerting/rule.ts';",
    'src/cli/version.ts': '',
    'src/main.ts': "import './cli/list.ts';",
    'bin/svc.js': "await import('../src/main.ts');",
    'test/support/program.ts': "const program = new URL('../../bin/svc.js', import.meta.url);",
    'test/support/rows.ts': '',
    'test/telemetry/query.test.ts': "import { rows } from '../support/rows.ts';",
    'test/alerting/rule.test.ts': "import '../../streams/alerting/rule.ts';",
    'test/alerting/other.test.ts': '',
    'test/cli/list.test.ts': "import '../../src/cli/list.ts';",
    'test/cli/version.test.ts': "import '../../src/cli/version.ts';",
    'test/e2e/start.test.ts': "import { startProgram } from '../support/program.ts';",
    'test/e2e/page.test.ts': "const page = read('docs/reading.md');",
  }),
);
const tests = [...texts.keys()].filter((path) => path.endsWith('.test.ts'));
const select = (...changed: string[]) => selectChanged(tests, changed, { texts });

test('all tests of a changed room run, and tests of later rooms that reach it', async (t) => {
  const { files, reasons } = select('streams/alerting/rule.ts');
  t.same(files, [
    'test/alerting/rule.test.ts',
    'test/alerting/other.test.ts',
    'test/cli/list.test.ts',
    'test/e2e/start.test.ts',
  ]);
  t.same(reasons, [
    'leaves out telemetry: it may not import alerting',
    'runs alerting: it changed (2 files)',
    'runs 1 of 2 files of cli: they reach the change',
    'runs 1 of 2 files of e2e: they reach the change',
  ]);
});

test('a changed test runs alone', async (t) => {
  t.same(select('test/cli/version.test.ts').files, ['test/cli/version.test.ts']);
});

test('a changed support file runs its importers, in earlier rooms too', async (t) => {
  t.same(select('test/support/rows.ts').files, ['test/telemetry/query.test.ts']);
});

test('a changed document runs the tests that name it', async (t) => {
  t.same(select('docs/reading.md').files, ['test/e2e/page.test.ts']);
});

test('a change to the dependencies runs everything', async (t) => {
  const { files, reasons } = select('package-lock.json');
  t.same(files, tests);
  t.same(reasons, ['all files: package-lock.json can break any test']);
});

test('a deleted source still selects its room', async (t) => {
  t.same(select('src/telemetry/gone.ts').files, ['test/telemetry/query.test.ts']);
});
