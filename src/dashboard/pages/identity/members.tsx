/** The members of a project with their roles and addresses, and pending invitations. */

import type { VNode } from 'preact';
import {
  ActDialog,
  type DialogFrame,
  useChosen,
  useDialogs,
} from '../../components/act-dialog.tsx';
import { ActionButton } from '../../components/action-button.tsx';
import { Badge } from '../../components/badges.tsx';
import { ageColumn } from '../../components/columns.tsx';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { ListTable } from '../../components/list-table.tsx';
import { Menu, type MenuItem } from '../../components/menu.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { type ListLoader, pagesOf, useListing } from '../../data/listing.ts';
import { mayDo, project } from '../../data/projects.ts';
import { pageTitles } from '../../layout/texts.ts';
import { navigate } from '../../router/location.ts';
import type { PageProps } from '../page.ts';
import { texts } from './access-texts.ts';
import {
  ChangeRole,
  type Invitation,
  InviteMember,
  type Member,
  RemoveMember,
  titleOfMember,
} from './member-actions.tsx';

const ROWS = 200;
const POLL_SECONDS = 30;

type Action = { readonly kind: 'role' | 'remove'; readonly member: Member };

export function Page({ parameters }: PageProps): VNode {
  const projectName = `projects/${parameters.project}`;
  const members = useListing<Member>(
    `members ${projectName}`,
    pagesOf('ProjectService', 'listMembers', 'members', { projectName, pageSize: ROWS }),
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  const own = project.value?.memberName;
  const { open, frame } = useDialogs<'invite'>();
  return (
    <>
      <div class="section-head">
        <h1>{pageTitles.members}</h1>
        <span class="buttons">
          {own !== undefined && <a href={`/${own}/keys`}>{texts.members.myKeys}</a>}
          <ActionButton needs="OWNER" onPress={open('invite')}>
            {texts.invitations.invite}
          </ActionButton>
        </span>
      </div>
      <DataView
        of={members}
        isEmpty={({ items }) => items.length === 0}
        empty={<p>{texts.members.none}</p>}
      >
        {({ items, nextPageToken }) => (
          <>
            <Members members={items} isWhole={nextPageToken === ''} own={own} list={members} />
            <ListFoot of={members} />
          </>
        )}
      </DataView>
      {mayDo('OWNER') && <Invitations projectName={projectName} inviting={frame('invite')} />}
    </>
  );
}

interface MembersProps {
  readonly members: readonly Member[];
  readonly isWhole: boolean;
  /** Resource name of the current user's membership. */
  readonly own: string | undefined;
  readonly list: ListLoader<Member>;
}

function Members({ members, isWhole, own, list }: MembersProps): VNode {
  const { value: requested, choose, frame } = useChosen<Action>();
  const dialog = (member: Member, isOpen: boolean) => ({
    member,
    isOwn: member.name === own,
    isOpen,
    onClose: frame.onClose,
    onSaved: list.reload,
  });
  return (
    <>
      <Table
        label={texts.members.label}
        columns={columnsFor(own, choose)}
        rows={members}
        keyOf={({ name }) => name}
        rowCount={isWhole ? members.length : -1}
      />
      {requested !== undefined && (
        <>
          <ChangeRole {...dialog(requested.member, requested.kind === 'role')} />
          <RemoveMember {...dialog(requested.member, requested.kind === 'remove')} />
        </>
      )}
    </>
  );
}

function columnsFor(own: string | undefined, open: (act: Action) => void): Column<Member>[] {
  const { members } = texts;
  return [
    {
      key: 'member',
      title: members.member,
      width: 'grow',
      cell: (member) => (
        <>
          <strong>{shortTitle(member)}</strong>
          {member.name === own && <span class="weak"> ({members.you})</span>}
        </>
      ),
    },
    {
      key: 'email',
      title: members.email,
      phone: 'second',
      cell: (member) => <Address {...member} />,
    },
    { key: 'role', title: texts.role, cell: ({ role }) => role },
    ageColumn('since', members.since, ({ joinedUnix }) => joinedUnix, { phone: 'hide' }),
    {
      key: 'acts',
      title: texts.actions,
      align: 'right',
      cell: (member) => <Actions member={member} isOwn={member.name === own} open={open} />,
    },
  ];
}

/** The title without the address in it, which has its own column. */
function shortTitle(member: Member): string {
  const { unprovenEmail } = member;
  const title = titleOfMember(member);
  const mark = unprovenEmail === '' ? -1 : title.indexOf(` (invited as ${unprovenEmail}`);
  return mark > 0 ? title.slice(0, mark) : title;
}

function Address({ email, unprovenEmail }: Member): VNode {
  if (email !== '') return <span class="address">{email}</span>;
  if (unprovenEmail === '') return <span class="weak">{texts.members.noEmail}</span>;
  return (
    <>
      <span class="address">{unprovenEmail}</span>{' '}
      <Badge tone="missing" text={texts.members.unproven} title={texts.members.unprovenHelp} />
    </>
  );
}

interface ActionsProps {
  readonly member: Member;
  readonly isOwn: boolean;
  readonly open: (act: Action) => void;
}

/**
 * Members who may not change others still have actions in their own row: their keys, and leaving.
 */
function Actions({ member, isOwn, open }: ActionsProps): VNode | null {
  const isOwner = mayDo('OWNER');
  if (!isOwner && !isOwn) return null;
  const items: MenuItem[] = [
    {
      key: 'keys',
      title: isOwn ? texts.members.myKeys : texts.members.showKeys,
      run: () => navigate(`/${member.name}/keys`),
    },
  ];
  if (isOwner) {
    const run = (): void => open({ kind: 'role', member });
    items.push({ key: 'role', title: texts.members.change, run });
  }
  items.push({
    key: 'remove',
    title: isOwn ? texts.members.leave : texts.members.remove,
    run: () => open({ kind: 'remove', member }),
  });
  return <Menu label={texts.actionsFor(shortTitle(member))} items={items} />;
}

/** At most 100 invitations are open; the list also contains ended ones. */
const INVITATIONS_MAX = 100;

interface InvitationsProps {
  readonly projectName: string;
  /** Frame of the dialog that creates one. */
  readonly inviting: DialogFrame;
}

/** Only an owner may list them. */
function Invitations({ projectName, inviting }: InvitationsProps): VNode {
  const { value: revoked, choose, frame } = useChosen<Invitation>();
  const { invitations } = texts;
  const list = useListing<Invitation>(
    `invitations ${projectName}`,
    async (pageToken, options) => {
      const request = { projectName, pageSize: ROWS, pageToken };
      const answer = await read('ProjectService', 'listInvitations', request, options);
      const items = answer.invitations.filter(({ state }) => state === 'PENDING');
      return { items, nextPageToken: answer.nextPageToken };
    },
    { rows: INVITATIONS_MAX, pollSeconds: POLL_SECONDS },
  );
  return (
    <section aria-labelledby="invitations">
      <h2 id="invitations">{texts.invitations.title}</h2>
      <ListTable
        of={list}
        label={texts.invitations.label}
        columns={invitationColumns(choose)}
        keyOf={({ name }) => name}
        empty={<p>{texts.invitations.none}</p>}
      />
      <InviteMember {...inviting} projectName={projectName} onMade={list.reload} />
      <ActDialog
        {...frame}
        method={['ProjectService', 'revokeInvitation']}
        title={invitations.revokeTitle(revoked?.email ?? '')}
        action={invitations.revoke}
        needs="OWNER"
        request={() => ({ name: revoked?.name ?? '' })}
        done={invitations.revoked(revoked?.email ?? '')}
        onSaved={list.reload}
      >
        <p>{invitations.revokeEffect}</p>
      </ActDialog>
    </section>
  );
}

function invitationColumns(revoke: (invitation: Invitation) => void): Column<Invitation>[] {
  const { invitations } = texts;
  return [
    {
      key: 'email',
      title: invitations.email,
      width: 'grow',
      cell: ({ email, mailProblem }) => (
        <>
          <span class="address">{email}</span>
          {mailProblem !== '' && <small class="effect">{mailProblem}</small>}
        </>
      ),
    },
    { key: 'role', title: texts.role, phone: 'second', cell: ({ role }) => role },
    {
      key: 'expires',
      title: invitations.expires,
      phone: 'second',
      cell: ({ expiresUnix }) => {
        const ms = msOf(expiresUnix);
        return ms !== undefined && <Time ms={ms} />;
      },
    },
    {
      key: 'acts',
      title: texts.actions,
      align: 'right',
      cell: (invitation) => (
        <button
          type="button"
          class="quiet"
          aria-label={`${invitations.revoke}: ${invitation.email}`}
          onClick={() => revoke(invitation)}
        >
          {invitations.revoke}
        </button>
      ),
    },
  ];
}
