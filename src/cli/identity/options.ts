/** Options, texts and the change action shared by the identity commands. */
import { create } from '@bufbuild/protobuf';
import { CapabilityListSchema } from '../../gen/svc/iam/v1/automation_pb.ts';
import type { Caller } from '../client/access.ts';
import {
  type Action,
  type ActionContext,
  projectOption,
  requestIdOption,
} from '../client/action.ts';
import type { Api } from '../client/api.ts';
import type { Option } from '../client/arguments.ts';
import { UsageError } from '../client/faults.ts';
import { requestId } from '../client/names.ts';
import { json } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';

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

/** Options of an action that changes one resource. */
export function changeOptions(...own: Option[]): Pick<Action, 'options'> {
  return { options: [...own, requestIdOption, projectOption] };
}

/** Options of an edit of a name and a list of capabilities. */
const editOptions: readonly Option[] = [
  nameOption,
  {
    ...capabilityOption,
    help: 'Complete list of its permissions; "none" for no permissions',
  },
];

/** The fields set by such an edit; absent ones stay unchanged. */
export function editsOf(context: Pick<ActionContext, 'input'>) {
  const displayName = context.input.text('name');
  return { ...(displayName !== undefined && { displayName }), ...changedCapabilities(context) };
}

function changedCapabilities({ input }: Pick<ActionContext, 'input'>) {
  if (!input.isOn('capability')) return {};
  const given = input.list('capability').flatMap((text) => text.split(','));
  const values = given.length === 1 && given[0] === 'none' ? [] : given;
  return { capabilities: create(CapabilityListSchema, { values }) };
}

/** A kind of resource that actions show and change. */
export interface ResourceKind<T> extends Required<Pick<Action, 'positionals'>> {
  /** Full name of the given resource. */
  readonly nameOf: (context: ActionContext, api: Api) => Promise<string>;
  /** Prints its state and resolves to the exit code. */
  readonly show: (context: ActionContext, thing: T) => number | Promise<number>;
}

/** The action `show`. @param caller who may view it */
export function showing<T>(
  { nameOf, show, positionals }: ResourceKind<T>,
  summary: string,
  get: (api: Api, request: { readonly name: string }) => Promise<T>,
  caller: Caller = 'person',
): Action {
  return {
    name: 'show',
    summary,
    positionals,
    options: [projectOption],
    async run(context) {
      const api = context.api(caller);
      return show(context, await get(api, { name: await nameOf(context, api) }));
    },
  };
}

interface ChangeOf<T> extends Omit<Action, 'run'>, Pick<ResourceKind<T>, 'nameOf'> {
  readonly send: (
    api: Api,
    request: { readonly name: string; readonly requestId: string },
    context: ActionContext,
  ) => Promise<T>;
}

/** An action that changes a resource and shows its new state. */
export function change<T>({
  nameOf,
  send,
  show,
  options = [],
  ...about
}: ChangeOf<T> & Pick<ResourceKind<T>, 'show'>): Action {
  return {
    ...about,
    ...changeOptions(...options),
    async run(context) {
      const api = context.api('person');
      const request = { name: await nameOf(context, api), requestId: requestId(context) };
      return show(context, await send(api, request, context));
    },
  };
}

interface Switched<T> {
  readonly update: ChangeOf<T>['send'];
  readonly disable: (
    api: Api,
    request: { readonly name: string; readonly requestId: string; readonly reason: string },
  ) => Promise<T>;
  readonly enable: ChangeOf<T>['send'];
  readonly remove: ChangeOf<unknown>['send'];
  readonly summaries: Readonly<Record<'update' | 'disable' | 'enable' | 'remove', string>>;
  /** Notes of `update`: its effect on existing keys and tokens. */
  readonly notes?: string;
}

/** Actions of an identity that can be edited, disabled, enabled and deleted, in this order. */
export function switchedActions<T>(
  kind: ResourceKind<T>,
  { update, disable, enable, remove, summaries, notes }: Switched<T>,
): Action[] {
  return [
    change({
      ...kind,
      name: 'update',
      summary: summaries.update,
      options: editOptions,
      ...(notes !== undefined && { notes }),
      send: update,
    }),
    change({
      ...kind,
      name: 'disable',
      summary: summaries.disable,
      options: [reasonOption],
      send: (api, request, { input }) =>
        disable(api, { ...request, reason: input.text('reason') ?? '' }),
    }),
    change({ ...kind, name: 'enable', summary: summaries.enable, send: enable }),
    removal({ ...kind, name: 'delete', summary: summaries.remove, send: remove, done: 'Deleted' }),
  ];
}

/** An action that removes the resource; `done` is printed before its name. */
export function removal({ done, send, ...about }: ChangeOf<unknown> & { readonly done: string }) {
  return change({
    ...about,
    async send(api, request, context) {
      await send(api, request, context);
      return request.name;
    },
    show({ json: isJson, print }, name) {
      print(isJson ? json({ name }) : `${done} ${name}\n`);
      return EXIT_OK;
    },
  });
}
