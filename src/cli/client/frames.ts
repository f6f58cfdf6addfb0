/**
 * The runs that most actions share: reading one response, changing one resource, creating a secret.
 * Each opens the API as its caller, sends one request, and prints the response as JSON for programs
 * or as text for people.
 */
import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { EXIT_OK } from '../command.ts';
import type { Caller } from './access.ts';
import { type Action, type ActionContext, projectOption, requestIdOption } from './action.ts';
import type { Api } from './api.ts';
import type { Option } from './arguments.ts';
import { firstNamed, projectName, requestId } from './names.ts';
import { reportRequest } from './once.ts';
import { json, messageDocument } from './output.ts';
import { everyItem, nextTokenOf } from './paging.ts';

/** An action that reads one response of a method. */
interface Reading<I extends DescMessage, O extends DescMessage, R extends MessageInitShape<I>> {
  /** Kind of caller that may read it. */
  readonly caller: Caller;
  readonly method: DescMethodUnary<I, O>;
  /** Field with the items of a list that is read to its last page. */
  readonly every?: keyof MessageShape<O>;
  readonly request: (context: ActionContext, api: Api) => Promise<R>;
  /** The response for people. */
  readonly text: (
    answer: MessageShape<O>,
    context: ActionContext,
    request: R,
  ) => string | Promise<string>;
}

/** Reads a response and prints it; reports how to get the next page of a list. */
export function reads<I extends DescMessage, O extends DescMessage, R extends MessageInitShape<I>>({
  caller,
  method,
  every,
  request,
  text,
}: Reading<I, O, R>): Action['run'] {
  return async (context) => {
    const api = context.api(caller);
    const message = await request(context, api);
    const answer = every
      ? create(method.output, {
          [every]: await everyItem(api, method, message, every),
        } as MessageInitShape<O>)
      : await api.call(method, message);
    context.print(
      context.json ? messageDocument(method.output, answer) : await text(answer, context, message),
    );
    const nextPageToken = nextTokenOf(answer);
    if (!context.json && nextPageToken)
      context.report(`More results: --page-token ${nextPageToken}`);
    return EXIT_OK;
  };
}

/** The request for what belongs to the project. */
export async function ofProject(context: ActionContext, api: Api) {
  return { projectName: await projectName(context, api) };
}

/** The request for the resource of a collection that the first argument names. */
export function ofFirst(collection: string) {
  const nameOf = firstNamed(collection);
  return async (context: ActionContext, api: Api) => ({ name: await nameOf(context, api) });
}

/** Options of an action that changes one resource. */
export function changeOptions(...own: Option[]): Pick<Action, 'options'> {
  return { options: [...own, requestIdOption, projectOption] };
}

/** A kind of resource that actions show and change. */
export interface ResourceKind<T> extends Required<Pick<Action, 'positionals'>> {
  /** Full name of the given resource. */
  readonly nameOf: (context: ActionContext, api: Api) => Promise<string>;
  /** Prints its state and resolves to the exit code. */
  readonly show: (context: ActionContext, thing: T) => number | Promise<number>;
}

/** A request about one resource: each of these methods takes its name, and a change a request id. */
function requestOf<I extends DescMessage>(
  _method: DescMethodUnary<I>,
  fields: Readonly<Record<string, unknown>>,
): MessageInitShape<I> {
  return fields as MessageInitShape<I>;
}

/** The action `show`. @param caller who may view it */
export function showing<I extends DescMessage, O extends DescMessage>(
  { nameOf, show, positionals }: ResourceKind<MessageShape<O>>,
  method: DescMethodUnary<I, O>,
  summary: string,
  caller: Caller = 'person',
): Action {
  return {
    name: 'show',
    summary,
    positionals,
    options: [projectOption],
    async run(context) {
      const api = context.api(caller);
      const request = requestOf(method, { name: await nameOf(context, api) });
      return show(context, await api.call(method, request));
    },
  };
}

/** A change of one resource. */
interface Change<I extends DescMessage, O extends DescMessage>
  extends Omit<Action, 'run'>,
    Pick<ResourceKind<MessageShape<O>>, 'nameOf' | 'show'> {
  readonly method: DescMethodUnary<I, O>;
  /** Fields of the request besides its name and request id. */
  readonly fields?: (context: ActionContext) => MessageInitShape<I>;
  /** Present participle, to report the request before it is sent: `Ending`. */
  readonly act?: string;
}

/** An action that changes a resource and shows its new state. */
export function change<I extends DescMessage, O extends DescMessage>({
  nameOf,
  method,
  fields,
  act,
  show,
  options = [],
  ...about
}: Change<I, O>): Action {
  return {
    ...about,
    ...changeOptions(...options),
    async run(context) {
      const api = context.api('person');
      const request = { name: await nameOf(context, api), requestId: requestId(context) };
      if (act) reportRequest(context, `${act} ${request.name}`, request.requestId);
      const whole = requestOf(method, { ...fields?.(context), ...request });
      return show(context, await api.call(method, whole));
    },
  };
}

/** An action that removes the resource; `done` is printed before its name. */
export function removal<I extends DescMessage, O extends DescMessage>({
  nameOf,
  method,
  done,
  ...about
}: Omit<Change<I, O>, 'show' | 'fields' | 'act'> & { readonly done: string }): Action {
  return {
    ...about,
    ...changeOptions(...(about.options ?? [])),
    async run(context) {
      const api = context.api('person');
      const name = await nameOf(context, api);
      await api.call(method, requestOf(method, { name, requestId: requestId(context) }));
      context.print(context.json ? json({ name }) : `${done} ${name}\n`);
      return EXIT_OK;
    },
  };
}

/** The given reason of a change. */
export function reasonOf({ input }: Pick<ActionContext, 'input'>): { readonly reason: string } {
  return { reason: input.text('reason') ?? '' };
}
