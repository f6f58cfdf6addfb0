/** Options, texts and actions shared by the identity commands. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageShape,
} from '@bufbuild/protobuf';
import { CapabilityListSchema } from '../../gen/svc/iam/v1/automation_pb.ts';
import type { Action, ActionContext } from '../client/action.ts';
import type { Option } from '../client/arguments.ts';
import { UsageError } from '../client/faults.ts';
import { change, type ResourceKind, reasonOf, removal } from '../client/frames.ts';

export const capabilityOption: Option = {
  name: 'capability',
  takes: 'CAPABILITY',
  multiple: true,
  help: 'monitoring.read or monitoring.write',
};

/** At least one capability. Throws `UsageError`. */
export function capabilitiesOf({ input }: Pick<ActionContext, 'input'>): string[] {
  const given = input.list('capability').flatMap((text) => text.split(','));
  if (given.length > 0) return given;
  throw new UsageError('--capability is missing', 'Name a permission, such as monitoring.read');
}

export const serviceAccountOption: Option = {
  name: 'service-account',
  takes: 'NAME',
  help: 'Keys of this service account; default: your own',
};

export const memberOption: Option = {
  name: 'member',
  takes: 'MEMBER',
  help: 'Keys of this member, for owners of the project; default: your own',
};

/** An address for display; an unverified one is always marked. */
export function addressText(email: string, unprovenEmail: string): string {
  return unprovenEmail === '' ? email : `${unprovenEmail} (not verified)`;
}

export const nameOption: Option = { name: 'name', takes: 'TEXT', help: 'Display name' };
export const reasonOption: Option = {
  name: 'reason',
  takes: 'TEXT',
  help: 'Reason, for the audit trail',
};

/** Options of an edit of a name and a list of capabilities. */
const editOptions: readonly Option[] = [
  nameOption,
  {
    ...capabilityOption,
    help: 'Complete list of its permissions; "none" for no permissions',
  },
];

/** The fields set by such an edit; absent ones stay unchanged. */
function editsOf(context: Pick<ActionContext, 'input'>) {
  const displayName = context.input.text('name');
  return { ...(displayName !== undefined && { displayName }), ...changedCapabilities(context) };
}

function changedCapabilities({ input }: Pick<ActionContext, 'input'>) {
  if (!input.isOn('capability')) return {};
  const given = input.list('capability').flatMap((text) => text.split(','));
  const values = given.length === 1 && given[0] === 'none' ? [] : given;
  return { capabilities: create(CapabilityListSchema, { values }) };
}

/** The methods of an identity that can be edited, disabled, enabled and deleted. */
interface Switched<O extends DescMessage> {
  readonly update: DescMethodUnary<DescMessage, O>;
  readonly disable: DescMethodUnary<DescMessage, O>;
  readonly enable: DescMethodUnary<DescMessage, O>;
  readonly remove: DescMethodUnary;
  readonly summaries: Readonly<Record<'update' | 'disable' | 'enable' | 'remove', string>>;
  /** Notes of `update`: its effect on existing keys and tokens. */
  readonly notes?: string;
}

/** Their actions, in this order. */
export function switchedActions<O extends DescMessage>(
  kind: ResourceKind<MessageShape<O>>,
  { update, disable, enable, remove, summaries, notes }: Switched<O>,
): Action[] {
  return [
    change({
      ...kind,
      name: 'update',
      summary: summaries.update,
      options: editOptions,
      ...(notes !== undefined && { notes }),
      method: update,
      fields: editsOf,
    }),
    change({
      ...kind,
      name: 'disable',
      summary: summaries.disable,
      options: [reasonOption],
      method: disable,
      fields: reasonOf,
    }),
    change({ ...kind, name: 'enable', summary: summaries.enable, method: enable }),
    removal({
      name: 'delete',
      summary: summaries.remove,
      positionals: kind.positionals,
      nameOf: kind.nameOf,
      method: remove,
      done: 'Deleted',
    }),
  ];
}
