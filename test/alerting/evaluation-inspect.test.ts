/**
 * Pages of soft instances: in order, complete, without duplicates, and reading only the page's VMs.
 */
import { test } from 'tap';
import { type InstancePosition, inspectPage } from '../../streams/alerting/evaluation/inspect.ts';
import { cpuRule, EvaluationWorld, PROJECT } from '../support/evaluation-scenario.ts';

const VMS = 30;
const world = new EvaluationWorld([cpuRule({ rule: 'b' }), cpuRule({ rule: 'a' })]);
// In an order other than that of their names.
for (let i = 0; i < VMS; i++) world.rows([{ at: 0, cpu: 10, vm: `vm-${10 + ((i * 7) % VMS)}` }]);
const whole = world
  .instances()
  .map(({ vm, rule }) => `${vm} ${rule}`)
  .sort();

function pages(limit: number, rule?: string): string[][] {
  const found: string[][] = [];
  let after: InstancePosition | undefined;
  // Bounded, so that pages that do not advance fail instead of looping.
  while (found.length <= 2 * VMS) {
    const selection = { ...(rule && { rule }), ...(after && { after }), limit };
    const page = inspectPage(world.state, PROJECT, selection);
    after = page.at(-1);
    if (!after) return found;
    found.push(page.map((each) => `${each.vm} ${each.rule}`));
  }
  return found;
}

test('pages list every instance once, ordered by VM and rule', async (t) => {
  t.equal(whole.length, 2 * VMS);
  for (const limit of [1, 3, 4, 100]) {
    const found = pages(limit);
    t.same(found.flat(), whole, `pages of ${limit}`);
    t.ok(found.slice(0, -1).every(({ length }) => length === limit));
  }
  t.same(
    pages(7, 'a').flat(),
    whole.filter((each) => each.endsWith(' a')),
  );
  t.same(pages(7, 'none'), []);
  t.same(inspectPage(world.state, 'other', { limit: 5 }), []);
});

test('a page reads only the VMs that it lists', async (t) => {
  const vms = world.state.projects.get(PROJECT)?.vms ?? new Map();
  const looked: string[] = [];
  const get = vms.get;
  vms.get = (vm: string) => {
    looked.push(vm);
    return get.call(vms, vm);
  };
  inspectPage(world.state, PROJECT, { limit: 4 });
  t.same(looked, ['vm-10', 'vm-11']);
  Reflect.deleteProperty(vms, 'get');
});
