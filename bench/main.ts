/**
 * `npm run bench [name…] [-- --kills N]`: runs the named benches one after another, by default all
 * of them. They print tables and assert nothing: a figure depends on the machine and its other
 * work.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';

const given = process.argv.slice(2);
const firstFlag = given.findIndex((argument) => argument.startsWith('--'));
const names = firstFlag < 0 ? given : given.slice(0, firstFlag);
const flags = given.slice(names.length);

/** Imported one by one: modules loaded by one bench would count as memory of another. */
const benches: Readonly<Record<string, () => Promise<{ run(): Promise<void> }>>> = {
  ingest: () => import('./ingest.ts'),
  'write-path': async () => {
    const { run } = await import('./write-path.ts');
    return { run: () => run(flags) };
  },
  'alert-latency': () => import('./alert-latency.ts'),
  'alerting-peers': () => import('./alerting-peers.ts'),
  evaluator: () => import('./evaluator.ts'),
  checkpoint: () => import('./checkpoint.ts'),
  'main-thread': () => import('./main-thread.ts'),
  start: () => import('./start.ts'),
  history: () => import('./history.ts'),
  fleet: () => import('./fleet.ts'),
  exchange: () => import('./exchange.ts'),
  export: () => import('./export.ts'),
  reading: () => import('./reading.ts'),
  'query-storm': () => import('./query-storm.ts'),
  preview: () => import('./preview.ts'),
  streams: () => import('./streams.ts'),
  commits: () => import('./commits.ts'),
  'ci-tokens': () => import('./ci-tokens.ts'),
  'anonymous-cost': () => import('./anonymous-cost.ts'),
  authentication: () => import('./authentication.ts'),
  cluster: async () => {
    const { run } = await import('./cluster.ts');
    return { run: () => run(flags) };
  },
  restart: async () => {
    const { run } = await import('./restart.ts');
    return { run: () => run(flags) };
  },
  dashboard: () => import('./dashboard.ts'),
};

const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}: use ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
for (const [name, load] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const busy = loadavg()[0]?.toFixed(1);
  console.log(`\n${name}: ${cpus()[0]?.model}, ${availableParallelism()} CPUs, load ${busy}`);
  await (await load()).run();
}
