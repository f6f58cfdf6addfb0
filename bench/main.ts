/**
 * `npm run bench [name…]`: runs the named benches one after another, all of them by default. They
 * print tables and decide nothing: a figure depends on the machine, and on what else runs on it.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { run as alertLatency } from './alert-latency.ts';
import { run as alertingPeers } from './alerting-peers.ts';
import { run as anonymousCost } from './anonymous-cost.ts';
import { run as authentication } from './authentication.ts';
import { run as ciTokens } from './ci-tokens.ts';
import { run as commits } from './commits.ts';
import { run as dashboard } from './dashboard.ts';
import { run as evaluator } from './evaluator.ts';
import { run as exchange } from './exchange.ts';
import { run as exportShard } from './export.ts';
import { run as history } from './history.ts';
import { run as ingest } from './ingest.ts';
import { run as mainThread } from './main-thread.ts';
import { run as preview } from './preview.ts';
import { run as queryStorm } from './query-storm.ts';
import { run as reading } from './reading.ts';
import { run as start } from './start.ts';
import { run as streams } from './streams.ts';

const benches: Readonly<Record<string, () => Promise<void>>> = {
  ingest,
  'alert-latency': alertLatency,
  'alerting-peers': alertingPeers,
  evaluator,
  'main-thread': mainThread,
  start,
  history,
  exchange,
  export: exportShard,
  reading,
  'query-storm': queryStorm,
  preview,
  streams,
  commits,
  'ci-tokens': ciTokens,
  'anonymous-cost': anonymousCost,
  authentication,
  dashboard,
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}: ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}
for (const [name, run] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue;
  const load = loadavg()[0]?.toFixed(1);
  console.log(`\n${name}: ${cpus()[0]?.model}, ${availableParallelism()} CPUs, load ${load}`);
  await run();
}
