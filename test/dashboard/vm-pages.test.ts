/**
 * Logic of the VM pages and the overview, without a browser: first steps, sort order, groups,
 * notices.
 */
import { test } from 'tap';
import type { Vm } from '../../src/dashboard/data/catalogue.ts';
import {
  firstSteps,
  hasOpenSteps,
  type StepFacts,
} from '../../src/dashboard/pages/platform/steps.ts';
import { metricGroups } from '../../src/dashboard/pages/vms/metric-groups.ts';
import { parseSort, sortVms, toggledSort } from '../../src/dashboard/pages/vms/sort.ts';
import { displayedText } from '../../src/delivery/api/notice-text.ts';

const nothing: StepFacts = {
  liveVms: undefined,
  rules: undefined,
  hasAccepted: undefined,
  hasFired: undefined,
  people: undefined,
};

test('DASH-05: a first step’s state follows from known facts and is unknown without them', async (t) => {
  const states = (facts: Partial<StepFacts>): string[] =>
    firstSteps({ ...nothing, ...facts }).map(({ state }) => state);
  t.same(states({}), ['unknown', 'unknown', 'unknown', 'unknown', 'unknown']);
  t.same(states({ liveVms: 0, rules: 0, hasAccepted: false, hasFired: false, people: 1 }), [
    'open',
    'open',
    'open',
    'open',
    'open',
  ]);
  const all = { liveVms: 1, rules: 1, hasAccepted: true, hasFired: true, people: 2 };
  t.same(states(all), ['done', 'done', 'done', 'done', 'done']);
  t.notOk(hasOpenSteps(firstSteps(all)));
  t.ok(hasOpenSteps(firstSteps({ ...all, people: undefined })));
});

const vm = (name: string, fields: Partial<Vm>): Vm => ({ name, displayName: '', ...fields }) as Vm;

test('DASH-06: VMs are sorted as the address requests, with absent values last in both directions', async (t) => {
  const vms = [
    vm('projects/p/vms/vm-10', { cpuUtilizationPct: 5 }),
    vm('projects/p/vms/vm-2', {}),
    vm('projects/p/vms/vm-3', { cpuUtilizationPct: 0 }),
  ];
  const order = (text: string | null): string[] =>
    sortVms(vms, parseSort(text)).map(({ name }) => name.slice('projects/p/vms/vm-'.length));
  t.same(order('cpu'), ['3', '10', '2'], 'zero is a reading');
  t.same(order('-cpu'), ['10', '3', '2']);
  t.same(order(null), ['2', '3', '10'], 'numbers in names count');
  t.same(order('constructor'), ['2', '3', '10'], 'an unknown column gives the default');
  t.equal(toggledSort(parseSort(null), 'cpu'), '-cpu', 'numbers start with the largest');
  t.equal(toggledSort(parseSort('-cpu'), 'cpu'), 'cpu');
  t.equal(toggledSort(parseSort('-name'), 'name'), undefined);
});

test('each metric is in one group, even an unknown one', async (t) => {
  const ids = ['disk_read_bytes_per_second', 'load_1m', 'cpu_utilization_pct', 'battery_pct'];
  const described = ids.map((metricId) => ({
    metricId,
    unit: 'percent',
    source: 'guest',
    promqlName: '',
    limitation: '',
    expanded: false,
  }));
  const groups = metricGroups(described).map(({ key, descriptors }) => [
    key,
    ...descriptors.map(({ metricId }) => metricId),
  ]);
  t.same(groups, [
    ['vm', 'cpu_utilization_pct'],
    ['disk', 'disk_read_bytes_per_second'],
    ['guest', 'load_1m', 'battery_pct'],
  ]);
});

test('a notice is shown without resource names after display names', async (t) => {
  t.equal(
    displayedText(
      'Nightly (projects/demo/ciConnections/01M8), of a/b, was approved by ada (invited as ada@x.org) (people/a68)',
    ),
    'Nightly, of a/b, was approved by ada (invited as ada@x.org)',
  );
  const alone = 'A key of projects/demo/collectors was made by people/a68';
  t.equal(displayedText(alone), alone, 'a resource without a display name keeps its name');
});
