/**
 * People: who signs in, how they are recognised, and who is locked out. Everything of theirs lives
 * in `_system`; what they may do in a project is said by its memberships (`members.ts`).
 */
import type { PersonContext } from '../../machines/identity/person.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { ulid } from '../../streams/platform/random.ts';
import type { Host, RequestKey } from '../platform/host/host-port.ts';
import type { PeopleDeps } from './people-deps.ts';
import { emailOrNone, personByEmail, personRow, shownName, startPerson } from './people-index.ts';
import { createLinks } from './people-links.ts';
import type { People } from './people-port.ts';
import { createSignIns } from './people-sign-in.ts';
import { createSessions } from './sessions.ts';
import { endSignIns } from './sign-ins.ts';

export function createPeople(deps: PeopleDeps): People {
  const { host } = deps;
  return {
    ...createSignIns(deps),
    ...createLinks(deps),
    ...createSessions(deps),
    personByEmail: (email) => personByEmail(host.view(SYSTEM_PROJECT), emailOrNone(email)),
    ensurePerson: (by, about, request) => ensurePerson(deps, by, about, request),
    setPersonDisabled: (by, person, reason, request) =>
      setDisabled(deps, { by, request }, person, reason),
  };
}

async function ensurePerson(
  { host, clock, random }: PeopleDeps,
  by: Actor,
  about: { readonly displayName: string; readonly email: string },
  request: RequestKey | undefined,
): Promise<string> {
  const id = ulid(clock.now(), random);
  const email = emailOrNone(about.email);
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      const known = personByEmail(draft, email);
      if (known !== undefined) return { person: known };
      startPerson(draft, { id, email, displayName: shownName(about.displayName, 'Unnamed') });
      return { person: id };
    },
  });
  return answer.person;
}

/** Sessions and links end with it; personal keys are refused while it lasts, and not revoked. */
async function setDisabled(
  { host }: PeopleDeps,
  { by, request }: { readonly by: Actor; readonly request: RequestKey | undefined },
  person: string,
  reason: string | null,
): Promise<number> {
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      personRow(draft, person);
      const about = { at: draft.at, by: by.name };
      if (reason === null) {
        draft.send('person', person, { type: 'enabled', ...about });
        return { sessions: 0 };
      }
      const sessions = endSignIns(draft, person, 'PERSON_DISABLED');
      draft.send('person', person, { type: 'disabled', ...about, reason });
      return { sessions };
    },
  });
  return answer.sessions;
}

/** What is shown of a person, as the projection has it; undefined when there is none. */
export function personOf(host: Pick<Host, 'view'>, person: string): PersonContext | undefined {
  const row = host.view(SYSTEM_PROJECT).instance('person', person);
  return row?.context;
}
