/**
 * `npm run fuzz:promql -- [--seeds N] [--from S] [--seconds T]`: evaluates random expressions over
 * random data with a real Prometheus 3.5.3 and with our engine, after the queries of the compliance
 * tester if their recorded answers are available. Each difference is printed with its seed, shrunk
 * as far as possible: `--from SEED --seeds 1` repeats it. Exit code 1 if there was any.
 */
import { parseArgs } from 'node:util';
import { componentPath, optionalPath } from '../../support/components.ts';
import { formatAnswer } from './answer.ts';
import { runCompliance } from './compliance.ts';
import { type Disagreement, fuzz } from './fuzz/differential.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '0' },
    seconds: { type: 'string', default: 'Infinity' },
  },
});

const startedMs = performance.now();
const compliant = complianceAgrees();
const report = await fuzz({
  program: componentPath('prometheus 3.5.3'),
  from: Number(values.from),
  seeds: Number(values.seeds),
  isOver: () => performance.now() - startedMs > Number(values.seconds) * 1000,
  onDisagreement: printDisagreement,
});
for (const [reason, count] of report.known) print(`${count} known differences: ${reason}`);
const { expressions, withSamples, empty, errors, disagreements } = report;
print(
  `${expressions} expressions; answers that agree: ${withSamples} with samples, ${empty} empty, ` +
    `${errors} errors; ${disagreements.length} disagree`,
);
process.exitCode = disagreements.length === 0 && expressions > 0 && compliant ? 0 : 1;

function complianceAgrees(): boolean {
  const shared = optionalPath('shared folder');
  if (shared === undefined) {
    print(
      'Skips the compliance queries: they are beside the checkout where the project is developed',
    );
    return true;
  }
  const outcomes = runCompliance(`${shared}/conformance`);
  const failed = outcomes.filter(({ differences }) => differences.length > 0);
  for (const { query, differences } of failed) {
    print(`COMPLIANCE ${query}\n    ${differences.join('\n    ')}`);
  }
  print(`${outcomes.length} compliance queries, ${failed.length} disagree`);
  return failed.length === 0;
}

function printDisagreement(found: Disagreement): void {
  const { seed, expression, times, lookbackMs, differences, prometheus, ours } = found;
  print(`\nDISAGREE seed ${seed}, ${JSON.stringify({ ...times, lookbackMs })}`);
  print(`  ${expression}`);
  for (const difference of differences) print(`    ${difference}`);
  print(`Prometheus: ${formatAnswer(prometheus)}\nours: ${formatAnswer(ours)}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
