/** `svc sessions`: where one is signed in, and ending one of them. */
import {
  ListSessionsResponseSchema,
  ProjectService,
  type Session,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, type ActionContext, family, requestIdOption } from '../client/action.ts';
import type { Api } from '../client/api.ts';
import { UsageError } from '../client/faults.ts';
import { requestId } from '../client/names.ts';
import { json, localTime, messageJson, shortName, table } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';

const { method } = ProjectService;

const listAction: Action = {
  name: 'list',
  summary: 'List where you are signed in',
  async run(context) {
    const answer = await context.api('person').call(method.listSessions, {});
    if (context.json) context.print(json(messageJson(ListSessionsResponseSchema, answer)));
    else context.print(sessionTable(answer.sessions));
    return EXIT_OK;
  },
};

function sessionTable(sessions: readonly Session[]): string {
  return table(
    ['session', 'signed in by', 'with', 'began', 'last used', 'ends', ''],
    sessions.map((each) => [
      ...[shortName(each.name), each.signInMethod, each.agent || '-'],
      localTime(each.createdUnix),
      localTime(each.lastUsedUnix),
      localTime(each.expiresUnix),
      each.current ? 'this one' : '',
    ]),
    'You are signed in nowhere',
  );
}

const endAction: Action = {
  name: 'end',
  summary: 'End one of your sessions, wherever it is',
  positionals: [{ name: 'SESSION' }],
  options: [requestIdOption],
  notes: '"svc logout --everywhere" ends all of them.',
  async run(context) {
    const api = context.api('person');
    const name = await sessionName(context, api);
    await api.call(method.endSession, { name, requestId: requestId(context) });
    context.print(context.json ? json({ name }) : `Ended ${name}\n`);
    return EXIT_OK;
  },
};

/** A full name, or an id among one's own sessions. */
async function sessionName({ input }: ActionContext, api: Api): Promise<string> {
  const given = input.positional(0);
  if (/^people\/[^/]+\/sessions\/[^/]+$/.test(given)) return given;
  if (/^[0-9A-Za-z]{1,64}$/.test(given)) {
    const { name } = await api.call(method.getSelf, {});
    return `${name}/sessions/${given}`;
  }
  // A session's secret pasted by mistake is not repeated.
  throw new UsageError('The session is named by its id or its full name, never by its secret');
}

export const sessionsCommand = family('sessions', 'Where you are signed in', [
  listAction,
  endAction,
]);
