/**
 * Generator of docs/write-samples.md: the samples that `WriteSamples` stores, and those that it
 * rejects.
 */

import { rejectionCatalogue } from '../../actors/telemetry/ingest/rejections.ts';
import {
  SENT_SERIES,
  TEXT_LENGTH_MAX,
  VALUES_MAX,
} from '../../actors/telemetry/ingest/series-form.ts';
import { EXPANDED_SERIES } from '../../streams/telemetry/metrics/catalogue.ts';
import { seriesCatalogue } from '../../streams/telemetry/metrics/series-catalogue.ts';

/** The whole page. */
export function writeSamplesPage(): string {
  return [...refusalLines(), ...nameLines(), ...sourceLines()].join('\n');
}

function refusalLines(): string[] {
  return [
    '# WriteSamples',
    '',
    '`svc.ingest.v1.IngestService/WriteSamples` stores a batch of rows and answers once they are durable. A row has the readings of one VM',
    'at one observation time. Senders are collectors, agents, `svc samples write` and your own programs: [sdk.md](sdk.md#any-source-in-typescript)',
    'has examples, [sources.md](sources.md) lists the series. Generated from the tables in `actors/telemetry/ingest` by `npm run generate`.',
    '',
    '## Rejections',
    '',
    'A part that cannot be stored causes the smallest possible rejection. Everything else of the batch is stored, in JSON and in binary alike. The',
    'response lists each rejected part in `rejected`, at most 5,000; `rejectedNotListed` counts the rest:',
    '',
    '| field | meaning |',
    '| --- | --- |',
    '| `row` | index of the row in the request |',
    '| `field` | path of the rejected part: `rows[3]`, `rows[3].displayName`, `rows[3].values[0].labels` |',
    '| `series` | the series, or the field of the row; empty for the whole row |',
    '| `reason` | the code in the table below |',
    '| `message` | what is wrong and what to do, with the nearest allowed name for a misspelt one |',
    '| `rowRefused` | true: nothing of the row is stored |',
    '',
    '| reason | rejects | cause |',
    '| --- | --- | --- |',
    ...Object.entries(rejectionCatalogue).map(
      ([reason, { refuses, cause }]) =>
        `| \`${reason}\` | ${refuses.map((one) => REFUSED[one]).join(', ')} | ${cause} |`,
    ),
    '',
    'Only faults of the request itself reject the request, and nothing of it is stored:',
    '',
    '| cause | answer |',
    '| --- | --- |',
    '| the body is not JSON or not a message, an object has a name twice, `rows` is not a list, a field beside `rows` is unknown or of a wrong type | 400 `INVALID_FIELD` |',
    '| `projectName` is missing or malformed, `batchId` has more than 128 characters | 400 `INVALID_FIELD` |',
    '| the body is larger than 1 MiB | 400 `REQUEST_TOO_LARGE` |',
    '| the key is not valid, does not belong to a collector or agent, or is not for this project; a row names a VM of another project | 401, 403 |',
    '| a rate or the memory for new rows is used up | 429 `TOO_MANY_REQUESTS` with `Retry-After`; keep the batch |',
    '| the service cannot store at the moment | 503 `NOT_READY`; keep the batch |',
    '',
    `Text has at most ${TEXT_LENGTH_MAX} characters, a row at most ${VALUES_MAX.toLocaleString('en-US')} values of 160 KiB of series, and a series at most 8 labels.`,
    '',
  ];
}

function nameLines(): string[] {
  return [
    '## Values',
    '',
    'Send what was observed, and omit the whole entry if there was no reading: null, `NaN` and infinities are rejected. A client that',
    'declares schema version 2 (header `svc-schema-version: 2`; [versions.md](versions.md)) sends each zero, and an entry without `value` is',
    'rejected. Older clients omit zeros, so their entry without `value` is a zero. Both SDKs declare version 2.',
    '',
    '## Names',
    '',
    'Names that start with `svc_` or `ALERTS` are reserved. A sender may use only the reserved names below, so that a misspelt name is found',
    'by the sender. All other names are free.',
    '',
    '| series | sent by |',
    '| --- | --- |',
    ...SENT_SERIES.map((name) => `| \`${name}\` | ${senderOf(name)} |`),
    '',
    'These series follow from fields of the row. Set the field instead:',
    '',
    '| series | field |',
    '| --- | --- |',
    ...[...seriesCatalogue.values()].flatMap(({ name, rowField }) =>
      rowField === undefined ? [] : [`| \`${name}\` | \`${rowField}\` |`],
    ),
    '',
    'Label names that start with `__` or `vm_label_`, and `project`, `vm`, `vm_name` and `datacenter`, are set by the service. The same rules',
    'apply to the collectors of the service, `svc collect`, agents, `svc samples write` and the CSV of a replay.',
    '',
  ];
}

function sourceLines(): string[] {
  return [
    '## What sources leave out',
    '',
    'The sources of this project apply the same rules before they send. They cut names, and omit readings that cannot be stored, such as',
    'those of a mount path of more than 200 characters. The row is sent with the other readings. Omitted readings are counted and named:',
    '',
    '| where | content |',
    '| --- | --- |',
    '| `svc collect status`, `svc agent status`, log of the collector | the currently omitted readings, by VM |',
    '| `svc admin collectors` | causes by collector, project and VM, of the last quarter of an hour: omitted by the source, or rejected here. `REPORTED_ELSEWHERE` is counted by VM in the column ELSEWHERE |',
    '| `svc notices`, the dashboard | a notice `READINGS_REFUSED` to the project, as long as such readings arrive |',
    '| metrics of the service | `svc_samples_left_out_total` and `svc_samples_rejected_total`, by reason |',
    '',
    'A sender of this project divides a batch that the service rejects until only the rejected row is left. That row is dropped, counted and',
    'named; all others are stored.',
    '',
  ];
}

const REFUSED = { VALUE: 'the value', FIELD: 'the field', ROW: 'the row' } as const;

function senderOf(name: string): string {
  return EXPANDED_SERIES.has(name) ? 'agents' : 'collectors';
}
