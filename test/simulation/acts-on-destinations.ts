/** What people do with destinations and the recipients of mail. */
import type { Draft, Instance } from '../../actors/host-port.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Act, CallerOf, Idea } from './people.ts';
import type { Doors } from './process.ts';

const newDestination: Idea = (_, dice) => {
  const url = `https://hook-${dice.below(1e9)}.example/`;
  const target = { kind: 'webhook', url } as const;
  return {
    what: `a new destination ${url}`,
    ask: ({ destinations }, caller) =>
      destinations.create({ ...caller, displayName: 'Hook', target }),
  };
};

const deleteDestination: Idea = (view, dice) => {
  const all = view.instances('destination', { limit: 100, final: false }).items;
  if (all.length < 2) return undefined;
  const { instance: id } = dice.pick(all);
  return {
    what: `deletes destination ${id}`,
    ask: ({ destinations }, caller) => destinations.delete({ ...caller, id }),
  };
};

/** An event of a person to a destination that there is. */
function toDestination(what: string, eventOf: (row: Instance) => { readonly type: string }): Idea {
  return (view, dice) => {
    const all = view.instances('destination', { limit: 100, final: false }).items;
    if (all.length === 0) return undefined;
    const row = dice.pick(all);
    const event = { ...eventOf(row), by: 'people' };
    return submitted(`${what} destination ${row.instance}`, (draft) => {
      const present = draft.instance('destination', row.instance);
      if (!present || present.final) throw new Refusal('NOT_FOUND', 'It is gone');
      draft.send('destination', row.instance, { ...event, at: draft.at });
    });
  };
}

function submitted(what: string, decide: (draft: Draft) => void): Act {
  return {
    what,
    ask: ({ host }: Doors, caller: CallerOf) =>
      host.submit({
        ...caller,
        decide(draft) {
          decide(draft);
          return {};
        },
      }),
  };
}

export const actsOnDestinations = {
  newDestination,
  deleteDestination,
  pause: toDestination('pauses', () => ({ type: 'paused', reason: 'People want silence' })),
  resume: toDestination('resumes', () => ({ type: 'resumed' })),
} as const;
