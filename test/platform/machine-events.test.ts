/**
 * Every event on a drawing has a sender, and every event that is sent is on a drawing. The charts
 * define the events that they accept; the sources are read as text for the events that they declare
 * and construct. A file sends to the machines that it names: every `type: '...'` in it is an event
 * of one of them.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { machineDefinitions } from '../../machines/audit/registry.ts';

const ROOT = join(import.meta.dirname, '../..');

/** A machine, the events that its chart accepts, and the events that it raises itself. */
interface ChartEvents {
  readonly machine: string;
  /** Path of the chart, without its ending. */
  readonly file: string;
  readonly taken: readonly string[];
  /** Events declared by the type of the machine's events. */
  readonly declared: readonly string[];
  readonly raised: readonly string[];
}

/** A file that sends events, with the machines that it names. */
interface Sender {
  readonly file: string;
  readonly machines: readonly string[];
  readonly events: readonly string[];
}

/** `machine event`, where the chart accepts the event and nothing sends it. */
function unsent(charts: readonly ChartEvents[], senders: readonly Sender[]): string[] {
  return charts.flatMap(({ machine, taken, raised }) => {
    const sent = senders.filter(({ machines }) => machines.includes(machine));
    const known = new Set([...raised, ...sent.flatMap(({ events }) => events)]);
    return taken.filter((event) => !known.has(event)).map((event) => `${machine} ${event}`);
  });
}

/** `file event`, where the file sends the event and no chart that it names accepts it. */
function untaken(charts: readonly ChartEvents[], senders: readonly Sender[]): string[] {
  const taken = new Map(charts.map((chart) => [chart.machine, chart.taken]));
  return senders.flatMap(({ file, machines, events }) => {
    const known = new Set(machines.flatMap((machine) => taken.get(machine) ?? []));
    return events.filter((event) => !known.has(event)).map((event) => `${file} ${event}`);
  });
}

/** Strips comments: the events that they name are not sent. */
function codeOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replace(/^\s*(?:\/\*\*|\*|\/\/).*$/gm, '');
}

const sources = new Map(
  globSync('{machines,streams,sqlite,actors,src}/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.startsWith('src/gen/'))
    .map((file) => [file, codeOf(file)]),
);

function matches(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name]) => name ?? ''))];
}

/** Events that object literals are. */
const constructedIn = (text: string) => matches(text, /(?<!readonly )\btype: '(\w+)'/g);
const declaredIn = (text: string) => matches(text, /\breadonly type: '(\w+)'/g);

const charts: readonly ChartEvents[] = [...machineDefinitions.values()].map(({ name, machine }) => {
  const [file = ''] =
    [...sources].find(([, text]) => text.includes(`createMachine({\n  id: '${name}'`)) ?? [];
  const code = `${sources.get(file)}${sources.get(file.replace('.ts', '-setup.ts')) ?? ''}`;
  return {
    machine: name,
    file: file.replace('.ts', ''),
    // xstate sends its own events when a delay ends.
    taken: machine.events.filter((event) => !event.startsWith('xstate.')),
    declared: declaredIn(code),
    raised: constructedIn(code),
  };
});

/** Machine files from which the text imports a type of events, without their endings. */
const eventTypesIn = (text: string) =>
  matches(text, /^import [^;]*\w+Event\b[^;]* from '[./]+(machines\/[\w/-]+)[.]ts'/gm);

/** Machines named by a string, by a key of a table, or by the type of their events. */
function namedIn(text: string): string[] {
  const imported = eventTypesIn(text);
  return charts
    .filter(({ machine, file }) => {
      const isImported = imported.some((one) => one.startsWith(file));
      return isImported || new RegExp(`'${machine}'|\\b${machine}: `).test(text);
    })
    .map(({ machine }) => machine);
}

/** Files that send through a draft, and files that create events for it. */
const senders: readonly Sender[] = [...sources]
  .filter(([file]) => !file.startsWith('machines/'))
  .filter(([, text]) => text.includes('draft.send(') || eventTypesIn(text).length > 0)
  .map(([file, text]) => ({ file, machines: namedIn(text), events: constructedIn(text) }));

test('API-32: every event that a chart accepts has a sender', async (t) => {
  t.ok(charts.length >= 16 && charts.every(({ taken }) => taken.length > 0));
  t.same(unsent(charts, senders), []);
});

test('A machine declares exactly the events that its chart accepts', async (t) => {
  for (const { machine, declared, taken } of charts) {
    t.same(declared.toSorted(), taken.toSorted(), machine);
  }
});

test('Every event that is sent is accepted by a chart of its target machines', async (t) => {
  t.ok(senders.length > 30);
  t.same(untaken(charts, senders), []);
});

test('An event without a sender, and one that no chart accepts, are found', async (t) => {
  const planted = { file: '', taken: ['edited', 'planted'], declared: [], raised: [] };
  const drawn = { machine: 'alertRule', ...planted };
  t.same(unsent([drawn], senders), ['alertRule planted']);
  const sender = { file: 'a.ts', machines: ['alertRule'], events: ['edited', 'invented'] };
  t.same(untaken(charts, [...senders, sender]), ['a.ts invented']);
});
