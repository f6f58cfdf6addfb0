/**
 * The personal keys of one member. Members create and rotate their own keys; a project owner can
 * list and revoke those of others, but never see a secret.
 */

import type { VNode } from 'preact';
import { read } from '../../data/call.ts';
import { loadPages } from '../../data/listing.ts';
import { useLoaded } from '../../data/loaded.ts';
import { mayDo, project, projectsState } from '../../data/projects.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { texts } from './access-texts.ts';
import { OwnerKeys } from './keys.tsx';
import { type Member, titleOfMember } from './member-actions.tsx';

const ROWS = 1_000;

export function Page({ parameters }: PageProps): VNode {
  const { project: id = '', member: memberId } = parameters;
  const parent = `projects/${id}/members/${memberId}`;
  const isOwn = project.value?.memberName === parent;
  const member = useMember(`projects/${id}`, parent);
  const title = isOwn ? texts.members.myKeys : texts.members.keysOf(member);
  useTitle(title);
  const isKnown = projectsState.value.is === 'loaded';
  return (
    <>
      <AboveTitle list="members" project={id} />
      <h1 class="name">{title}</h1>
      <p class="weak">{isOwn ? texts.members.ownKeysHelp : texts.members.foreignKeysHelp}</p>
      {isKnown && (
        <OwnerKeys
          key={parent}
          parent={parent}
          granted={mayDo('EDITOR') ? ['monitoring.read', 'monitoring.write'] : ['monitoring.read']}
          isForeign={!isOwn}
          limit={texts.keys.limitOfMember}
        />
      )}
    </>
  );
}

/** Display name of the member; undefined until it is loaded. */
function useMember(projectName: string, name: string): string | undefined {
  const members = useLoaded(`members ${projectName} for names`, (options) =>
    loadPages<Member>(async (pageToken) => {
      const request = { projectName, pageSize: ROWS, pageToken };
      const answer = await read('ProjectService', 'listMembers', request, options);
      return { items: answer.members, nextPageToken: answer.nextPageToken };
    }, ROWS),
  );
  const found = members.state.value.value?.items.find((member) => member.name === name);
  return found && titleOfMember(found);
}
