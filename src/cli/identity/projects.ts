/** `svc projects`: the projects that the signed-in person is a member of. */

import {
  GetProjectLimitsResponseSchema,
  MonitoringService,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import {
  ListProjectsResponseSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, family, projectOption, single } from '../client/action.ts';
import { listing, long, moment, right, sentences } from '../client/listing.ts';
import { projectName } from '../client/names.ts';
import { enumText, NOT_OBSERVED, printMessage, shortName } from '../client/output.ts';
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
      displayName,
      shortName(name),
      enumText(Role, role),
      moment(createdUnix),
    ]);
    const none = 'You are a member of no project';
    return printMessage(context, ListProjectsResponseSchema, { projects }, () =>
      listing(context.screen, [long('name'), 'project', 'your role', 'created'], rows, none),
    );
  },
};

export const projectsCommand = family('projects', 'Your projects', [listAction]);

/** `svc limits`: what a project may take up, and what it takes up now. Read only. */
export const limitsCommand = single({
  name: 'limits',
  summary: 'Show the limits of a project and their current use',
  options: [projectOption],
  notes: `"${NOT_OBSERVED}" stands for what has not been measured; it is not a zero. The operator sets limits: svc admin limits set.`,
  async run(context) {
    const api = context.api('any');
    const request = { projectName: await projectName(context, api) };
    const answer = await api.call(MonitoringService.method.getProjectLimits, request);
    const rows = answer.limits.map(({ name, used, limit, unit, description }) => [
      ...[name, used === undefined ? NOT_OBSERVED : String(used), String(limit)],
      ...[unit, description],
    ]);
    const columns = ['limit', right('used'), right('at most'), 'unit', sentences('of')];
    return printMessage(context, GetProjectLimitsResponseSchema, answer, () =>
      listing(context.screen, columns, rows, 'This service reports no limits'),
    );
  },
});
