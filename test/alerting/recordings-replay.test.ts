/**
 * Recordings replay forever: each file of test/alerting/replays goes through the evaluation
 * pipeline, and its edges are compared with the text beside it. `SVC_TEST_UPDATE=replays` updates
 * that text, to be reviewed as a diff.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import {
  formatRecording,
  MalformedRecording,
  parseRecording,
} from '../../streams/alerting/recording.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import { evaluateLog, logOf } from '../support/evaluation-log.ts';

const folder = new URL('./replays/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.recording'))
  .map((name) => name.slice(0, -'.recording'.length));

/** Edges as text: the entry's position, the edge, and the values that decided it. */
function edgesText(entries: readonly LogEntry[]): string {
  const line = (
    sequence: number,
    { atMs, window, ...edge }: Edge & { window?: unknown },
  ): string => {
    const { kind, key, ...facts } = edge;
    return `${sequence} ${kind} ${atMs} ${JSON.stringify(facts)} ${JSON.stringify(key)}${
      window === undefined ? '' : `\n    ${JSON.stringify(window)}`
    }`;
  };
  return evaluateLog(logOf(entries))
    .flatMap(({ sequence, edges }) => edges.map((edge) => `${line(sequence, edge)}\n`))
    .join('');
}

for (const name of names) {
  test(`the recording ${name} produces the edges beside it`, async (t) => {
    const recording = readFileSync(new URL(`${name}.recording`, folder), 'utf8');
    const edges = new URL(`${name}.edges`, folder);
    const entries = parseRecording(recording);
    if (process.env.SVC_TEST_UPDATE === 'replays') writeFileSync(edges, edgesText(entries));
    t.equal(edgesText(entries), readFileSync(edges, 'utf8'));
    const again = parseRecording(formatRecording(entries));
    t.equal(edgesText(again), edgesText(entries), 'a new recording of the same entries does too');
  });
}

test('an unreadable recording is rejected with the line number', async (t) => {
  t.ok(names.length > 2, 'there are recordings');
  t.throws(
    () => parseRecording('svc-recording 2\n'),
    new MalformedRecording('Line 1 must be "svc-recording 1", but is "svc-recording 2"'),
  );
  t.throws(
    () => parseRecording('svc-recording 1\n\n{"tock": 1}\n'),
    /Line 3: An entry must be a tick/,
  );
  t.throws(() => parseRecording('svc-recording 1\n{"tick": \n'), /Line 2: /);
  const nothing =
    '{"batch": {"receivedMs": 1, "rows": [{"project": "p", "vm": "v", "values": {"a": null}}]}}';
  t.throws(() => parseRecording(`svc-recording 1\n${nothing}\n`), /Line 2: .*not finite/);
});
