/** `svc projects`: the projects that the signed-in person is a member of. */
import { create } from '@bufbuild/protobuf';
import {
  ListProjectsResponseSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, family } from '../client/action.ts';
import { enumText, json, localTime, messageJson, shortName, table } from '../client/output.ts';
import { everyPage, PAGE_SIZE } from '../client/paging.ts';
import { EXIT_OK } from '../command.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List your projects and your role in each',
  async run(context) {
    const api = context.api('person');
    const projects = await everyPage(async (pageToken) => {
      const page = { pageSize: PAGE_SIZE, pageToken };
      const answer = await api.call(ProjectService.method.listProjects, page);
      return { items: answer.projects, nextPageToken: answer.nextPageToken };
    });
    if (context.json) {
      const answer = create(ListProjectsResponseSchema, { projects });
      context.print(json(messageJson(ListProjectsResponseSchema, answer)));
      return EXIT_OK;
    }
    const rows = projects.map(({ name, displayName, role, createdUnix }) => [
      shortName(name),
      displayName,
      enumText(Role, role),
      localTime(createdUnix),
    ]);
    const none = 'You are a member of no project';
    context.print(table(['project', 'name', 'your role', 'created'], rows, none));
    return EXIT_OK;
  },
};

export const projectsCommand = family('projects', 'Your projects', [listAction]);
