/**
 * docs/reading.md as its reader uses it: commands are pasted, expressions are queried, and errors
 * are as described. Only addresses and paths are filled in. (Its scrape configuration has a test of
 * its own: scrape.test.ts.)
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { observedVm } from '../../e2e/path.ts';
import { codeBlock } from '../../support/code-blocks.ts';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, type Program, startProgram } from '../../support/program.ts';

const guide = readFileSync(
  fileURLToPath(new URL('../../../docs/reading.md', import.meta.url)),
  'utf8',
);
const BASE_URL = 'https://monitoring.example.com';

/**
 * The folder of a project in which `npm start` runs, with a VM that has been observed for a while.
 */
async function startReading(t: Test) {
  const folder = dataFolder(t);
  const settings = { SVC_COLLECT: 'host', SVC_SAMPLE_INTERVAL_SECONDS: '1' };
  const program = await startProgram(t, join(folder, 'data'), settings);
  const { name } = await observedVm(program, () => true);
  const [, command = ''] = /^```sh\n(umask .*)\n```$/m.exec(guide) ?? [];
  const run = (script: string, path = process.env.PATH ?? '') =>
    execFileSync(
      'sh',
      ['-euc', `exec 2>&1\n${script.replaceAll(BASE_URL, program.demo.baseUrl)}`],
      {
        cwd: folder,
        encoding: 'utf8',
        timeout: 600_000,
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: path, vm: name },
      },
    );
  run(command);
  return { folder, program, name, run };
}

async function ask(
  { demo }: Program,
  path: string,
  parameters: Record<string, string>,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${demo.baseUrl}/v1/monitoring/projects/demo/promql/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${demo.apiKey}` },
    body: new URLSearchParams(parameters),
  });
  return { status: answer.status, body: await answer.json() };
}

/** Not every machine has a disk, an interface or a file system of its own. */
const OF_SOME_MACHINES = /svc_vm_(disk|network|filesystem)_\w+/;
/** The test's machine is not off, and need not be full. */
const CONDITION = / (== 0|> 90)$/;

/** The guide's queries find the demo's VM, or the part of a condition's vector that remains. */
async function findsTheVm(t: Test, program: Program, query: string, id: string): Promise<void> {
  const found = async (requested: string) => {
    const { status, body } = await ask(program, 'query', { query: requested });
    t.match({ status, body }, { status: 200, body: { status: 'success' } }, requested);
    return (body as Found).data.result.map(({ metric, value }) => ({ metric, value: value[1] }));
  };
  const all = await found(query.replace(CONDITION, ''));
  const [some] = OF_SOME_MACHINES.exec(query) ?? [];
  const isThere = some === undefined || (await found(`${some} offset 1s`)).length > 0;
  if (isThere) t.ok(all.length > 0, `${query} finds something`);
  for (const { metric, value } of all) {
    t.ok(metric.vm === undefined ? query.startsWith('sum(') : metric.vm === id, `${query}: the VM`);
    t.match(value, /^[\d.e+-]+$/, `${query}: a number`);
  }
  if (CONDITION.test(query)) await found(query);
}

/** The vector that a query returns. */
interface Found {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [number, string];
    }[];
  };
}

/** Code in a column of the table under a title. */
function column(title: string, place: number): string[] {
  const table = guide.slice(guide.indexOf(title)).split('\n\n', 2)[0] ?? '';
  return table
    .split('\n')
    .map((line) => /`([^`]+)`/.exec(line.split(' | ')[place] ?? '')?.[1] ?? '')
    .filter((code) => code !== '');
}

test(
  'API-05: every command and expression of the guide works as pasted',
  needs('promtool 3.5.3'),
  async (t) => {
    const { folder, program, name, run } = await startReading(t);
    t.equal(statSync(join(folder, 'vm-monitoring.key')).mode & 0o777, 0o600);

    writeFileSync(join(folder, 'client.yml'), codeBlock('reading.md', '# client.yml'));
    const path = `${dirname(componentPath('promtool 3.5.3'))}:${process.env.PATH}`;
    const printed = run(codeBlock('reading.md', '# promtool'), path);
    t.match(printed, /^\{\} => [\d.e+-]+ @\[/m, 'query instant');
    t.match(printed, /^svc_vm_memory_used_bytes\{.*\} =>\n\d[\d.e+]* @\[/m, 'query range');
    t.match(printed, /^\{__name__="svc_vm_running", /m, 'query series');
    t.match(printed, /SUCCESS: {2}The service is ready/);

    const rpc = JSON.parse(run(codeBlock('reading.md', '# QueryVMMonitoring')));
    t.match(rpc, { stepSeconds: 60, quality: { state: /LIVE|PARTIAL/ } });

    const expressions = column('| quantity | expression |', 1);
    t.ok(expressions.length >= 11, 'the table of expressions is found');
    const id = name.split('/').at(-1) ?? '';
    for (const query of expressions) await findsTheVm(t, program, query, id);
    t.equal(await program.stop(), 0);
  },
);

test('API-06: Grafana’s data source, provisioned as in the guide, passes Save & test', async (t) => {
  const { program } = await startReading(t);
  const block = codeBlock('reading.md', '# provisioning/datasources/vm-monitoring.yaml');
  const field = (name: string): string =>
    new RegExp(`^ +${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
  const url = field('url').replace(BASE_URL, program.demo.baseUrl);
  const key = field('httpHeaderValue1').replace(`$\{VM_MONITORING_KEY}`, program.demo.apiKey);
  const headers = { [field('httpHeaderName1')]: key };
  // Grafana's requests, as its server sends them: a sum at four seconds after the epoch, then the
  // version.
  const sum = await fetch(`${url}/api/v1/query`, {
    method: field('httpMethod'),
    headers,
    body: new URLSearchParams({ query: '1+1', time: '4' }),
  });
  t.match(await sum.json(), {
    status: 'success',
    data: { resultType: 'scalar', result: [4, '2'] },
  });
  const version = await fetch(`${url}/api/v1/status/buildinfo`, { headers });
  t.match(await version.json(), { data: { version: /^\d+\.\d+\.\d+$/ } });
  // Grafana's smallest step, on a panel of an hour.
  const seconds = Math.floor(Date.now() / 1000);
  const step = field('timeInterval').replace('s', '');
  const panel = {
    query: 'svc_vm_load1',
    start: String(seconds - 3600),
    end: String(seconds),
    step,
  };
  t.match(await ask(program, 'query_range', panel), { status: 200 });

  await errorsAreMapped(t, program, seconds);
  t.equal(await program.stop(), 0);
});

/** Provokes each error that the guide quotes. */
async function errorsAreMapped(t: Test, program: Program, seconds: number): Promise<void> {
  const week = { query: 'svc_vm_load1', start: String(seconds - 7 * 86_400), end: String(seconds) };
  const cases: readonly (readonly [string, string, Record<string, string>])[] = [
    [
      'exceeded maximum resolution of 10,000 points per timeseries',
      'query_range',
      { ...week, step: '60' },
    ],
    [
      'an expression of ... bytes is longer than 16 KiB',
      'query',
      { query: `1${' '.repeat(17_000)}` },
    ],
    ['1:5: parse error: ...', 'query', { query: 'sum(' }],
  ];
  for (const [sentence, path, parameters] of cases) {
    t.ok(guide.includes(`\`${sentence}\``), `the guide has: ${sentence}`);
    const pattern = sentence.replaceAll(/[()]/g, '\\$&').replaceAll('...', '.*');
    const refused = { status: 400, body: { errorType: 'bad_data', error: new RegExp(pattern) } };
    t.match(await ask(program, path, parameters), refused, sentence);
  }
  for (const step of ['61', '1800']) {
    t.match(await ask(program, 'query_range', { ...week, step }), { status: 200 }, `${step} s`);
  }
}
