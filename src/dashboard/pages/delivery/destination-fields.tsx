/** Fields of a destination, new or existing: its name, and its URL or recipients. */
import type { VNode } from 'preact';
import { TextField } from '../../components/fields.tsx';
import { texts as all } from './destination-texts.ts';
import { RecipientsField } from './recipients.tsx';

const texts = all.create;
const NAME_CHARS_MAX = 200;
const URL_CHARS_MAX = 2_048;

export interface Typed {
  readonly displayName: string;
  readonly url: string;
  /** Addresses, of mail. */
  readonly recipients: readonly string[];
}

export interface DestinationFieldsProps {
  readonly projectName: string;
  readonly isMail: boolean;
  readonly fields: Typed;
  readonly type: (changes: Partial<Typed>) => void;
  readonly urlHelp: string;
  readonly nameHelp?: string;
  readonly recipientsHelp?: string;
}

export function DestinationFields(props: DestinationFieldsProps): VNode {
  const { projectName, isMail, fields, type, urlHelp, nameHelp, recipientsHelp } = props;
  return (
    <>
      <TextField
        label={texts.name}
        help={nameHelp}
        value={fields.displayName}
        maxLength={NAME_CHARS_MAX}
        onInput={(displayName) => type({ displayName })}
      />
      {isMail ? (
        <RecipientsField
          projectName={projectName}
          chosen={fields.recipients}
          help={recipientsHelp ?? all.recipients.help}
          onChange={(recipients) => type({ recipients })}
        />
      ) : (
        <TextField
          label={texts.url}
          help={urlHelp}
          value={fields.url}
          inputMode="url"
          maxLength={URL_CHARS_MAX}
          onInput={(url) => type({ url })}
        />
      )}
    </>
  );
}
