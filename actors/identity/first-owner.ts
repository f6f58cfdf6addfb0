/**
 * First owner of a new service: a person who owns a project, and a sign-in link for them. A lost or
 * expired link is replaced at the next start, but only until the first sign-in. After that, the
 * operator makes links.
 */
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Host } from '../platform/host/host-port.ts';
import type { Members } from './members.ts';
import type { People } from './people.ts';
import { startPerson } from './people-index.ts';
import type { IssuedLink } from './people-links.ts';
import { sameDigest } from './sign-in-secrets.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    firstOwner: { readonly person: string };
  }
}

/** Functions that make a person, a member and a link. */
export interface FirstOwnerDeps {
  readonly host: Pick<Host, 'view' | 'submit'>;
  readonly people: Pick<People, 'linkFor'>;
  readonly members: Pick<Members, 'addMember'>;
  /** Id of a new person. */
  readonly newId: () => string;
}

const KIND = 'firstOwner';

/** True if there has ever been a session. */
export function hasAnybodySignedIn(host: Pick<Host, 'view'>): boolean {
  return host.view(SYSTEM_PROJECT).instances('session', { limit: 1 }).items.length > 0;
}

/** True if the link can still be used. `hash`: hex SHA-256 of its token. */
export function isLinkOpen(
  host: Pick<Host, 'view'>,
  link: { readonly id: string; readonly hash: string; readonly nowMs: number },
): boolean {
  const row = host.view(SYSTEM_PROJECT).instance('signInLink', link.id);
  const isSame = sameDigest(row?.context.tokenHash, link.hash);
  return isSame && row?.value === 'issued' && link.nowMs < Number(row.context.expiresMs);
}

/** Makes the person who owns `project` if there is none yet, and always makes a link for them. */
export async function firstOwnerLink(
  { host, people, members, newId }: FirstOwnerDeps,
  by: Actor,
  project: string,
): Promise<IssuedLink> {
  const id = newId();
  const { answer: person } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    decide(draft) {
      const known = draft.record(KIND, project)?.body.person;
      if (typeof known === 'string') return known;
      startPerson(draft, { id, displayName: 'First owner', email: '' });
      draft.putRecord({ kind: KIND, id: project, body: { person: id } });
      return id;
    },
  });
  await members.addMember({ by, project, person, role: 'OWNER' });
  return people.linkFor(by, person, 'first-start');
}
