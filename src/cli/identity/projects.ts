/** `svc projects`: the projects of the signed-in person. */

import { MonitoringService } from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import {
  type Project,
  ProjectSchema,
  ProjectService,
  Role,
} from '../../gen/svc/project/v1/project_pb.ts';
import { type Action, family, projectOption, requestIdOption, single } from '../client/action.ts';
import { ofProject, reads } from '../client/frames.ts';
import { listing, long, moment, right, sentences } from '../client/listing.ts';
import { projectName, requestId } from '../client/names.ts';
import { facts, printMessage } from '../client/output.ts';
import { enumText, NOT_OBSERVED, shortName } from '../client/texts.ts';
import type { Screen } from '../command.ts';

const listAction: Action = {
  name: 'list',
  summary: 'List your projects and your role in each',
  run: reads({
    caller: 'person',
    method: ProjectService.method.listProjects,
    every: 'projects',
    request: async () => ({}),
    text: ({ projects }, { screen }) => projectTable(projects, screen),
  }),
};

function projectTable(projects: readonly Project[], screen: Screen | undefined): string {
  return listing(
    screen,
    [long('name'), 'project', 'your role', 'created'],
    projects.map(({ name, displayName, role, createdUnix }) => [
      displayName,
      shortName(name),
      enumText(Role, role),
      moment(createdUnix),
    ]),
    'You are not a member of any project',
  );
}

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
  run: reads({
    caller: 'any',
    method: MonitoringService.method.getProjectLimits,
    request: ofProject,
    text: ({ limits }, { screen }) =>
      listing(
        screen,
        ['limit', right('used'), right('at most'), 'unit', sentences('of')],
        limits.map(({ name, used, limit, unit, description }) => [
          name,
          used === undefined ? NOT_OBSERVED : String(used),
          String(limit),
          unit,
          description,
        ]),
        'The service reports no limits',
      ),
  }),
});
