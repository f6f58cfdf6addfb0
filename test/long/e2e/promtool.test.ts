/**
 * promtool 3.5.3 against the program as a user starts it: each of its commands that queries a
 * server, with the key in an HTTP configuration file, as `docs/reading.md` describes for
 * dashboards.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';

const CPU = 'svc_vm_cpu_seconds_total';

test('promtool 3.5.3 reads a project', needs('promtool 3.5.3'), async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  await writeSamples(program);
  const { demo } = program;
  const base = `${demo.baseUrl}/v1/monitoring/projects/demo/promql`;
  const config = httpConfig(folder, 'key.yml', demo.apiKey);
  const promtool = (...args: string[]) => run([...args, `--http.config.file=${config}`]);
  await until('the samples are stored', async () => {
    const { text } = await promtool('query', 'instant', base, CPU);
    return text === '' ? undefined : true;
  });

  await t.test('query instant URL EXPR', async (t) => {
    const { code, text } = await promtool('query', 'instant', base, CPU);
    t.equal(code, 0);
    t.match(text, /^svc_vm_cpu_seconds_total\{.*project="demo".*vm="vm-1".*\} => 300 @\[\d+/m);
    t.match((await promtool('query', 'instant', base, '1+1')).text, /^scalar: 2 @\[/);
  });

  await t.test('query range URL EXPR: the default range with a step of 30 s', async (t) => {
    const range = ['query', 'range', '--step=30s', base, `sum(rate(${CPU}[1m]))`];
    const { code, text } = await promtool(...range);
    t.equal(code, 0);
    // The steps' positions between samples decide the last bit of the extrapolated rate.
    const [, rate] = /^\{\} =>\n(\S+) @\[/.exec(text) ?? [];
    t.ok(Math.abs(Number(rate) - 1) < 1e-12, text);
    const json = await promtool(...range, '--format=json');
    t.equal(JSON.parse(json.text).length, 1);
  });

  await t.test('query range URL EXPR: its own step of 1 s is raised to 30 s', async (t) => {
    const { code, text } = await promtool('query', 'range', base, CPU);
    t.equal(code, 0);
    t.match(text, /^svc_vm_cpu_seconds_total\{.*vm="vm-1".*\} =>\n/);
  });

  await t.test('query series --match=M URL: 9999 hours into the past and the future', async (t) => {
    const { code, text } = await promtool('query', 'series', `--match=${CPU}`, base);
    t.equal(code, 0);
    t.match(text, /^\{__name__="svc_vm_cpu_seconds_total", .*vm="vm-1".*\}$/m);
    t.match((await promtool('query', 'series', '--match={}', base)).text, /bad_data/);
  });

  await t.test('query labels URL NAME', async (t) => {
    const { code, text } = await promtool('query', 'labels', base, 'vm');
    t.equal(code, 0);
    t.equal(text, 'vm-1\nvm-2\n');
    t.equal(
      (await promtool('query', 'labels', `--match=${CPU}{vm="vm-2"}`, base, 'vm')).text,
      'vm-2\n',
    );
  });

  await t.test('query analyze', async (t) => {
    const { code, text } = await promtool(
      ...['query', 'analyze', `--server=${base}`, '--type=histogram'],
      ...['--match=request_seconds_bucket', '--duration=10m'],
    );
    t.equal(code, 0, text);
    t.match(text, /request_seconds_bucket\{.*vm="vm-1".*\} \(classic\): 3\/3\.000\/3/);
  });

  await t.test('check healthy and check ready --url=URL', async (t) => {
    t.match(await promtool('check', 'healthy', `--url=${base}`), { code: 0, text: /SUCCESS/ });
    t.match(await promtool('check', 'ready', `--url=${base}`), { code: 0, text: /SUCCESS/ });
    t.match(await run(['check', 'healthy', `--url=${demo.baseUrl}`]), { code: 0 });
  });

  await t.test('a wrong key, a missing key and another project are reported', async (t) => {
    const wrong = httpConfig(folder, 'wrong.yml', `${demo.apiKey}x`);
    const requested = ['query', 'instant', `--http.config.file=${wrong}`, base, CPU];
    t.match(await run(requested), { code: 1, text: /401.*MALFORMED_CREDENTIAL/ });
    t.match(await run(['query', 'instant', base, CPU]), {
      code: 1,
      text: /401.*MISSING_CREDENTIAL/,
    });
    const other = base.replace('/demo/', '/other/');
    t.match(await promtool('query', 'instant', other, CPU), {
      code: 1,
      text: /403.*PROJECT_BOUNDARY/,
    });
  });

  t.equal(await program.stop(), 0);
});

/** Ten minutes of two VMs up to now: one busy core each, and a classic histogram. */
async function writeSamples(program: Program): Promise<void> {
  const nowMs = Date.now();
  const rows = ['vm-1', 'vm-2'].flatMap((vmName) =>
    Array.from({ length: 21 }, (_, i) => ({
      vmName,
      observedUnixMs: String(nowMs - (20 - i) * 30_000),
      values: [
        { series: CPU, value: vmName === 'vm-1' ? 15 * i : 15 * i + 1 },
        ...['0.1', '1', '+Inf'].map((le, step) => {
          return { series: 'request_seconds_bucket', labels: { le }, value: i * (step + 1) };
        }),
        { series: 'request_seconds_count', value: 3 * i },
        { series: 'request_seconds_sum', value: i },
      ],
    })),
  );
  const answer = await program.call(
    'ingest.v1.IngestService/WriteSamples',
    { projectName: program.demo.projectName, rows },
    program.demo.collectorKey,
  );
  if (answer.status !== 200) throw new Error(`Not written: ${JSON.stringify(answer.body)}`);
}

function httpConfig(folder: string, name: string, key: string): string {
  const path = join(folder, name);
  writeFileSync(path, `authorization:\n  type: Bearer\n  credentials: ${key}\n`);
  return path;
}

/** Runs promtool to its end, at most 20 s. `text` is everything that it printed. */
function run(args: readonly string[]): Promise<{ code: number; text: string }> {
  const options = { timeout: 600_000, encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    execFile(componentPath('promtool 3.5.3'), args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, text: stdout + stderr });
    });
  });
}
