/**
 * Actions that change one named thing under a request id: those that answer how it is afterwards,
 * and those after which it is gone.
 */
import type { Action, ActionContext } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { requestId } from '../client/names.ts';
import { json } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { changeOptions } from './options.ts';

interface ChangedThing<T> extends Omit<Action, 'run'> {
  /** Full name of the thing that is meant. */
  readonly nameOf: (context: ActionContext, api: Api) => Promise<string>;
  readonly send: (
    api: Api,
    request: { readonly name: string; readonly requestId: string },
    context: ActionContext,
  ) => Promise<T>;
}

/** An action that changes a thing; `show` prints its new state and returns the exit code. */
export function change<T>({
  nameOf,
  send,
  show,
  options = [],
  ...about
}: ChangedThing<T> & { readonly show: (context: ActionContext, thing: T) => number }): Action {
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

/** An action after which the thing is gone; `done` is said before its name. */
export function removal({
  done,
  send,
  ...about
}: ChangedThing<unknown> & { readonly done: string }) {
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
