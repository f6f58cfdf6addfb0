/** User actions on destinations and mail recipients. */

import { memberIdOf } from '../../actors/identity/grants.ts';
import type { Draft, Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { MembershipContext } from '../../machines/identity/membership.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Dice } from './dice.ts';
import type { Action, CallerOf, Idea } from './people.ts';
import type { Doors } from './process.ts';

const newDestination: Idea = (_, dice) => {
  const url = `https://hook-${dice.below(1e9)}.example/`;
  const kind = dice.pick(['webhook', 'webhook', 'slack', 'teams', 'discord'] as const);
  return {
    what: `a new destination ${url}`,
    ask: ({ destinations }, caller) =>
      destinations.create({ ...caller, displayName: 'Hook', target: { kind, url } }),
  };
};

const PEOPLE = ['ada', 'ben', 'cora'];

/** Adds people to the project; existing members stay. */
const newMembers: Idea = ({ project }) => {
  const join = submitted('new members', (draft) => {
    for (const person of PEOPLE) {
      const id = memberIdOf(project, person);
      if (draft.instance('membership', id)) continue;
      const named = { displayName: person, email: `${person}@example.org` };
      const role = { role: 'EDITOR', by: 'people' } as const;
      draft.start('membership', id, { at: draft.at, project, person, ...named, ...role });
    }
  });
  return {
    ...join,
    async ask(doors, caller) {
      await doors.host.submit({ project: SYSTEM_PROJECT, by: caller.by, decide: addPeople });
      return join.ask(doors, caller);
    },
  };
};

function addPeople(draft: Draft): void {
  for (const person of PEOPLE) {
    if (draft.instance('person', person)) continue;
    const named = { displayName: person, email: `${person}@example.org`, identity: null };
    draft.start('person', person, { at: draft.at, ...named });
  }
}

const newMail: Idea = (_, dice) => {
  const addresses = PEOPLE.filter(() => dice.chance(0.6)).map((name) => `${name}@example.org`);
  if (addresses.length === 0) return undefined;
  return {
    what: `a new destination of mail to ${addresses.join(', ')}`,
    ask: ({ destinations }, caller) =>
      destinations.create({ ...caller, displayName: 'Mail', target: { kind: 'email', addresses } }),
  };
};

/** An action on an existing destination. */
function toDestination(
  what: string,
  ask: (
    destinations: Doors['destinations'],
    act: CallerOf & { id: string },
    dice: Dice,
  ) => Promise<{ readonly sequence: number }>,
): Idea {
  return (view, dice) => {
    const row = oneOf(view, 'destination', dice);
    if (!row) return undefined;
    const { instance: id } = row;
    // A retry sends the same request.
    const own = dice.fork(id);
    return {
      what: `${what} destination ${id}`,
      ask: ({ destinations }, caller) => ask(destinations, { ...caller, id }, own),
    };
  };
}

function oneOf<M extends MachineName>(
  view: ProjectView,
  machine: M,
  dice: Dice,
): Instance<M> | undefined {
  const { items } = view.instances(machine, { limit: 100, final: false });
  return items.length === 0 ? undefined : dice.pick(items);
}

/** The owner of an address opens the link of a verification mail. */
const confirm: Idea = (_, dice, { mailbox }) => {
  if (mailbox.tokens.length === 0) return undefined;
  const token = dice.pick(mailbox.tokens);
  return {
    what: 'confirms an address',
    async ask({ links }) {
      await links.confirm(token);
      return undefined;
    },
  };
};

const unsubscribe: Idea = (view, dice) => {
  const recipient = oneOf(view, 'recipient', dice)?.instance;
  if (recipient === undefined) return undefined;
  return {
    what: `unsubscribes ${recipient}`,
    async ask({ links }, { project }) {
      await links.unsubscribe({ project, recipient });
      return undefined;
    },
  };
};

/** A member leaves the project or returns. */
const comeOrGo: Idea = (view, dice) => {
  const row = oneOf(view, 'membership', dice);
  if (!row) return undefined;
  const { displayName } = row.context as unknown as MembershipContext;
  const isThere = row.value === 'active';
  const event = isThere
    ? ({ type: 'removed', reason: 'left' } as const)
    : ({ type: 'rejoined', role: 'EDITOR' } as const);
  return submitted(`${displayName} ${isThere ? 'leaves' : 'comes back'}`, (draft) => {
    draft.send('membership', row.instance, { ...event, at: draft.at, by: 'people' });
  });
};

function submitted(what: string, decide: (draft: Draft) => void): Action {
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

export const actionsOnDestinations = {
  newDestination,
  newMembers,
  newMail,
  pause: toDestination('pauses', (destinations, act) =>
    destinations.pause({ ...act, reason: 'Silence requested' }),
  ),
  resume: toDestination('resumes', (destinations, act) => destinations.resume(act)),
  rotate: toDestination('rotates the secret of', (destinations, act) =>
    destinations.rotateSecret({ ...act, overlapMs: 600_000 }),
  ),
  verify: toDestination('resends the verification mails of', (destinations, act) =>
    destinations.verify(act),
  ),
  test: toDestination('tests', (destinations, act) => destinations.sendTest(act)),
  delete: toDestination('deletes', (destinations, act) => destinations.delete(act)),
  confirm,
  confirmAgain: confirm,
  unsubscribe,
  comeOrGo,
} as const;
