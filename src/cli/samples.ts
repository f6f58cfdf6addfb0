/**
 * `svc samples write`: writes readings from a CSV into a project, with a collector key. Lines sent
 * again are not stored twice, because the id of a batch is derived from its content.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { IngestService, type Rejected } from '../gen/svc/ingest/v1/ingest_pb.ts';
import { type CsvRow, csvRows, UnreadableRecording } from '../replay/csv.ts';
import { rowMessage } from '../vms/agent/row-message.ts';
import { type Action, type ActionContext, family, projectOption } from './client/action.ts';
import type { Api } from './client/api.ts';
import { Fault, UsageError } from './client/faults.ts';
import { projectName } from './client/names.ts';
import { json, table } from './client/output.ts';
import { ProgressLine } from './client/progress-line.ts';
import { EXIT_FAULT, EXIT_OK } from './command.ts';

const writeAction: Action = {
  name: 'write',
  summary: 'Write the readings of a CSV into a project',
  options: [
    { name: 'csv', takes: 'FILE', help: 'The CSV; - reads standard input' },
    { name: 'vm', takes: 'ID', help: 'VM of lines whose vm column is missing or empty' },
    projectOption,
  ],
  notes: `
The first line names the columns: a time (time or timestamp, Unix or ISO), vm, and optionally name,
state, vcpus and boot; every other column is a series, such as svc_vm_cpu_seconds_total or
svc_vm_network_receive_bytes_total{interface="eth0"}. An empty cell means that no reading was taken.
Cells with commas, quotes or line breaks are quoted as in RFC 4180.
The caller is a collector: set SVC_API_KEY to its key. Lines sent twice are stored once. Exit code
1: some readings were rejected; they are listed, and the others are stored.
`,
  run: write,
};

interface Total {
  accepted: number;
  duplicates: number;
  readonly rejected: (Pick<Rejected, 'row' | 'series' | 'reason'> & {
    readonly vm: string;
    /** Line of the file. */
    readonly line: number;
  })[];
}

async function write(context: ActionContext): Promise<number> {
  const rows = await readRows(context);
  const api = context.api('any');
  const project = await projectName(context, api);
  const progress = new ProgressLine(context.surroundings, 'sent', 'the CSV');
  const onProgress = (share: number): void => progress.showShare(share);
  const sending = send({ api, project, rows, onProgress });
  const total = await sending.finally(() => progress.end());
  if (context.json) context.print(json(total));
  else printTotal(context, total);
  return total.rejected.length === 0 ? EXIT_OK : EXIT_FAULT;
}

async function send({
  api,
  project,
  rows,
  onProgress,
}: {
  readonly api: Api;
  readonly project: string;
  readonly rows: readonly CsvRow[];
  readonly onProgress: (share: number) => void;
}): Promise<Total> {
  const total: Total = { accepted: 0, duplicates: 0, rejected: [] };
  let first = 0;
  for (const batch of batchesOf(rows)) {
    const request = {
      projectName: project,
      batchId: batchIdOf(batch),
      rows: batch.map(({ row }) => rowMessage(row)),
    };
    const answer = await api.call(IngestService.method.writeSamples, request);
    total.accepted += Number(answer.accepted);
    total.duplicates += Number(answer.duplicates);
    for (const { row, series, reason } of answer.rejected) {
      const { row: sent, line = 0 } = batch[row] ?? {};
      total.rejected.push({ row: first + row, line, vm: sent?.vm ?? '', series, reason });
    }
    first += batch.length;
    onProgress(first / rows.length);
  }
  return total;
}

function printTotal({ print, report }: ActionContext, total: Total): void {
  const { accepted, duplicates, rejected } = total;
  print(`${accepted} readings stored; ${duplicates} rows were already stored\n`);
  if (rejected.length === 0) return;
  const lines = rejected.map(({ line, vm, series, reason }) => [
    String(line),
    vm,
    series || 'the row',
    reason,
  ]);
  report(`Rejected:\n${table(['LINE', 'VM', 'SERIES', 'REASON'], lines, '').trimEnd()}`);
}

async function readRows({ input, ports }: ActionContext): Promise<readonly CsvRow[]> {
  const file = input.required('csv');
  const vm = input.text('vm') ?? '';
  try {
    const text = file === '-' ? await ports.readInput() : readFileSync(file, 'utf8');
    return csvRows(text, { vm, name: file === '-' ? 'the CSV' : file });
  } catch (error) {
    if (error instanceof UnreadableRecording) throw new UsageError(error.message);
    throw new Fault(`${file} could not be read: ${error instanceof Error ? error.message : error}`);
  }
}

/** Readings per request: about 500 KiB of JSON; a request may have 1 MiB. */
const BATCH_READINGS_MAX = 4_000;
const BATCH_ROWS_MAX = 1_000;

function* batchesOf(rows: readonly CsvRow[]): Generator<readonly CsvRow[]> {
  let batch: CsvRow[] = [];
  let readings = 0;
  for (const one of rows) {
    const { length } = one.row.values;
    const isFull = readings + length > BATCH_READINGS_MAX;
    if (batch.length > 0 && (isFull || batch.length === BATCH_ROWS_MAX)) {
      yield batch;
      batch = [];
      readings = 0;
    }
    batch.push(one);
    readings += length;
  }
  if (batch.length > 0) yield batch;
}

/** Hash of the rows without their lines, so that moved rows are the same batch. */
function batchIdOf(rows: readonly CsvRow[]): string {
  const text = JSON.stringify(rows.map(({ row }) => row));
  return `csv-${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
}

export const samplesCommand = family('samples', 'Write readings from any source', [writeAction]);
