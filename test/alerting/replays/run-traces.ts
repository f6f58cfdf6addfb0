/**
 * `npm run replay:traces -- FOLDER [--write]`: replays every set of traces below FOLDER and
 * compares each report with the stored one; exit code 1 if one differs. `--write` replaces them.
 */
import { checkTraces, keepReport, traceSets } from './trace-reports.ts';

const [traces, flag] = process.argv.slice(2);
if (traces === undefined) {
  process.stderr.write('Usage: npm run replay:traces -- FOLDER [--write]\n');
  process.exit(2);
}
let differing = 0;
for (const set of traceSets) {
  const started = performance.now();
  let verdict = 'kept';
  if (flag === '--write') await keepReport(set, traces);
  else {
    const difference = await checkTraces(set, traces);
    verdict = difference === '' ? 'as kept' : `DIFFERS, ${difference}`;
    if (difference !== '') differing++;
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(2);
  process.stdout.write(`${set.name.padEnd(42)} ${seconds.padStart(6)} s  ${verdict}\n`);
}
process.exitCode = differing > 0 ? 1 : 0;
