/**
 * Marks on the diagram of a machine. The machine itself is the oracle: every step of a machine is
 * walked, and the diagram must show the current states and the transitions taken. A full run walks
 * every machine.
 */

import { create, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { test } from 'tap';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import { layoutMessage } from '../../src/audit/api/audit.ts';
import { chartOf } from '../../src/audit/drawing/chart.ts';
import { arrowId, type Layout, startId } from '../../src/audit/drawing/picture.ts';
import { layoutOf as placed } from '../../src/audit/drawing/svg.ts';
import { eventName, markingsOf, type Step } from '../../src/dashboard/statechart/marking.ts';
import { MachineLayoutSchema } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { stateIds } from '../../src/platform/api/transition-messages.ts';
import { models } from '../platform/machines/models.ts';
import { type Edge, walk } from '../platform/machines/walk.ts';
import { sampleOf } from '../support/tries.ts';

/** As it reaches the browser. */
async function layoutOf(definition: MachineDefinition): Promise<Layout> {
  const message = create(MachineLayoutSchema, layoutMessage(await placed(chartOf(definition))));
  return toJson(MachineLayoutSchema, message, { alwaysEmitImplicit: true }) as unknown as Layout;
}

interface Walked {
  readonly name: string;
  readonly layout: Layout;
  /** Events accepted by the machine. */
  readonly edges: readonly Edge[];
  /** The same events as steps of an instance. */
  readonly steps: readonly Step[];
  /** Grouped by their initial states; see `placeOf`. */
  readonly stepsFrom: ReadonlyMap<string, readonly Step[]>;
}

const machines: readonly Walked[] = await Promise.all(
  sampleOf([...machineDefinitions.values()], 6).map(async (definition) => {
    const { name } = definition;
    const model = models.get(name);
    if (!model) throw new Error(`${name} has no model`);
    const edges = walk(definition, model).edges.filter(({ taken }) => taken.length > 0);
    const steps = edges.map((edge) => stepOf(name, edge));
    const stepsFrom = Map.groupBy(steps, ({ fromStates }) => placeOf(fromStates));
    return { name, layout: await layoutOf(definition), edges, steps, stepsFrom };
  }),
);

for (const { name, layout, edges } of machines) {
  test(`${name}: each step marks the resulting states and the transitions taken`, async (t) => {
    const ids = new Set(layout.states.map(({ id }) => id));
    const wrong = edges.filter((edge) => {
      const step = stepOf(name, edge);
      const [marking] = markingsOf(layout, [step]);
      return !(
        step.toStates.every((id) => ids.has(id)) &&
        sameMembers(marking?.current, step.toStates) &&
        sameMembers(marking?.taken, arrowsOf(edge))
      );
    });
    t.ok(edges.length > 0);
    t.same(wrong.map((edge) => [stepOf(name, edge), arrowsOf(edge)]).slice(0, 3), []);
  });
}

function stepOf(name: string, { event, from, to }: Edge): Step {
  const [fromStates, toStates] = [from, to].map(({ value }) => stateIds(name, value));
  return { event: event.type, fromStates: fromStates ?? [], toStates: toStates ?? [] };
}

function arrowsOf({ taken }: Edge): string[] {
  return taken.map(({ source, eventType, target }) =>
    arrowId(source.id, eventType, target?.[0]?.id),
  );
}

function sameMembers(a: readonly string[] | undefined, b: readonly string[]): boolean {
  return a !== undefined && new Set(a).symmetricDifference(new Set(b)).size === 0;
}

test('DASH-04: a diagram shows a machine’s current and past states along any path', async () => {
  fc.assert(
    fc.property(
      // Not the machine itself: counterexamples are printed, and it has thousands of edges.
      fc.nat({ max: machines.length - 1 }),
      fc.array(fc.nat(), { maxLength: 30 }),
      (index, picks) => {
        const machine = machines[index] as Walked;
        const steps = pathThrough(machine, picks);
        const was = new Set<string>();
        return markingsOf(machine.layout, steps).every(({ current, visited }, i) => {
          const { fromStates = [], toStates = [] } = steps[i] ?? {};
          for (const id of [...fromStates, ...toStates]) was.add(id);
          return sameMembers(current, toStates) && sameMembers(visited, [...was]);
        });
      },
    ),
  );
});

/** Consecutive steps: each starts in the states in which the previous one ended. */
function pathThrough({ steps, stepsFrom }: Walked, picks: readonly number[]): Step[] {
  const path: Step[] = [];
  let possible: readonly Step[] = steps;
  for (const pick of picks) {
    const step = possible[pick % possible.length];
    if (!step) break;
    path.push(step);
    possible = stepsFrom.get(placeOf(step.toStates)) ?? [];
  }
  return path;
}

function placeOf(states: readonly string[]): string {
  return states.toSorted().join(' ');
}

test('the step that creates an instance enters it through its initial states', async (t) => {
  const definition = machineDefinitions.get('alertInstance') as MachineDefinition;
  const layout = await layoutOf(definition);
  const step = { event: '', fromStates: [], toStates: ['alertInstance.sustaining.observed'] };
  // Not through the initial state of the machine, which leads to idle.
  t.same(markingsOf(layout, [step])[0]?.taken, [startId('alertInstance.sustaining')]);
  const idle = { ...step, toStates: ['alertInstance.idle'] };
  t.same(markingsOf(layout, [idle])[0]?.taken, [startId('')]);
});

test('a timer is named by its delay', async (t) => {
  t.equal(
    eventName('xstate.after.snoozeEnd.alertInstance.firing.notification.snoozed'),
    'after snoozeEnd',
  );
  t.equal(eventName('sustained'), 'sustained');
});
