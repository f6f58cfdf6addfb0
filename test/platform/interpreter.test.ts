/**
 * The interpreter's steps compared with xstate's own `transition()`: the same states, contexts and
 * actions on random walks through every machine of the service, with arbitrary event fields.
 */
import { test } from 'tap';
import { type AnyMachineSnapshot, initialTransition, transition } from 'xstate';
import { initialStep, nextStep, upcast } from '../../actors/platform/host/rows.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import { fraction, seededRandom } from '../../streams/platform/random.ts';
import { counter, counterV2 } from '../support/counter-machine.ts';

const WALKS = 20;
const STEPS = 15;
/** Fields of inputs and events that must be numbers, because delays depend on them. */
const facts = {
  eventMs: 1500,
  startedMs: 900,
  sinceMs: 1200,
  untilMs: 5000,
  delayMs: 10,
  overlapMs: 10,
  repeatIntervalMs: 60_000,
  expiresMs: 900_000,
  notify: true,
  value: 1,
  window: [],
  spec: { enabled: true },
};
const input = {
  ...facts,
  at: 1000,
  project: 'p',
  rule: 'r',
  vm: 'v',
  labels: '',
  evaluationRevision: 1,
};

/** Effects and timers that the actions produce, in the interpreter's terms. */
function outcomeOf(actions: readonly { type: string; params: unknown }[]): string {
  return JSON.stringify(
    actions.filter(({ type }) => type === 'effect').map(({ params }) => params),
  );
}

function walk(definition: MachineDefinition, seed: number): string[] {
  const random = seededRandom(seed);
  const { machine } = definition;
  const differences: string[] = [];
  let [snapshot, actions] = initialTransition(machine, input);
  let row = initialStep(definition, input, 1000);
  const compare = (what: string): void => {
    const theirs = [snapshot.value, snapshot.context, snapshot.status === 'done'];
    const ours = [row.value, row.context, row.final];
    if (JSON.stringify(theirs) !== JSON.stringify(ours)) differences.push(what);
    if (outcomeOf(actions) !== JSON.stringify(row.effects)) differences.push(`${what}: effects`);
  };
  compare(`${definition.name} begins`);
  const types = [...machine.events].filter((type) => !type.includes('*'));
  for (let i = 0; i < STEPS && snapshot.status === 'active'; i++) {
    const type = types[Math.floor(fraction(random) * types.length)] ?? '';
    const event = { ...facts, type, at: 1000 + i };
    const before: AnyMachineSnapshot = snapshot;
    [snapshot, actions] = transition(machine, before, event);
    const step = nextStep(definition, row, event, 1000 + i);
    if (step === undefined) row = { ...row, effects: [] };
    else row = step;
    compare(`${definition.name} takes ${type} in ${JSON.stringify(before.value)}`);
  }
  return differences;
}

test('every step of every machine equals xstate’s', async (t) => {
  for (const definition of [...machineDefinitions.values(), counter, counterV2]) {
    const differences = Array.from({ length: WALKS }, (_, seed) => walk(definition, seed)).flat();
    t.same(differences, [], definition.name);
  }
});

test('DUR-12: delays become timers with due times and end with their state', async (t) => {
  const begun = initialStep(counter, { at: 500 }, 500);
  t.same(begun.timers, []);
  const counting = nextStep(counter, begun, { type: 'added', at: 1000 } as { type: string }, 1000);
  t.match(counting?.timers, [{ dueMs: 61_000, event: { type: /^xstate\.after/ } }]);
  if (counting === undefined) throw new Error('Not taken');
  const again = nextStep(counter, counting, { type: 'added' }, 3000);
  t.match(again?.timers, [{ dueMs: 63_000 }]);
  t.equal(again?.timers.length, 1);
  t.same(nextStep(counter, counting, { type: 'closed' }, 4000)?.timers, []);
  t.equal(nextStep(counter, counting, { type: 'unheard' }, 4000), undefined);
});

test('an old row is upgraded version by version; a gap is a fault', async (t) => {
  const v3 = {
    ...counterV2,
    version: 3,
    upcasters: {
      ...counterV2.upcasters,
      2: ({ value, context }: { value: 'zero'; context: Record<string, unknown> }) => ({
        value,
        context: { ...context, third: true },
      }),
    },
  } as MachineDefinition;
  const row = { value: 'zero', context: { count: 4 }, version: 1 };
  t.same(upcast(v3, row).context, { count: 4, total: 4, third: true });
  t.throws(() => upcast({ ...v3, upcasters: {} }, row), { message: /no up-caster from 1/ });
  t.throws(() => upcast(counter, { ...row, version: 2 }), { name: 'NewerRow' });
});
