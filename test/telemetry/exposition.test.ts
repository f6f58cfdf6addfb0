/** The text of an export: its times, and the choice between the two formats for a client. */
import fc from 'fast-check';
import { test } from 'tap';
import { Exposition, formatFor } from '../../src/telemetry/export/exposition.ts';
import { hasPlainValues, seriesKey } from '../../streams/telemetry/samples/batch.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

test('an OpenMetrics time is read as its millisecond, as Prometheus truncates it', async (t) => {
  for (let i = 0; i < 20_000; i++) {
    // Doubles of seconds are precise enough until 2038.
    const timeMs = START_MS + i * 18_000_017;
    const exposition = new Exposition('openmetrics');
    const vm = { project: 'p', vm: 'v', displayName: 'n', datacenter: 'd' };
    exposition.add(vm, [{ key: 'svc_vm_load1', timeMs, value: 1 }]);
    const seconds = Number(/ 1 (\S+)\n/.exec(exposition.text())?.[1]);
    if (Math.trunc(seconds * 1000) !== timeMs) t.fail(`${timeMs} is read as ${seconds}`);
  }
  t.pass('20,000 times until 2037');
});

/** Parses a sample line by the grammar of Prometheus's text format. */
function parseSample(line: string): { name: string; labels: Record<string, string> } {
  const [, name = '', part = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} \S+(?: \S+)?$/.exec(line) ?? [];
  const labels: Record<string, string> = {};
  const pair = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y;
  while (pair.lastIndex < part.length) {
    const [, label = '', value = ''] = pair.exec(part) ?? [];
    if (label === '') throw new Error(`Not a list of labels: ${part}`);
    labels[label] = value.replaceAll(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
  }
  return { name, labels };
}

test('labels that ingest accepts are read back unchanged from an export', async (t) => {
  const value = fc.array(
    fc.constantFrom('\\', '"', 'n', '=', ',', '{', '}', ' ', '\n', '\r', 'ü', '\u{1F600}'),
  );
  const series = 'svc_vm_filesystem_used_bytes';
  fc.assert(
    fc.property(value, value, (one, two) => {
      const labels = { device: one.join(''), mountpoint: two.join('') };
      const key = seriesKey(series, labels);
      const isTaken = !/[\r\n]/.test(labels.device + labels.mountpoint);
      t.equal(hasPlainValues(key), isTaken, key);
      if (!isTaken) return;
      const exposition = new Exposition('text');
      const vm = { project: 'p', vm: 'v', displayName: labels.device, datacenter: 'd' };
      exposition.add(vm, [{ key, timeMs: START_MS, value: 1 }]);
      const [line = ''] = exposition
        .text()
        .split('\n')
        .filter((text) => !text.startsWith('#'));
      const own = { datacenter: 'd', project: 'p', vm: 'v', vm_name: labels.device };
      t.same(parseSample(line), { name: series, labels: { ...own, ...labels } });
    }),
    { numRuns: tries(300) },
  );
});

test('the format follows the Accept header', async (t) => {
  const prometheus3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,' +
    'application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,' +
    'text/plain;version=0.0.4;q=0.2,*/*;q=0.1';
  const cases: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'text'],
    ['*/*', 'text'],
    [prometheus3, 'openmetrics'],
    ['text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.4', 'text'],
    ['application/openmetrics-text', 'openmetrics'],
    ['Application/OpenMetrics-Text; Version="1.0.0"', 'openmetrics'],
    ['application/openmetrics-text;version=0.0.1', 'text'],
    ['application/openmetrics-text;q=0', 'text'],
    ['application/json', 'text'],
    [',;=,', 'text'],
  ];
  for (const [accept, format] of cases) t.equal(formatFor(accept), format, accept ?? 'none');
});
