/** Progress of long commands: one line that is updated on a terminal, and nothing elsewhere. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { ProgressLine } from '../../src/cli/client/progress-line.ts';
import type { Surroundings } from '../../src/cli/command.ts';
import { runCommand } from '../../src/cli/program.ts';
import { replayCommand } from '../../src/cli/replay.ts';
import { cpuSpec } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';

function surroundingsOf(isTerminal: boolean) {
  const errors: string[] = [];
  const surroundings: Surroundings = {
    environment: {},
    stdout: () => {},
    stderr: (text) => void errors.push(text),
    log: () => {},
    isTerminal,
    onSignal: () => () => {},
    exitNow: () => {},
  };
  return { surroundings, errors };
}

test('progress is printed in steps of one percent, and ends with a newline', async (t) => {
  const { surroundings, errors } = surroundingsOf(true);
  const line = new ProgressLine(surroundings, 'sent', 'the CSV');
  for (const share of [0, 0.001, 0.5, 0.504, 0.25, 1, 1.5]) line.showShare(share);
  line.end();
  t.same(errors, ['\rsent 50 % of the CSV', '\rsent 100 % of the CSV', '\n']);
});

test('svc replay shows its progress only on a terminal', async (t) => {
  const folder = t.testdir({});
  const rules = join(folder, 'rules.json');
  const spec = cpuSpec({ displayName: 'CPU is busy' });
  writeFileSync(rules, JSON.stringify(spec));
  const file = join(folder, 'recorded.csv');
  const lines = Array.from({ length: 1_200 }, (_, i) => `${1_700_000_000 + i * 30},50`);
  writeFileSync(file, `time,${CPU}\n${lines.join('\n')}\n`);
  for (const isTerminal of [true, false]) {
    const { surroundings, errors } = surroundingsOf(isTerminal);
    t.equal(await runCommand(replayCommand, [file, '--rules', rules], surroundings), 0);
    const text = errors.join('');
    t.equal(text.includes('\rread 100 % of the recording\n'), isTerminal);
    t.equal(/\rreplayed \d+ % of the recording\n1200 rows/.test(text), isTerminal);
    t.match(text, /1200 rows, 1200 samples/);
  }
});
