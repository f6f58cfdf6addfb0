/**
 * Mail recipients: the field for choosing them among the members of the project, and the
 * confirmation status of each recipient of a destination.
 */
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { Badge, type Tone } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { CheckField, FieldGroup } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { Age, msOf } from '../../components/time.tsx';
import type { Destination } from '../../data/catalogue.ts';
import { pagesOf, useListing } from '../../data/listing.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { texts as all, recipientStates } from './destination-texts.ts';
import { awaitsConfirmation } from './destination-words.ts';

const texts = all.recipients;
type Member = ResponseOf<'ProjectService', 'listMembers'>['members'][number];
type Recipient = NonNullable<Destination['email']>['recipients'][number];

/** Maximum page size of a list; a project has no more members than one load reads. */
const PAGE_ROWS = 1_000;
const ROWS_MAX = 10_000;

export interface RecipientsFieldProps {
  readonly projectName: string;
  /** Addresses, lowercase as stored by the service. */
  readonly chosen: readonly string[];
  readonly help?: string;
  readonly onChange: (chosen: readonly string[]) => void;
}

/**
 * A checkbox for each member with a verified address, and for each recipient who is no longer a
 * member.
 */
export function RecipientsField(props: RecipientsFieldProps): VNode {
  const { projectName, chosen, help = texts.help, onChange } = props;
  const members = useListing<Member>(
    `members ${projectName}`,
    pagesOf('ProjectService', 'listMembers', 'members', { projectName, pageSize: PAGE_ROWS }),
    { rows: ROWS_MAX },
  );
  return (
    <DataView
      of={members}
      isEmpty={({ items }) => chosen.length === 0 && items.every(({ email }) => email === '')}
      empty={
        <>
          <p>{texts.none}</p>
          <p class="weak">{texts.noneHelp}</p>
        </>
      }
    >
      {({ items }) => {
        const proven = items.flatMap(({ email }) => (email === '' ? [] : [email.toLowerCase()]));
        const without = items.length - proven.length;
        const addresses = [...new Set([...proven, ...chosen])].toSorted();
        return (
          <FieldGroup legend={texts.legend} help={help}>
            <div class="choices">
              {addresses.map((address) => (
                <CheckField
                  key={address}
                  label={proven.includes(address) ? address : texts.gone(address)}
                  isChecked={chosen.includes(address)}
                  onChange={(isChecked) =>
                    onChange(
                      addresses.filter((one) =>
                        one === address ? isChecked : chosen.includes(one),
                      ),
                    )
                  }
                />
              ))}
            </div>
            {without > 0 && <small class="effect">{texts.without(without)}</small>}
          </FieldGroup>
        );
      }}
    </DataView>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  INVITED: 'waiting',
  VERIFIED: 'good',
  UNSUBSCRIBED: 'off',
  BOUNCED: 'critical',
};

const columns: readonly Column<Recipient>[] = [
  {
    key: 'address',
    title: texts.address,
    width: 'grow',
    cell: ({ address, mailProblem }) => (
      <>
        {address}
        {mailProblem !== '' && <small class="effect">{mailProblem}</small>}
      </>
    ),
  },
  {
    key: 'state',
    title: texts.state,
    cell: ({ state, isMember }) => (
      <Badge
        tone={isMember ? (tones[state] ?? 'info') : 'off'}
        text={recipientStates[state]?.name ?? state}
      />
    ),
  },
  {
    key: 'meaning',
    title: texts.meaning,
    width: 'grow',
    phone: 'second',
    cell: ({ state, isMember }) => (isMember ? recipientStates[state]?.help : texts.noMember),
  },
  {
    key: 'since',
    title: texts.since,
    phone: 'second',
    cell: ({ verifiedUnix }) => <Age ms={msOf(verifiedUnix)} absent={texts.notYet} />,
  },
];

export interface RecipientsProps {
  readonly name: string;
  readonly recipients: readonly Recipient[];
  readonly onChanged: (destination: Destination) => void;
}

/** Confirmed and unconfirmed recipients, with a button that resends the confirmation mail. */
export function Recipients({ name, recipients, onChanged }: RecipientsProps): VNode {
  const verify = useMutation('AlertService', 'verifyDestination');
  useSaved(verify, ({ destination }) => destination && onChanged(destination));
  const state = verify.state.value;
  return (
    <section aria-labelledby="recipients">
      <h2 id="recipients">{texts.label}</h2>
      <Table
        label={texts.label}
        columns={columns}
        rows={recipients}
        keyOf={({ address }) => address}
      />
      <div class="buttons acts">
        <ActionButton
          needs="EDITOR"
          look="quiet"
          blocked={recipients.some(awaitsConfirmation) ? undefined : texts.nobodyWaits}
          effect={texts.againEffect}
          isBusy={isUnsettled(state)}
          onPress={() => void verify.send({ name })}
        >
          {texts.again}
        </ActionButton>
      </div>
      <MutationStatus of={verify} refusedTitle={all.one.refused} />
      {state.kind === 'done' && (
        <p role="status">
          {texts.mailed(state.response.mails)}{' '}
          {state.response.notMailed > 0 && texts.notMailed(state.response.notMailed)}
        </p>
      )}
    </section>
  );
}
