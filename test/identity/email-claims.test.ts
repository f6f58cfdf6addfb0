/**
 * Unproven addresses: a person who joined by an invitation link is displayed with the invited
 * address and the mark until they prove it, even if others claim the same address. The property
 * test accepts invitations and proves addresses in any order.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { completeClaimIndex } from '../../actors/identity/email-index.ts';
import { claimantsOf, claimOf, emailKey } from '../../actors/identity/people-index.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import {
  account,
  humanOf,
  operator,
  outcomeOf,
  type PeopleWorld,
  startPeopleWorld,
} from '../support/people-on-host.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const PROJECTS = ['p-0', 'p-1', 'p-2'] as const;
const BOBS = 'bob@example.org';

/** Three projects of ann's, and a person created by an invitation link to one of them. */
async function startClaims(world: PeopleWorld) {
  const ann = await world.person('ann@example.org');
  for (const project of PROJECTS) await world.project(project, ann);
  const takeLink = async (project: string, email: string): Promise<string> => {
    const by = humanOf(ann);
    const { token } = await world.members.invitations.invite({
      project,
      by,
      email,
      role: 'VIEWER',
    });
    return (await world.use({ token: token ?? '' })).person;
  };
  const displayedNames = (person: string) =>
    world.host.findInstancesOf('membership', person).map(({ context }) => context.displayName);
  return { takeLink, displayedNames };
}

const marked = (email: string) => `${email.split('@')[0]} (invited as ${email}, not proven)`;

test('everyone who accepted an invitation to one address is marked as unproven', async (t) => {
  const world = await startPeopleWorld(t);
  const { takeLink, displayedNames } = await startClaims(world);
  const first = await takeLink('p-0', BOBS);
  const second = await takeLink('p-1', BOBS);
  t.not(first, second);
  t.same(displayedNames(first), [marked(BOBS)]);
  t.same(displayedNames(second), [marked(BOBS)], 'including the latest');
  const system = world.host.view(SYSTEM_PROJECT);
  t.same(claimantsOf(system, BOBS), [first, second]);

  const proven = await world.people.signInByIdentity(account('bob', BOBS), 'test');
  t.equal(proven.person, first, 'the owner of the address takes over the first claimant');
  t.same(displayedNames(first), ['bob']);
  t.same(displayedNames(second), [marked(BOBS)], 'this proves nothing about the other one');
  t.same(claimantsOf(system, BOBS), [second]);
});

/** State left by an older version: only the first claimant. */
async function forgetLater({ host }: PeopleWorld, later: string, member: string) {
  await submit(host, { project: SYSTEM_PROJECT, by: operator }, (draft) => {
    const [person] = claimantsOf(draft, BOBS);
    const body = person === undefined ? null : { person };
    draft.putRecord({ kind: 'personOfClaim', id: emailKey(BOBS), body });
    draft.putRecord({ kind: 'claimOfPerson', id: later, body: null });
  });
  await submit(host, { project: 'p-1', by: operator }, (draft) => {
    const renamed = { type: 'renamed', at: draft.at, displayName: 'bob', email: '' } as const;
    draft.send('membership', member, renamed);
  });
}

test('claimants that an older version did not mark are marked once, at a start', async (t) => {
  const world = await startPeopleWorld(t);
  const { host } = world;
  const { takeLink, displayedNames } = await startClaims(world);
  const first = await takeLink('p-0', BOBS);
  const second = await takeLink('p-1', BOBS);
  const [row] = host.findInstancesOf('membership', second);
  await forgetLater(world, second, row?.instance ?? '');
  t.same(displayedNames(second), ['bob'], 'without its mark');
  await completeClaimIndex(host);
  t.same(displayedNames(second), [marked(BOBS)]);
  t.same(claimantsOf(host.view(SYSTEM_PROJECT), BOBS), [first, second]);
  const sequence = host.appliedSequence();
  await completeClaimIndex(host);
  t.equal(host.appliedSequence(), sequence, 'done once');
});

const EMAILS = ['a@x.org', 'b@x.org'] as const;
const actions = fc.array(
  fc.record({
    act: fc.constantFrom('take', 'take', 'prove' as const),
    project: fc.constantFrom(...PROJECTS),
    email: fc.constantFrom(...EMAILS),
  }),
  { maxLength: 8 },
);

test('a person without a proven address is displayed with the mark, in any order of events', async (t) => {
  await fc.assert(
    fc.asyncProperty(actions, async (steps) => {
      const world = await startPeopleWorld(t);
      const { takeLink, displayedNames } = await startClaims(world);
      const invited = new Map<string, string>();
      for (const { act, project, email } of steps) {
        await outcomeOf(async () => {
          if (act === 'take') invited.set(await takeLink(project, email), email);
          else await world.people.signInByIdentity(account(email, email), 'test');
        });
      }
      const system = world.host.view(SYSTEM_PROJECT);
      for (const [person, email] of invited) {
        const own = system.instance('person', person)?.context.email;
        const isProven = own !== '';
        if (claimOf(system, person) !== (isProven ? undefined : email)) return false;
        if (claimantsOf(system, email).includes(person) === isProven) return false;
        if (!displayedNames(person).every((name) => (name !== marked(email)) === isProven))
          return false;
      }
      return true;
    }),
    { numRuns: tries(25), seed: 5 },
  );
  t.pass();
});
