/** `svc projects`: the projects of the signed-in person. */

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
    const none = 'You are not a member of any project';
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
      help: 'Maximum age of the newest sample that counts as current in PromQL, 60s to 1h; 0s resets it to the default, 5m',
    },
    requestIdOption,
  ],
  notes: '90s (three readings) makes gaps visible. A query can override it with lookback_delta.',
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

/** `svc limits`: what a project may use, and what it uses now. Read-only. */
export const limitsCommand = single({
  name: 'limits',
  summary: 'Show the limits of a project and their current use',
  options: [projectOption],
  notes: `"${NOT_OBSERVED}" means not measured yet; it is not zero. The operator sets limits: svc admin limits set.`,
  async run(context) {
    const api = context.api('any');
    const request = { projectName: await projectName(context, api) };
    const answer = await api.call(MonitoringService.method.getProjectLimits, request);
    const rows = answer.limits.map(({ name, used, limit, unit, description }) => [
      name,
      used === undefined ? NOT_OBSERVED : String(used),
      String(limit),
      unit,
      description,
    ]);
    const columns = ['limit', right('used'), right('at most'), 'unit', sentences('of')];
    return printMessage(context, GetProjectLimitsResponseSchema, answer, () =>
      listing(context.screen, columns, rows, 'The service reports no limits'),
    );
  },
});
