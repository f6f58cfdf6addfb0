/** The text of an export: its times, and which of the two formats a client gets. */
import t from 'tap';
import { Exposition } from '../../src/export/exposition.ts';
import { formatFor } from '../../src/http/negotiation.ts';
import { START_MS } from '../support/credential-world.ts';

t.test('a time of OpenMetrics reads as its millisecond, as Prometheus cuts it off', (t) => {
  for (let i = 0; i < 20_000; i++) {
    // Doubles of seconds are fine enough for it until 2038.
    const timeMs = START_MS + i * 18_000_017;
    const exposition = new Exposition('openmetrics');
    const vm = { project: 'p', vm: 'v', displayName: 'n', datacenter: 'd' };
    exposition.add(vm, [{ key: 'svc_vm_load1', timeMs, value: 1 }]);
    const seconds = Number(/ 1 (\S+)\n/.exec(exposition.text())?.[1]);
    if (Math.trunc(seconds * 1000) !== timeMs) t.fail(`${timeMs} reads as ${seconds}`);
  }
  t.pass('20,000 times until 2037');
  t.end();
});

t.test('the format follows the Accept header', (t) => {
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
  t.end();
});
