/**
 * `npm run conformance:promql -- PATH...`: runs all scripts of the folders (or the one script) that
 * each PATH names, prints differences, and counts passed and failed evaluations for each file. Exit
 * code 1 if any failed.
 */
import { type FileReport, runFolder } from './script/run-folder.ts';

const paths = process.argv.slice(2);
if (paths.length === 0) {
  print('Usage: npm run conformance:promql -- PATH...   (folders of .test files, or files)');
  process.exit(2);
}

const rows = paths.flatMap((path) => runFolder(path)).map(tally);
const width = Math.max(...rows.map(({ file }) => file.length), 4);
print(`${'file'.padEnd(width)} | passed | failed | not applicable`);
for (const { file, passed, failed, notApplicable } of rows) {
  const counts = [String(passed).padStart(6), String(failed).padStart(6), notApplicable];
  print(`${file.padEnd(width)} | ${counts.join(' | ')}`);
}
const sum = (count: 'passed' | 'failed' | 'notApplicable') =>
  rows.reduce((total, row) => total + row[count], 0);
print(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('notApplicable')} not applicable`);
process.exitCode = sum('failed') > 0 || rows.length === 0 ? 1 : 0;

/** Counts outcomes, and prints failures and skipped evaluations. */
function tally({ file, outcomes, fault }: FileReport) {
  const counts = { file, passed: 0, failed: 0, notApplicable: 0 };
  for (const { line, expression, differences, notApplicable } of outcomes) {
    if (notApplicable !== null) {
      counts.notApplicable++;
      print(`not applicable ${file}:${line} ${expression}\n    ${notApplicable}`);
    } else if (differences.length === 0) {
      counts.passed++;
    } else {
      counts.failed++;
      print(`FAILED ${file}:${line} ${expression}\n    ${differences.join('\n    ')}`);
    }
  }
  if (fault !== null) {
    counts.failed++;
    print(`FAILED ${file}: ${fault}`);
  }
  return counts;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
