/** The CSV of replays and of `svc samples write`: RFC 4180, with the position of each error. */
import fc from 'fast-check';
import { test } from 'tap';
import { csvRows, parseCsv, UnreadableRecording } from '../../src/replay/csv.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const options = { vm: 'vm-1', name: 'a.csv' };

/** The error's message without the name of the file. */
function problemOf(text: string, change = {}): string {
  try {
    csvRows(text, { ...options, ...change });
    return 'none';
  } catch (error) {
    if (!(error instanceof UnreadableRecording)) throw error;
    return error.message.replace(/^a\.csv,? ?/, '');
  }
}

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

test('quoted cells contain commas, quotes and line breaks', async (t) => {
  const text = [
    `"time","vm","name",${CPU}`,
    '1,a,"web, the ""first""",5',
    '2,b,"two',
    'lines",6',
    '3,c,plain,7',
  ].join('\r\n');
  const rows = csvRows(text, options);
  t.match(rows, [
    { line: 2, row: { vm: 'a', displayName: 'web, the "first"', values: [[CPU, 5]] } },
    { line: 3, row: { vm: 'b', displayName: 'two\r\nlines', values: [[CPU, 6]] } },
    { line: 5, row: { vm: 'c', displayName: 'plain', values: [[CPU, 7]] } },
  ]);
});

test('any text survives in a quoted cell, and each row has its line number', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', ' ', 'ö', '{', '}', ';') });
  const lineBreak = fc.constantFrom('\n', '\r\n');
  fc.assert(
    fc.property(fc.array(cell.filter(Boolean), { maxLength: 20 }), lineBreak, (names, end) => {
      const records = names.map((name, i) => `${i},vm-${i},${quoted(name)},${i}`);
      const rows = csvRows([`time,vm,name,${CPU}`, ...records].join(end), options);
      let line = 2;
      for (const [i, name] of names.entries()) {
        const found = rows[i];
        if (found?.row.displayName !== name || found.line !== line) return false;
        line += name.split('\n').length;
      }
      return rows.length === names.length;
    }),
  );
});

test('a header may name series with labels, quoted or not', async (t) => {
  const mount = (path: string) =>
    `svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="${path}"}`;
  const keys = [mount('/'), mount('/a,b'), `own{a="x"}`];
  for (const header of [keys.join(','), keys.map(quoted).join(','), ` ${keys.join(' , ')}`]) {
    const [row] = parseCsv(`\ufefftime,${header}\n1,2,3,4`, options);
    t.same(
      row?.values.map(([key]) => key),
      keys,
      header,
    );
  }
});

test('blank lines and a missing line break at the end are accepted', async (t) => {
  const rows = csvRows(`time,${CPU}\n\n1,2\n  \n\n3,\n4,5`, options);
  t.same(
    rows.map(({ row, line }) => [row.observedMs, row.values.length, line]),
    [
      [1_000, 1, 3],
      [3_000, 0, 6],
      [4_000, 1, 7],
    ],
  );
  t.same(csvRows(`time,${CPU}`, options), []);
});

test('an error names the line and the column', async (t) => {
  const two = `time,name,${CPU}\n1,"a\nb",2\n`;
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /^: the first line has no time column/],
    ['\n1,2', /^: the first line has no time column/],
    [`${two}3,c,much`, /^line 4, column 3: "much" of svc_vm_cpu_utilization_pct is not a number$/],
    [`${two}noon,c,1`, /^line 4, column 1: "noon" is not a time: /],
    [`${two}3,"c,1\n4,d,2\n`, /^line 4, column 2: a quote is not closed/],
    [`${two}3,c"d,1`, /^line 4, column 2: a quote is inside an unquoted cell/],
    [`${two}3,"c"d,1`, /^line 4, column 2: text follows a quoted cell/],
    [`${two}3,c,1,5`, /^line 4, column 4: the line has 4 cells, and the first line has 3/],
    [`${two}3,c`, /^line 4, column 3: the line has 2 cells, and the first line has 3/],
    [`"time,${CPU}\n1,2`, /^line 1: a quote is not closed/],
  ];
  for (const [text, problem] of cases) t.match(problemOf(text), problem, JSON.stringify(text));
  t.match(problemOf(`${two}3,c,1`, { vm: '' }), /^line 2: no VM/);
});

test('reading a large file reports its progress', async (t) => {
  const shares: number[] = [];
  const lines = Array.from({ length: 30_000 }, (_, i) => `${i},${i % 100}`);
  csvRows(`time,${CPU}\n${lines.join('\n')}`, {
    ...options,
    onProgress: (one) => shares.push(one),
  });
  t.ok(shares.length >= 3 && shares.every((share) => share > 0 && share <= 1), shares.join(' '));
  t.same(
    shares,
    shares.toSorted((a, b) => a - b),
  );
  t.equal(shares.at(-1), 1);
});
