/**
 * `svc record`: captures the incoming samples of one project as a recording for `svc replay`. It
 * queries the service that runs on the data folder, as operators do.
 */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { RECORDING_HEADER } from '../../streams/alerting/recording.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import { RECORDING_PATH, type RecordedStretch } from '../admin/recording-routes.ts';
import { type ActionContext, single } from './client/action.ts';
import { Fault, UsageError } from './client/faults.ts';
import { json } from './client/output.ts';
import { EXIT_OK } from './command.ts';
import { dataOption, requestedSettings } from './service-folder.ts';

export const recordCommand = single({
  name: 'record',
  summary: 'Record the incoming samples of a project, for svc replay',
  positionals: [{ name: 'FILE' }],
  options: [
    { name: 'project', takes: 'PROJECT', help: 'Project id; default demo' },
    { name: 'for', takes: 'DURATION', help: 'Length of the recording; default: until Ctrl-C' },
    {
      name: 'since',
      takes: 'DURATION',
      help: 'Start this long ago, as far as the log reaches back',
    },
    dataOption,
  ],
  notes: `
FILE is written as readings arrive, so an interrupted recording is complete up to that point. An
existing file is refused. A recording holds readings and evaluated rules, and no names of people
or addresses.
`,
  run: record,
});

async function record(context: ActionContext): Promise<number> {
  const { input, environment, report, print, ports } = context;
  const file = input.positional(0);
  const project = input.text('project') ?? 'demo';
  const folder = requestedSettings(input, environment).data;
  const [forSeconds, sinceSeconds] = [input.seconds('for'), input.seconds('since')];
  begin(file);
  report(`Recording ${project} to ${file}${forSeconds === undefined ? ' until Ctrl-C' : ''}`);
  let entries = 0;
  const onLine = (line: unknown): void => {
    appendFileSync(file, `${String(line)}\n`);
    if (++entries % 20 === 0) report(`${entries} entries`);
  };
  const body = {
    project,
    ...(forSeconds !== undefined && { forMs: forSeconds * 1000 }),
    ...(sinceSeconds !== undefined && { sinceMs: ports.clock.now() - sinceSeconds * 1000 }),
  };
  const result = (await requested(folder, onLine, body).catch((error: unknown) => {
    // An empty file would block the next attempt.
    if (entries === 0) rmSync(file, { force: true });
    throw error;
  })) as RecordedStretch;
  print(
    context.json
      ? json({ file, ...result })
      : `${result.entries} entries in ${file}; replay it with: svc replay ${file} --rules FILE\n`,
  );
  return EXIT_OK;
}

/** Never overwrites an existing recording: it may be the only evidence of what happened. */
function begin(file: string): void {
  try {
    writeFileSync(file, `${RECORDING_HEADER}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new UsageError(`${file} already exists. Use another name`);
    }
    throw new UsageError(`${file} could not be created: ${(error as Error).message}`);
  }
}

async function requested(
  folder: string,
  onLine: (line: unknown) => void,
  body: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  try {
    return await askService(folder, RECORDING_PATH, onLine, body);
  } catch (error) {
    if (error instanceof NoService) {
      const hint = 'Start it with "svc serve", or specify its folder with --data';
      throw new Fault(`No service is running on ${folder}`, { hint });
    }
    if (error instanceof AdminFault) throw new Fault(error.message);
    throw error;
  }
}
