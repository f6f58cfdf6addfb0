/** `svc sessions`, `svc whoami` and `svc logout`: listing and ending the sessions of a person. */
import {
  PersonSchema,
  ProjectService,
  Role,
  type Session,
} from '../../gen/svc/project/v1/project_pb.ts';
import { openAccess } from '../client/access.ts';
import {
  type Action,
  type ActionContext,
  family,
  requestIdOption,
  single,
} from '../client/action.ts';
import { type Api, asApiFault, askPlainly } from '../client/api.ts';
import { Fault, refusalOf, UsageError } from '../client/faults.ts';
import { reads } from '../client/frames.ts';
import { listing, long, minor, moment } from '../client/listing.ts';
import { requestId } from '../client/names.ts';
import { facts, json, messageJson } from '../client/output.ts';
import { removeSession, sessionPath } from '../client/session-file.ts';
import { enumText, localTime, shortName } from '../client/texts.ts';
import { EXIT_OK, type Screen } from '../command.ts';
import { addressText } from '../identity/options.ts';

const { method } = ProjectService;

const listAction: Action = {
  name: 'list',
  summary: 'List your sessions',
  run: reads({
    caller: 'person',
    method: method.listSessions,
    request: async () => ({}),
    text: ({ sessions }, { screen }) => sessionTable(sessions, screen),
  }),
};

function sessionTable(sessions: readonly Session[], screen: Screen | undefined): string {
  return listing(
    screen,
    [
      'session',
      long('signed in by'),
      long('client'),
      minor('started'),
      minor('last used'),
      minor('ends'),
      '',
    ],
    sessions.map((each) => [
      shortName(each.name),
      each.signInMethod,
      each.agent || '-',
      moment(each.createdUnix),
      moment(each.lastUsedUnix),
      moment(each.expiresUnix),
      each.current ? 'this one' : '',
    ]),
    'No sessions',
  );
}

const endAction: Action = {
  name: 'end',
  summary: 'End one of your sessions, on any machine',
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

/** A full name, or the id of one of the user's own sessions. */
async function sessionName({ input }: ActionContext, api: Api): Promise<string> {
  const given = input.positional(0);
  if (/^people\/[^/]+\/sessions\/[^/]+$/.test(given)) return given;
  if (/^[0-9A-Za-z]{1,64}$/.test(given)) {
    const { name } = await api.call(method.getSelf, {});
    return `${name}/sessions/${given}`;
  }
  // A session secret pasted by mistake must not be repeated.
  throw new UsageError('Name the session by its id or full name, never by its secret');
}

export const sessionsCommand = family('sessions', 'Your sessions', [listAction, endAction]);

const PAGE_SIZE = 500;

export const whoamiCommand = single({
  name: 'whoami',
  summary: 'Show who is signed in',
  async run(context) {
    const api = context.api('person');
    const person = await api.call(ProjectService.method.getSelf, {});
    const { projects } = await api.call(ProjectService.method.listProjects, {
      pageSize: PAGE_SIZE,
    });
    const { endpoint } = api.access;
    if (context.json) {
      const names = projects.map(({ name }) => name);
      context.print(json({ endpoint, person: messageJson(PersonSchema, person), projects: names }));
      return EXIT_OK;
    }
    context.print(
      facts([
        ['service', endpoint],
        ['person', person.name],
        ['name', person.displayName],
        ['email', addressText(person.email, person.unprovenEmail)],
        ['signed in by', person.signInMethod],
        ['until', localTime(person.sessionExpiresUnix)],
        ...projects.map(
          ({ name, role }) => ['project', `${name} (${enumText(Role, role)})`] as const,
        ),
      ]),
    );
    if (context.environment.SVC_API_KEY) {
      context.report('SVC_API_KEY is set, so svc monitoring and svc alerts use that key instead');
    }
    return EXIT_OK;
  },
});

export const logoutCommand = single({
  name: 'logout',
  summary: 'Sign out on this machine, or everywhere',
  options: [{ name: 'everywhere', help: 'End all your sessions, on every machine' }],
  notes: 'The local session is removed even if the service is unreachable.',
  async run({ environment, input, ports, timeoutMs, json: asJson, print }) {
    // Uses the endpoint of the session, regardless of the current SVC_ENDPOINT.
    const own = { ...environment, SVC_ENDPOINT: undefined };
    const access = openAccess({ endpoint: undefined, caller: 'person', environment: own, ports });
    const everywhere = input.isOn('everywhere');
    const { endpoint, headers } = access;
    try {
      const answer = await askPlainly({
        method: 'POST',
        url: `${endpoint}/auth/logout`,
        headers: { ...headers(), 'content-type': 'application/json' },
        body: JSON.stringify({ everywhere }),
        timeoutMs,
      });
      // 401: the session had already ended, which is the desired outcome.
      if (answer.status !== 200 && answer.status !== 401) throw asApiFault(answer);
    } catch (error) {
      throw signedOutHereOnly(error, endpoint);
    } finally {
      removeSession(sessionPath(environment, ports.homeFolder));
    }
    if (asJson) print(json({ endpoint, everywhere }));
    else print(`Signed out at ${endpoint}${everywhere ? ', everywhere' : ''}\n`);
    return EXIT_OK;
  },
});

/** The fault, with instructions for the session that was not ended. */
function signedOutHereOnly(error: unknown, endpoint: string): unknown {
  const fault = refusalOf(error) ?? (error instanceof Fault ? error : undefined);
  if (!fault) return error;
  const { message, reason, exitCode } = fault;
  const hint =
    `Signed out only on this machine. The session at ${endpoint} stays valid until it expires. To end it,\n` +
    'sign in again with "svc login", then run "svc logout --everywhere" or "svc sessions end SESSION"';
  return new Fault(message, { exitCode, reason, hint });
}
