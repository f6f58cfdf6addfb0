/**
 * Every machine, walked by its model: each state and each declared transition is reached,
 * everything has a description, rows survive JSON, and an event that a state does not accept
 * changes nothing.
 */
import { test } from 'tap';
import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { chartOf, statesIn } from '../../src/audit/drawing/chart.ts';
import { models } from './machines/models.ts';
import { brief } from './machines/questions.ts';
import { leavesOf, startEffects, type Walk, walk } from './machines/walk.ts';

const definitions = [...machineDefinitions.values()];
const walks = new Map<string, Walk>();

function modelOf(name: string) {
  const model = models.get(name);
  if (!model) throw new Error(`No model of ${name}`);
  return model;
}

for (const definition of definitions) {
  const { name, machine } = definition;
  const walked = walk(definition, modelOf(name));
  walks.set(name, walked);

  test(`${name}, walked by its model, reaches every state`, async (t) => {
    const reached = new Set(walked.rows.flatMap(({ value }) => leavesOf(value)));
    const leaves = statesIn(chartOf(definition).root)
      .filter(({ children }) => children.length === 0)
      .map(({ id }) => id.slice(name.length + 1));
    t.same([...reached].sort(), leaves.sort());
  });

  test(`${name}, walked by its model, takes every declared transition`, async (t) => {
    const taken = new Set(walked.edges.flatMap((edge) => edge.taken));
    const missed = transitionsIn(machine.root).filter((transition) => !taken.has(transition));
    t.same(missed.map(nameOf), []);
  });

  test(`${name}: every state and every transition has one line of description`, async (t) => {
    const chart = chartOf(definition);
    for (const { id, description } of statesIn(chart.root).slice(1)) {
      t.match(description, /^[A-Z'"].{5,98}[.]$/, id);
    }
    for (const { source, event, description } of chart.arrows) {
      t.match(description, /^.{10,99}[.]$/, `${event} of ${source}`);
    }
    t.match(definition.description, /^[A-Z].{10,98}[.]$/);
  });

  test(`${name}: an event that a state does not accept leaves its row unchanged`, async (t) => {
    const idle = walked.edges.filter(({ taken }) => taken.length === 0);
    t.ok(idle.length > 0);
    const moved = idle.filter(({ from, to, effects }) => {
      return effects.length > 0 || JSON.stringify(from) !== JSON.stringify(to);
    });
    t.same(brief(moved), []);
  });

  test(`${name}: no event leaves a final state, and no final state keeps a timer`, async (t) => {
    const fromFinal = walked.edges.filter(({ from }) => from.final);
    const left = fromFinal.filter(({ from, to, effects, taken }) => {
      return JSON.stringify([from, []]) !== JSON.stringify([to, effects]) || taken.length > 0;
    });
    t.same(
      left.map(({ event }) => event),
      [],
    );
    const final = statesIn(chartOf(definition).root).filter(({ kind }) => kind === 'final');
    t.equal(fromFinal.length > 0, final.length > 0, 'the walk continued from final states');
    t.ok(walked.rows.every((row) => !row.final || row.timers.size === 0));
  });

  test(`${name}: timers exist exactly for the delays of the current states`, async (t) => {
    const declared = new Map(
      statesIn(chartOf(definition).root).map(({ id }) => [id, delaysOf(machine, id)]),
    );
    for (const row of walked.rows) {
      const here = leavesOf(row.value).map((leaf) => `${name}.${leaf}`);
      const wanted = row.final ? [] : here.flatMap((id) => declared.get(id) ?? []);
      const running = [...row.timers.keys()].filter((id) => id.startsWith('xstate.after.'));
      if (JSON.stringify(running.sort()) !== JSON.stringify(wanted.sort())) {
        t.same(running, wanted, `in ${JSON.stringify(row.value)}`);
      }
    }
    t.ok(walked.rows.length > 0);
  });
}

test('the registry lists every machine under its own id, and exposes no secret', async (t) => {
  t.same(
    [...machineDefinitions.keys()],
    [
      'alertRule',
      'alertInstance',
      'maintenanceWindow',
      'delivery',
      'destination',
      'recipient',
      'credential',
      'serviceAccount',
      'ciVerification',
      'ciConnection',
      'membership',
      'invitation',
      'enrolment',
      'person',
      'signInLink',
      'session',
      'datacenter',
      'vmSource',
    ],
  );
  for (const { name, version, publicFields, upcasters } of definitions) {
    const older = Array.from({ length: version - 1 }, (_, i) => String(i + 1));
    t.same(Object.keys(upcasters), older, `${name} accepts every older version`);
    // The digest of reviewed claims is not the digest of a secret.
    const hidden = /secret|hash|url|address|.digest|email|note\b|window|challenge|agent|identit/i;
    t.same(
      publicFields.filter((field) => hidden.test(field)),
      [],
      name,
    );
    const known = fieldsIn(walks.get(name));
    t.same(
      publicFields.filter((field) => !known.has(field)),
      [],
      `${name} has those fields`,
    );
  }
});

test('a machine created without input, as xstate does beside each step, throws nothing', async (t) => {
  for (const { name, machine } of definitions) {
    const context = machine.config.context;
    t.type(context, 'function', name);
    if (typeof context === 'function') {
      t.doesNotThrow(() => context({ input: undefined } as Parameters<typeof context>[0]), name);
    }
  }
});

test('only a rule has an effect when it is created: its own application', async (t) => {
  const effects = definitions.map(({ name, machine }) => [
    name,
    startEffects(machine, modelOf(name)),
  ]);
  const causing = effects.filter(([, caused]) => caused?.length !== 0);
  t.same(causing, [['alertRule', [{ type: 'applyRule' }]]]);
});

function transitionsIn(node: AnyStateNode): AnyTransitionDefinition[] {
  const below: AnyStateNode[] = Object.values(node.states);
  return [...[...node.transitions.values()].flat(), ...below.flatMap(transitionsIn)];
}

function nameOf({ source, eventType, guard, description }: AnyTransitionDefinition): string {
  return `${source.id}: ${eventType} [${String(guard)}] ${description}`;
}

function delaysOf(machine: { getStateNodeById(id: string): AnyStateNode }, id: string): string[] {
  const events = machine.getStateNodeById(id).after.map(({ eventType }) => eventType);
  return [...new Set(events)];
}

/** Names of all fields that occurred in events and contexts. */
function fieldsIn(walked: Walk | undefined): Set<string> {
  const edges = walked?.edges ?? [];
  return new Set(
    edges.flatMap(({ event, to }) => [...Object.keys(event), ...Object.keys(to.context)]),
  );
}
