/** `svc projects`: the projects that the signed-in person is a member of. */

import {
  GetProjectLimitsResponseSchema,
  MonitoringService,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import {
  ListProjectsResponseSchema,
  ProjectSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, family, projectOption, requestIdOption, single } from '../client/action.ts';
import { listing, long, moment, right, sentences } from '../client/listing.ts';
import { projectName, requestId } from '../client/names.ts';
import { enumText, facts, NOT_OBSERVED, printMessage, shortName } from '../client/output.ts';
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

const setAction: Action = {
  name: 'set',
  summary: 'Change a setting of a project',
  options: [
    projectOption,
    {
      name: 'promql-lookback',
      takes: 'DURATION',
      help: 'How long the newest observation counts as the present in PromQL, 60s to 1h; 0s: the default, 5m',
    },
    requestIdOption,
  ],
  notes:
    'With 90s (three readings) a gap shows as a gap. A query may give another with lookback_delta.',
  async run(context) {
    const api = context.api('person');
    const name = await projectName(context, api);
    const promqlLookbackSeconds = context.input.seconds('promql-lookback') ?? 0;
    const request = { name, requestId: requestId(context), promqlLookbackSeconds };
    const project = await api.call(ProjectService.method.updateProject, request);
    return printMessage(context, ProjectSchema, project, () =>
      facts([
        ['project', project.name],
        ['PromQL look-back', `${project.promqlLookbackSeconds} s`],
      ]),
    );
  },
};

export const projectsCommand = family('projects', 'Your projects', [listAction, setAction]);

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
