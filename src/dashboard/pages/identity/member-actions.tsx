/** Actions of an owner on members and invitations, each in a dialog that describes its effect. */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActDialog, type DialogFrame } from '../../components/act-dialog.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { SelectField, TextField } from '../../components/fields.tsx';
import { toast } from '../../components/toasts.tsx';
import { typing, useDraft } from '../../data/draft.ts';
import { useMutation } from '../../data/mutation.ts';
import { loadProjects, type Role } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { useServiceInfo } from '../../data/service-info.ts';
import { navigate } from '../../router/location.ts';
import { pathOf } from '../../router/match.ts';
import { texts } from './access-texts.ts';
import { SecretDialog } from './secret-dialog.tsx';

export type Member = ResponseOf<'ProjectService', 'listMembers'>['members'][number];
export type Invitation = ResponseOf<'ProjectService', 'listInvitations'>['invitations'][number];

const ROLES = ['VIEWER', 'EDITOR', 'OWNER'] as const satisfies readonly Role[];

/** Display name, address or id: the first that exists. */
export function titleOfMember({ displayName, email, unprovenEmail, name }: Member): string {
  return displayName || email || unprovenEmail || name;
}

function RoleField(props: {
  readonly value: Role;
  readonly onChange: (role: Role) => void;
}): VNode {
  const { value, onChange } = props;
  return (
    <SelectField
      label={texts.role}
      help={texts.roles[value]}
      value={value}
      options={ROLES.map((role) => ({ value: role, title: role }))}
      onChange={(chosen) => {
        const role = ROLES.find((one) => one === chosen);
        if (role !== undefined) onChange(role);
      }}
    />
  );
}

interface MemberDialogProps extends DialogFrame {
  readonly member: Member;
  /** True for the current user. */
  readonly isOwn: boolean;
  readonly onSaved: () => void;
}

export function ChangeRole({ member, isOwn, isOpen, onClose, onSaved }: MemberDialogProps): VNode {
  const change = useMutation('ProjectService', 'setMemberRole');
  const chosen = useSignal<Role>(roleOf(member));
  useEffect(() => {
    chosen.value = roleOf(member);
  }, [chosen, member]);
  const who = titleOfMember(member);
  return (
    <ConfirmDialog
      title={texts.changeRole.title(who)}
      isOpen={isOpen}
      onClose={onClose}
      action={texts.changeRole.action}
      needs="OWNER"
      look="main"
      mutation={change}
      request={() => ({ name: member.name, role: chosen.peek() })}
      onSaved={({ role }) => {
        toast(texts.changeRole.changed(who, role));
        onSaved();
        // The user's own role determines what the frame offers.
        if (isOwn) void loadProjects();
      }}
    >
      <RoleField
        value={chosen.value}
        onChange={(role) => {
          chosen.value = role;
        }}
      />
      <p class="weak">{texts.changeRole.effect}</p>
    </ConfirmDialog>
  );
}

function roleOf({ role }: Member): Role {
  return role === 'ROLE_UNSPECIFIED' ? 'VIEWER' : role;
}

export function RemoveMember(props: MemberDialogProps): VNode {
  const { member, isOwn, onSaved, isOpen, onClose } = props;
  const who = titleOfMember(member);
  const { removal } = texts;
  return (
    <ActDialog
      isOpen={isOpen}
      onClose={onClose}
      method={['ProjectService', 'removeMember']}
      title={isOwn ? removal.titleOwn : removal.title(who)}
      action={isOwn ? removal.leave : removal.action}
      needs={isOwn ? 'VIEWER' : 'OWNER'}
      request={() => ({ name: member.name })}
      done={removal.removed(who)}
      onSaved={() => {
        if (!isOwn) onSaved();
        else void loadProjects().then(() => navigate(`${pathOf('home')}?all`));
      }}
    >
      <ul>
        <li>{removal.keys}</li>
        <li>{removal.sessions}</li>
        <li>{removal.mail}</li>
        <li>{removal.stays}</li>
      </ul>
    </ActDialog>
  );
}

interface InviteProps extends DialogFrame {
  readonly projectName: string;
  readonly onMade: () => void;
}

export function InviteMember({ projectName, isOpen, onClose, onMade }: InviteProps): VNode {
  const invite = useMutation('ProjectService', 'inviteMember');
  const draft = useDraft<{ email: string; role: Role }>(`invite ${projectName}`, {
    email: '',
    role: 'VIEWER',
  });
  const { email, role } = draft.value.value;
  const hasMail = useServiceInfo().state.value.value?.hasMail;
  const type = typing(draft, invite);
  const { invitations } = texts;
  return (
    <SecretDialog
      title={invitations.invite}
      isOpen={isOpen}
      onClose={onClose}
      action={invitations.invite}
      needs="OWNER"
      blocked={email.trim() === '' ? invitations.emailMissing : undefined}
      mutation={invite}
      request={() => ({ projectName, email: email.trim(), role })}
      onMade={onMade}
      label={({ invitation }) => invitations.link(invitation?.email ?? '')}
      secretOf={({ link, secretAvailable }) => (secretAvailable ? link : undefined)}
      note={({ emailed }) => (
        <p>
          {invitations.linkHelp} {emailed && invitations.emailed}
        </p>
      )}
      replace={() => (
        // The service revokes the earlier invitation to the address.
        <button type="button" onClick={() => invite.reset()}>
          {invitations.again}
        </button>
      )}
      onStored={draft.discard}
    >
      <TextField
        label={invitations.email}
        help={invitations.emailHelp}
        value={email}
        inputMode="email"
        maxLength={254}
        onInput={(value) => type({ email: value })}
      />
      <RoleField value={role} onChange={(value) => type({ role: value })} />
      {hasMail !== undefined && (
        <p class="weak">{hasMail ? invitations.sends : invitations.sendsNot}</p>
      )}
    </SecretDialog>
  );
}
