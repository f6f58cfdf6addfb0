/** `svc whoami`: who is signed in, where, until when, and in which projects. */
import { PersonSchema, ProjectService, Role } from '../../gen/svc/project/v1/project_pb.ts';
import { single } from '../client/action.ts';
import { enumText, facts, json, localTime, messageJson } from '../client/output.ts';
import { EXIT_OK } from '../command.ts';
import { addressText } from '../identity/options.ts';

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
      context.report('SVC_API_KEY is set: svc monitoring and svc alerts act with that key instead');
    }
    return EXIT_OK;
  },
});
