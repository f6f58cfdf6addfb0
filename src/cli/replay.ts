/**
 * `svc replay`: runs alert rules on a recording and prints the incidents and notifications that
 * they would have caused, as a report to keep and compare. It needs no service and sends nothing.
 */
import { readFileSync } from 'node:fs';
import { UnreadableRecording } from '../replay/csv.ts';
import { readRecording } from '../replay/recordings.ts';
import { type ReplayResult, replayRecording } from '../replay/replay.ts';
import { reportDifference, reportText } from '../replay/report.ts';
import { parseRules, UnusableRules } from '../replay/rules-file.ts';
import { type ActionContext, single } from './client/action.ts';
import { UsageError } from './client/faults.ts';
import { json } from './client/output.ts';
import { ProgressLine } from './client/progress-line.ts';
import { EXIT_FAULT, EXIT_OK } from './command.ts';

export const replayCommand = single({
  name: 'replay',
  summary: 'Run alert rules on a recording',
  positionals: [{ name: 'RECORDING' }],
  options: [
    { name: 'rules', takes: 'FILE', help: 'Rules as JSON: one specification or a list' },
    { name: 'expect', takes: 'FILE', help: 'Report to compare with; exit code 1 if it differs' },
    { name: 'interval', takes: 'DURATION', help: 'Sampling interval; default 30s' },
    { name: 'series', takes: 'COLUMN=SERIES', multiple: true, help: 'Series of a CSV column' },
    { name: 'project', takes: 'PROJECT', help: 'Project, for a recording of several projects' },
  ],
  notes: `
RECORDING is a file written by "svc record", a CSV with a header (a time column, optionally one named
vm, and one per series, such as svc_vm_cpu_utilization_pct), a Bitbrains trace, any of these gzipped,
or a folder of such files, one per VM. Times in the report are those of the recording, in UTC.
`,
  run: replay,
});

async function replay(context: ActionContext): Promise<number> {
  const { input, print, report } = context;
  const started = context.ports.clock.elapsed();
  const result = await asUsageErrors(() => replayOf(context));
  const seconds = (context.ports.clock.elapsed() - started) / 1000;
  report(speedText(result, seconds));
  const expected = input.text('expect');
  if (expected === undefined) {
    print(context.json ? json(result) : reportText(result));
    return EXIT_OK;
  }
  const difference = reportDifference(fileText(expected), reportText(result));
  if (difference === '') {
    print(context.json ? json({ agrees: true }) : `The report matches ${expected}\n`);
    return EXIT_OK;
  }
  print(
    context.json
      ? json({ agrees: false, difference })
      : `The report differs from ${expected}, ${difference}`,
  );
  return EXIT_FAULT;
}

async function replayOf({ input, surroundings }: ActionContext): Promise<ReplayResult> {
  const series = Object.fromEntries(input.list('series').map(seriesOf));
  const [intervalSeconds, project] = [input.seconds('interval'), input.text('project')];
  const rules = parseRules(fileText(input.required('rules')));
  const file = input.positional(0);
  const recording = withProgress(surroundings, 'read', (onProgress) =>
    readRecording(file, { series, onProgress }),
  );
  return await withProgress(surroundings, 'replayed', (onProgress) =>
    replayRecording({
      recording,
      rules,
      onProgress,
      ...(intervalSeconds !== undefined && { intervalSeconds }),
      ...(project !== undefined && { project }),
    }),
  );
}

/** Shows the progress of one part of the work, and ends its line. */
function withProgress<T>(
  surroundings: ActionContext['surroundings'],
  verb: string,
  work: (onProgress: (share: number) => void) => T,
): T {
  const line = new ProgressLine(surroundings, verb, 'the recording');
  const end = (): void => line.end();
  let result: T;
  try {
    result = work((share) => line.showShare(share));
  } catch (error) {
    end();
    throw error;
  }
  if (result instanceof Promise) result.then(end, end);
  else end();
  return result;
}

/** Unreadable recordings and rules are usage errors. */
async function asUsageErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isKnown = error instanceof UnreadableRecording || error instanceof UnusableRules;
    throw isKnown ? new UsageError(error.message) : error;
  }
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} could not be read: ${(error as Error).message}`);
  }
}

function seriesOf(text: string): [string, string] {
  const place = text.indexOf('=');
  if (place < 1)
    throw new UsageError(`--series must be COLUMN=SERIES, not ${JSON.stringify(text)}`);
  return [text.slice(0, place), text.slice(place + 1)];
}

function speedText({ rows, samples, spanMs }: ReplayResult, seconds: number): string {
  const faster = Math.round(spanMs / 1000 / Math.max(seconds, 0.001));
  const days = (spanMs / 86_400_000).toFixed(1);
  return (
    `${rows} rows, ${samples} samples, ${days} days in ${seconds.toFixed(2)} s: ` +
    `${faster} times faster than real time`
  );
}
