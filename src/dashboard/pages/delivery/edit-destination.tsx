/**
 * The dialog for editing a destination: its name, its URL or recipients, and its group wait. The
 * kind is fixed.
 */
import type { VNode } from 'preact';
import type { DialogFrame } from '../../components/act-dialog.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import type { Destination } from '../../data/catalogue.ts';
import { useForm } from '../../data/form.ts';
import type { RequestOf } from '../../data/rpc-types.ts';
import { DestinationFields } from './destination-fields.tsx';
import { texts as all } from './destination-texts.ts';
import { kindOf, sendsToText, titleOf } from './destination-words.ts';
import { GroupWaitField } from './group-wait.tsx';

const texts = all.edit;

interface Fields {
  readonly displayName: string;
  /** Empty to keep the URL. */
  readonly url: string;
  readonly recipients: readonly string[];
  readonly groupWaitSeconds: number;
}

type Typed = Partial<Fields>;
const NOTHING_TYPED: Typed = {};

export interface EditDestinationProps extends DialogFrame {
  readonly destination: Destination;
  /** Called if earlier input was restored. */
  readonly onRestored: () => void;
  readonly onSaved: (destination: Destination) => void;
}

export function EditDestination(props: EditDestinationProps): VNode {
  const { destination, onRestored, onSaved, ...frame } = props;
  const { name, email } = destination;
  const form = useForm('AlertService', 'updateDestination', {
    key: `editDestination ${name}`,
    initial: NOTHING_TYPED,
    secrets: ['url'],
    onRestored,
  });
  const { mutation, draft, type } = form;
  const fields = fieldsOf(destination, form.fields);
  const urlHelp = kindOf(destination) === 'webhook' ? texts.urlHelp : texts.chatUrlHelp;
  return (
    <ConfirmDialog
      {...frame}
      title={texts.title(titleOf(destination))}
      action={texts.action}
      needs="EDITOR"
      look="main"
      blocked={blockedBy(destination, fields)}
      mutation={mutation}
      draft={draft}
      request={() => requestOf(destination, fieldsOf(destination, draft.value.peek()))}
      done={all.one.saved}
      onSaved={onSaved}
    >
      <DestinationFields
        projectName={name.split('/').slice(0, 2).join('/')}
        isMail={email !== undefined}
        fields={fields}
        type={type}
        urlHelp={urlHelp(sendsToText(destination))}
        recipientsHelp={texts.recipientsHelp}
      />
      <GroupWaitField
        seconds={fields.groupWaitSeconds}
        onChange={(seconds) => {
          if (seconds !== undefined) type({ groupWaitSeconds: seconds });
        }}
      />
    </ConfirmDialog>
  );
}

/** Input on top of the destination's values, which may change during editing. */
function fieldsOf(destination: Destination, typed: Typed): Fields {
  const { displayName, email } = destination;
  const groupWaitSeconds = waitOf(destination);
  return { displayName, url: '', recipients: addressesOf(email), groupWaitSeconds, ...typed };
}

/** The service always sends it; the default is no wait. */
function waitOf({ groupWaitSeconds }: Destination): number {
  return groupWaitSeconds === undefined ? 0 : groupWaitSeconds;
}

function addressesOf(email: Destination['email']): readonly string[] {
  return (email?.recipients ?? []).map(({ address }) => address);
}

function blockedBy(destination: Destination, fields: Fields): string | undefined {
  if (fields.displayName.trim() === '') return all.create.nameMissing;
  if (destination.email && fields.recipients.length === 0) return all.create.noRecipient;
  const { displayName, ...target } = requestOf(destination, fields);
  const isChanged = displayName !== undefined || Object.keys(target).length > 1;
  return isChanged ? undefined : texts.unchanged;
}

/** Only the changes: the name, and a target of the destination's kind. */
function requestOf(
  destination: Destination,
  fields: Fields,
): Omit<RequestOf<'AlertService', 'updateDestination'>, 'requestId'> {
  const { name, email } = destination;
  const { groupWaitSeconds } = fields;
  const displayName = fields.displayName.trim();
  const url = fields.url.trim();
  const kind = kindOf(destination);
  const before = addressesOf(email);
  const isSame =
    before.length === fields.recipients.length &&
    before.every((address) => fields.recipients.includes(address));
  return {
    name,
    ...(displayName !== destination.displayName && { displayName }),
    ...(groupWaitSeconds !== waitOf(destination) && { groupWaitSeconds }),
    ...(email &&
      !isSame && { email: { recipients: fields.recipients.map((address) => ({ address })) } }),
    ...(kind !== undefined && kind !== 'email' && url !== '' && { [kind]: { url } }),
  };
}
