/** Where a destination sends to, from a command line and from standard input. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Destination, DestinationSchema } from '../../gen/svc/monitoring/v1/destination_pb.ts';
import type { ActionContext } from '../client/action.ts';
import type { Option } from '../client/arguments.ts';
import { UsageError } from '../client/faults.ts';

export type Kind = NonNullable<Destination['target']['case']>;

/** The kinds of the API, in the order of its messages. */
export const KINDS = (DestinationSchema.oneofs.find(({ name }) => name === 'target')?.fields ?? [])
  // The fields of the oneof are its cases.
  .map((field) => field.localName as Kind);

export const urlOption: Option = {
  name: 'url',
  takes: 'URL',
  help: 'Where a webhook or chat takes messages; "-" reads it from standard input',
};

export const recipientOption: Option = {
  name: 'recipient',
  takes: 'ADDRESS',
  multiple: true,
  help: 'Verified address of a member, for mail',
};

/** As the API takes it. */
type Target = NonNullable<MessageInitShape<typeof DestinationSchema>['target']>;

/** Throws `UsageError` for a kind that this program does not know. */
export function kindOf(text: string): Kind {
  const kind = KINDS.find((one) => one === text);
  if (kind) return kind;
  throw new UsageError(`The destination is of a kind that this program does not know: ${text}`);
}

/** What was given for the kind. Throws `UsageError`. */
export async function newTarget(context: ActionContext, kind: Kind): Promise<Target> {
  if (kind !== 'email') return { case: kind, value: { url: await newUrl(context, kind) } };
  const { input } = context;
  if (input.isOn('url')) throw new UsageError('Mail has recipients, not a URL: give --recipient');
  const addresses = input.list('recipient').flatMap((text) => text.split(','));
  if (addresses.length === 0) {
    throw new UsageError('--recipient is missing', 'Say who gets mail: addresses of members');
  }
  const recipients = addresses.map((address) => ({ address: address.trim() }));
  return { case: kind, value: { recipients } };
}

async function newUrl({ input, ports }: ActionContext, kind: Kind): Promise<string> {
  if (input.isOn('recipient')) throw new UsageError(`--recipient is for mail, not for ${kind}`);
  const given = input.required('url');
  if (given === '-') {
    const url = ports.isInteractive ? await ports.ask('URL: ') : await ports.readInput();
    return url.trim();
  }
  if (kind === 'webhook') return given;
  throw new UsageError(
    `The URL of ${kind} is a secret, and every process of this machine can read a command line`,
    'Give "--url -" and put the URL on standard input',
  );
}
