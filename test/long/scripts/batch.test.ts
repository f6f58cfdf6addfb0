/** Files that share a process: each is reported as if it had its own process, however it ends. */
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { type EndOfFile, MarkReader, markOf } from '../../../scripts/test/marks.ts';
import { runFiles } from '../../../scripts/test/process.ts';
import { Report } from '../../../scripts/test/report.ts';
import { oneByOne } from '../../../scripts/test/turns.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PASSES = `t.test('passes', async (t) => t.ok(true));`;
/** Keeps the process from exiting. */
const HANDLE = 'setInterval(() => {}, 60_000);';

/** Like an endless loop, but without using CPU time. */
const BLOCK =
  't.test(`blocks`, () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));';

/** The report on files with these contents. @param timeoutMs timeout of each file */
async function reported(t: Test, contents: Record<string, string>, timeoutMs = 60_000) {
  const folder = t.testdir();
  const names = Object.keys(contents).map((name) => join(folder, `${name}.test.ts`));
  for (const [index, content] of Object.values(contents).entries()) {
    writeFileSync(names[index] as string, `import t from 'tap';\n${content}\n`);
  }
  const printed: string[] = [];
  const report = new Report((text) => printed.push(text));
  const files = names.map((name) => relative(ROOT, name));
  await runFiles(oneByOne(files), report, { timeoutMs });
  report.end();
  // Paths and durations vary between runs.
  return printed
    .join('')
    .replaceAll(`${relative(ROOT, folder)}/`, '')
    .replace(/ \(\d+ ms\)$/gm, '');
}

test('files share modules, but neither hooks nor settings of their root test', async (t) => {
  const shared = `globalThis.imports = (globalThis.imports ?? 0) + 1;`;
  const text = await reported(t, {
    first: `t.jobs = 2; t.beforeEach(() => { globalThis.hooked = true; }); ${shared} ${PASSES}`,
    second: `${shared}
      t.test('no hook of the first', async (t) => {
        t.equal(globalThis.imports, 2, 'one process');
        globalThis.hooked = false;
        await t.test('nested', async (t) => t.equal(globalThis.hooked, false));
      });
      t.test('no setting of the first', async (t) => t.not(t.parent?.jobs, 2));`,
  });
  t.equal(text, 'ok     first.test.ts\nok     second.test.ts\n3 passed, 0 failed\n');
});

test('a file that fails outside its tests is named, and the others run', async (t) => {
  const cases: Readonly<Record<string, readonly [content: string, explained: RegExp]>> = {
    'throws when it is imported': ['throw new Error("at once");', /FAILED bad\.test\.ts > at once/],
    'cannot be parsed': ['const = 1;', /Unexpected token/],
    'has no tests': ['', /hasResults: false/],
    exits: [`${PASSES} t.test('exits', () => process.exit(0));`, /exitCode: 0/],
    'is killed': [
      `t.test('dies', async () => { process.kill(process.pid, 'SIGKILL'); await new Promise(() => {}); });`,
      /signal: SIGKILL/,
    ],
    'sets an exit code': [`${PASSES} process.exitCode = 3;`, /exitCode: 3/],
    'changes the environment': [`${PASSES} process.env.LEFT = '1';`, /changed \$LEFT:/],
    'throws when its tests are over': [
      `${PASSES} t.teardown(() => setTimeout(() => { throw new Error('late'); }, 50));`,
      /exitCode: 1/,
    ],
  };
  for (const [name, [content, explained]] of Object.entries(cases)) {
    await t.test(name, async (t) => {
      const text = await reported(t, { before: PASSES, bad: content, after: PASSES });
      t.match(text, explained);
      t.match(text, /^FAILED bad\.test\.ts/m);
      t.match(text, /^ok {5}before\.test\.ts$/m);
      t.match(text, /^not ok bad\.test\.ts$/m);
      t.match(text, /^ok {5}after\.test\.ts$/m);
      t.match(text, / passed, 1 failed\n$/);
    });
  }
});

test('an uncaught error fails the running test', async (t) => {
  const text = await reported(t, {
    bad: `t.test('forgets', async () => {
        void Promise.reject(new Error('forgotten'));
        await new Promise((resolve) => setTimeout(resolve, 50));
      });
      ${PASSES}`,
  });
  t.match(text, /^FAILED bad\.test\.ts > forgets$/m);
  t.match(text, /forgotten/);
  t.match(text, /\n1 passed, 1 failed\n$/);
});

test('the folder of a test is removed after its teardowns', async (t) => {
  const first = `import { writeFileSync } from 'node:fs';
    t.test('writes to the end', async (t) => {
      globalThis.folder = t.testdir({});
      t.teardown(() => writeFileSync(globalThis.folder + '/last', ''));
      t.ok(true);
    });`;
  const second = `import { existsSync } from 'node:fs';
    t.test('is gone', async (t) => t.notOk(existsSync(globalThis.folder)));`;
  t.match(await reported(t, { first, second }), /\n2 passed, 0 failed\n$/);
});

test('a test that can never end fails at once', async (t) => {
  const never = `t.test('waits', async () => { await new Promise(() => {}); });`;
  const text = await reported(t, { bad: never, after: PASSES });
  t.match(text, /^FAILED bad\.test\.ts > waits$/m);
  t.match(text, /\n1 passed, 1 failed\n$/);
});

test('a hanging file is ended after its time and named, and the others run', {
  jobs: 3,
}, async (t) => {
  const wait = `${HANDLE} await new Promise(() => {});`;
  const cases: Readonly<Record<string, readonly [content: string, named: RegExp]>> = {
    'a test that hangs': [`t.test('hangs', async () => { ${wait} });`, /bad\.test\.ts > hangs$/m],
    'a handle that is left open': [`${PASSES} ${HANDLE}`, /bad\.test\.ts as a whole$/m],
    'a thread that is blocked': [BLOCK, /bad\.test\.ts as a whole$/m],
  };
  const all = Object.entries(cases).map(([name, [content, named]]) =>
    t.test(name, async (t) => {
      const text = await reported(t, { bad: content, after: PASSES }, 8_000);
      t.match(text, named);
      t.match(text, /^not ok bad\.test\.ts$/m);
      t.match(text, /^ok {5}after\.test\.ts$/m);
      t.match(text, / passed, 1 failed\n$/);
    }),
  );
  await Promise.all(all);
});

test('a file that declares it has its own process', async (t) => {
  const count = `globalThis.imports = (globalThis.imports ?? 0) + 1;`;
  const alone = `t.test('alone', async (t) => t.equal(globalThis.imports, 1));`;
  const text = await reported(t, {
    first: `${count} ${PASSES}`,
    own: `/**\n * Own process: it counts.\n */\n${count} ${alone}`,
  });
  t.match(text, /\n2 passed, 0 failed\n$/);
});

test('marks are found in pieces of any size', async (t) => {
  const ends: EndOfFile[] = [
    { exitCode: 0, cpuMs: 3 },
    { exitCode: 1, cpuMs: 4, message: 'left changed' },
  ];
  const output = ends.map((end, index) => `ok ${index}\n\nmore${markOf(end)}`).join('');
  for (let length = 1; length < 40; length++) {
    const seen: (string | EndOfFile)[] = [''];
    const reader = new MarkReader({
      text: (text) => seen.push(`${typeof seen.at(-1) === 'string' ? seen.pop() : ''}${text}`),
      end: (end) => seen.push(end),
    });
    for (let at = 0; at < output.length; at += length) reader.write(output.slice(at, at + length));
    reader.end();
    t.same(seen, ['ok 0\n\nmore', ends[0], 'ok 1\n\nmore', ends[1]], `pieces of ${length}`);
  }
});
