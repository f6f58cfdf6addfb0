/** `svc projects`: the projects that the signed-in person is a member of. */
import {
  ListProjectsResponseSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, family } from '../client/action.ts';
import { enumText, localTime, printMessage, shortName, table } from '../client/output.ts';
import { everyItem } from '../client/paging.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List your projects and your role in each',
  async run(context) {
    const api = context.api('person');
    const projects = await everyItem(
      (page) => api.call(ProjectService.method.listProjects, page),
      (answer) => answer.projects,
    );
    const rows = projects.map(({ name, displayName, role, createdUnix }) => [
      shortName(name),
      displayName,
      enumText(Role, role),
      localTime(createdUnix),
    ]);
    const none = 'You are a member of no project';
    return printMessage(context, ListProjectsResponseSchema, { projects }, () =>
      table(['project', 'name', 'your role', 'created'], rows, none),
    );
  },
};

export const projectsCommand = family('projects', 'Your projects', [listAction]);
